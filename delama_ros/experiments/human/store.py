"""Games in a SQLite file: every act is one transaction, on disk before it is answered."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from delama_ros.experiments.human.game import Answer, Game, Limits, Seat, Stage
from delama_ros.experiments.human.task import ROUNDS, SEATS, Line, Task

# Each entry leads from the version before to its own; a file remembers how far it has come.
MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE game (
        id INTEGER PRIMARY KEY, quality TEXT NOT NULL, people INTEGER NOT NULL,
        targets TEXT NOT NULL,  -- which target each seat has, a digit per seat
        stage TEXT NOT NULL, round INTEGER NOT NULL, deadline REAL) STRICT;
    CREATE TABLE person (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL,
        token TEXT NOT NULL UNIQUE,  -- SHA-256 of the cookie
        game INTEGER REFERENCES game) STRICT;
    CREATE TABLE target (
        game INTEGER NOT NULL REFERENCES game, target INTEGER NOT NULL,
        slope REAL NOT NULL, offset REAL NOT NULL, PRIMARY KEY (game, target)) STRICT;
    CREATE TABLE point (
        game INTEGER NOT NULL REFERENCES game, round INTEGER NOT NULL, seat INTEGER NOT NULL,
        number INTEGER NOT NULL, x REAL NOT NULL, y REAL NOT NULL,
        PRIMARY KEY (game, round, seat, number)) STRICT;
    CREATE TABLE seat (
        game INTEGER NOT NULL REFERENCES game, seat INTEGER NOT NULL, name TEXT NOT NULL,
        person INTEGER REFERENCES person,  -- NULL: an agent
        PRIMARY KEY (game, seat)) STRICT;
    CREATE TABLE answer (
        game INTEGER NOT NULL REFERENCES game, round INTEGER NOT NULL, seat INTEGER NOT NULL,
        stage TEXT NOT NULL, slope REAL NOT NULL, offset REAL NOT NULL, mse REAL NOT NULL,
        at REAL NOT NULL,  -- s since 1970
        PRIMARY KEY (game, round, seat, stage)) STRICT;
    CREATE TABLE rating (
        game INTEGER NOT NULL REFERENCES game, round INTEGER NOT NULL, seat INTEGER NOT NULL,
        rated INTEGER NOT NULL, rating INTEGER NOT NULL,
        PRIMARY KEY (game, round, seat, rated)) STRICT;
    """,
)


@dataclass(frozen=True)
class Person:
    """Somebody who has entered a name."""

    id: int
    name: str
    game: int | None


def open_database(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a file, bring it to the present version; ValueError names what is wrong with it."""
    try:
        if read_only:
            if not path.is_file():
                raise ValueError(f'{path} does not exist; `delama human --db {path}` creates it')
            connection = sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro', uri=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            # The server uses it in one thread, which need not be the one that opened it.
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            connection.execute('PRAGMA journal_mode = WAL')
            connection.execute('PRAGMA synchronous = FULL')
            connection.execute('PRAGMA foreign_keys = ON')
        version = connection.execute('PRAGMA user_version').fetchone()[0]
        if version > len(MIGRATIONS) or (read_only and version < len(MIGRATIONS)):
            raise ValueError(
                f'{path} has schema version {version}, this program {len(MIGRATIONS)}: '
                'open it with `delama human` of the newer version'
            )
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            connection.executescript(f'BEGIN; {script} PRAGMA user_version = {number}; COMMIT;')
    except (sqlite3.Error, OSError) as error:
        raise ValueError(f'cannot use {path} as a database: {error}') from error
    return connection


class Store:
    """All that a server must not forget. One server per file."""

    def __init__(self, path: Path) -> None:
        """Open the file for this server alone; a lock ends with its process, however that ends."""
        self._database = open_database(path)
        self._lock = os.open(f'{path}-lock', os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise ValueError(f'{path} is in use by another server; choose another --db') from None

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
        os.close(self._lock)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all of what is done inside, or nothing."""
        self._database.execute('BEGIN IMMEDIATE')
        try:
            yield
        except BaseException:
            self._database.execute('ROLLBACK')
            raise
        self._database.execute('COMMIT')

    def remembered(self, key: str, value: str) -> str:
        """Return what was first stored under the key: this value, or one of an earlier server."""
        self._database.execute('INSERT OR IGNORE INTO meta VALUES (?, ?)', (key, value))
        row = self._database.execute('SELECT value FROM meta WHERE key = ?', (key,)).fetchone()
        return str(row[0])

    # -- people -----------------------------------------------------------------------------------

    def add_person(self, name: str, token: str) -> Person:
        """Add somebody; the token is the hash of their cookie."""
        cursor = self._database.execute(
            'INSERT INTO person (name, token) VALUES (?, ?)', (name, token)
        )
        assert cursor.lastrowid is not None
        return Person(cursor.lastrowid, name, None)

    def find_person(self, token: str) -> Person | None:
        """Return who has the cookie of this hash."""
        row = self._database.execute(
            'SELECT id, name, game FROM person WHERE token = ?', (token,)
        ).fetchone()
        return Person(*row) if row else None

    def move_person(self, person: Person, name: str, game: int | None) -> Person:
        """Note the game somebody is in, and what they call themselves."""
        self._database.execute(
            'UPDATE person SET name = ?, game = ? WHERE id = ?', (name, game, person.id)
        )
        return replace(person, name=name, game=game)

    # -- games ------------------------------------------------------------------------------------

    def next_game(self) -> int:
        """Return a number for a new game."""
        row = self._database.execute('SELECT coalesce(max(id), 0) + 1 FROM game').fetchone()
        return int(row[0])

    def add_game(self, game: Game) -> None:
        """Store a new game with its task, which never changes."""
        task = game.task
        self._database.execute(
            'INSERT INTO game VALUES (?, ?, ?, ?, ?, ?, ?)',
            (
                game.id, game.quality, game.people, ''.join(map(str, task.groups)),
                game.stage.value, game.round, game.deadline,
            ),
        )
        self._database.executemany(
            'INSERT INTO target VALUES (?, ?, ?, ?)',
            [(game.id, k, *line) for k, line in enumerate(task.targets)],
        )
        self._database.executemany(
            'INSERT INTO point VALUES (?, ?, ?, ?, ?, ?)',
            [
                (game.id, t + 1, seat, number, *map(float, task.points[t, seat, number]))
                for t, seat, number in np.ndindex(task.points.shape[:3])
            ],
        )

    def save_game(self, game: Game) -> None:
        """Store where a game is; answers and ratings that are there already stay as they are."""
        execute, many = self._database.execute, self._database.executemany
        execute(
            'UPDATE game SET stage = ?, round = ?, deadline = ? WHERE id = ?',
            (game.stage.value, game.round, game.deadline, game.id),
        )
        if game.round <= 1:  # seats are taken before the first round begins, and kept
            execute('DELETE FROM seat WHERE game = ?', (game.id,))
            many(
                'INSERT INTO seat VALUES (?, ?, ?, ?)',
                [(game.id, k, seat.name, seat.person) for k, seat in enumerate(game.seats)],
            )
        many(
            'INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
            [
                (game.id, t, seat, stage.value, *answer.line, answer.loss, answer.at)
                for (stage, t, seat), answer in game.answers.items()
            ],
        )
        many(
            'INSERT OR IGNORE INTO rating VALUES (?, ?, ?, ?, ?)',
            [(game.id, *key, rating) for key, rating in game.ratings.items()],
        )

    def unfinished(self) -> list[int]:
        """Return the numbers of games that go on."""
        rows = self._database.execute("SELECT id FROM game WHERE stage != 'final' ORDER BY id")
        return [row[0] for row in rows]

    def load_game(self, number: int, limits: Limits) -> Game:
        """Return a game as it was when it was last saved."""
        query = self._database.execute
        quality, people, groups, stage, round_, deadline = query(
            'SELECT quality, people, targets, stage, round, deadline FROM game WHERE id = ?',
            (number,),
        ).fetchone()
        first, second = (
            Line(*row)
            for row in query(
                'SELECT slope, offset FROM target WHERE game = ? ORDER BY target', (number,)
            )
        )
        points = np.array(query(
            'SELECT x, y FROM point WHERE game = ? ORDER BY round, seat, number', (number,)
        ).fetchall()).reshape(ROUNDS, SEATS, -1, 2)
        task = Task((first, second), tuple(map(int, groups)), points)
        seats = query('SELECT name, person FROM seat WHERE game = ? ORDER BY seat', (number,))
        answers = query(
            'SELECT stage, round, seat, slope, offset, mse, at FROM answer WHERE game = ?',
            (number,),
        )
        ratings = query('SELECT round, seat, rated, rating FROM rating WHERE game = ?', (number,))
        return Game(
            number, quality, people, task, limits, [Seat(*row) for row in seats], Stage(stage),
            round_, deadline,
            {
                (Stage(name), t, seat): Answer(Line(slope, offset), mse, at)
                for name, t, seat, slope, offset, mse, at in answers
            },
            {(t, seat, rated): rating for t, seat, rated, rating in ratings},
        )
