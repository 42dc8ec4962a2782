"""Games on disk."""

import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from delama_ros.experiments.human.game import Game, Limits, RefusedError, Stage
from delama_ros.experiments.human.host import Host
from delama_ros.experiments.human.store import MIGRATIONS, Person, Store, open_database
from delama_ros.experiments.human.task import ROUNDS, Line

LIMITS = Limits()


class Clock:
    """Time that passes when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def enter(host: Host, name: str, people: int, quality: str = 'low') -> Person:
    person, token = host.enter(None, name, quality, people)
    assert host.find(token) == person
    return person


def rate(seat: int) -> int:
    return seat + 1


def comparable(game: Game) -> dict[str, Any]:
    kept = asdict(game)
    kept['task']['points'] = game.task.points.tolist()
    return kept


def test_a_game_comes_back_as_it_was_at_every_stage(
    tmp_path: Path, play_stage: Callable[..., None]
) -> None:
    path = tmp_path / 'games' / 'human.sqlite'
    store, clock = Store(path), Clock()
    saved: list[Game] = []
    host = Host(store, LIMITS, seed=1, clock=clock, changed=saved.append)
    people = [enter(host, 'a', 2), enter(host, 'b', 2)]
    acts = 0
    while host.see(people[0])['stage'] != 'final':
        for person in people:
            play_stage(host, person, Line(0.1 * acts, -1 / 3), rate)
            acts += 1
            loaded = store.load_game(1, LIMITS)
            loaded.proceeded = set(saved[-1].proceeded)  # of no importance after a crash
            assert comparable(loaded) == comparable(saved[-1])
    assert acts == 3 * 2 * ROUNDS
    assert store.unfinished() == []
    store.close()


def test_a_new_host_goes_on_where_the_last_one_was(
    tmp_path: Path, play_stage: Callable[..., None]
) -> None:
    store, clock = Store(tmp_path / 'db'), Clock()
    host = Host(store, LIMITS, clock=clock)
    person = enter(host, 'a', 1)
    play_stage(host, person, Line(1.0, 2.0), rate)
    store.close()
    clock.now += 1e6  # long after the deadline
    store = Store(tmp_path / 'db')
    host = Host(store, LIMITS, clock=clock)
    host.tick()
    state = host.see(person)
    assert (state['stage'], state['learned']) == ('aggregate', (1.0, 2.0))
    assert state['remaining'] == LIMITS.aggregate
    clock.now += LIMITS.aggregate
    host.tick()
    assert host.see(person)['stage'] == 'result'
    store.close()


def test_people_who_want_the_same_are_brought_together(tmp_path: Path) -> None:
    store = Store(tmp_path / 'db')
    host = Host(store, LIMITS)
    people = {
        name: enter(host, name, count, quality)
        for name, count, quality in [
            ('a', 2, 'low'), ('b', 2, 'high'), ('c', 3, 'low'), ('d', 2, 'low'), ('e', 2, 'low'),
        ]
    }
    games = {name: person.game for name, person in people.items()}
    assert games['a'] == games['d']
    assert len(set(games.values())) == 4
    assert host.see(people['a'])['stage'] == 'learn'
    assert host.see(people['e'])['names'] == ['e']
    with pytest.raises(RefusedError, match='playing'):
        host.enter(people['a'], 'a', 'low', 1)
    with pytest.raises(RefusedError, match='begun'):
        host.leave(people['a'])
    gone = host.leave(people['e'])
    assert host.see(gone)['stage'] == 'login'
    again, token = host.enter(gone, 'E', 'low', 1)
    assert (again.id, token) == (gone.id, None)
    store.close()


def test_what_cannot_be_stored_has_not_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play_stage: Callable[..., None]
) -> None:
    store = Store(tmp_path / 'db')
    host = Host(store, LIMITS)
    person = enter(host, 'a', 1)
    save = store.save_game

    def full(game: Game) -> None:
        save(game)
        raise sqlite3.OperationalError('database or disk is full')

    monkeypatch.setattr(store, 'save_game', full)
    with pytest.raises(sqlite3.OperationalError):
        play_stage(host, person, Line(1.0, 1.0), rate)
    with pytest.raises(sqlite3.OperationalError):
        host.enter(None, 'b', 'low', 4)
    monkeypatch.undo()
    assert host.see(person)['learned'] is None
    assert store.load_game(1, LIMITS).answer(Stage.LEARN, 1, host.see(person)['me']) is None
    assert store.next_game() == 2
    store.close()


def test_tokens_are_not_in_the_file(tmp_path: Path) -> None:
    store = Store(tmp_path / 'db')
    tokens = [Host(store, LIMITS).enter(None, 'a', 'low', 1)[1] or '' for _ in range(20)]
    assert len(set(tokens)) == 20
    assert min(map(len, tokens)) >= 43  # 256 bits
    store.close()
    stored = b''.join(file.read_bytes() for file in tmp_path.iterdir())
    assert not any(token.encode() in stored for token in tokens)


def test_one_server_per_file(tmp_path: Path) -> None:
    store = Store(tmp_path / 'db')
    with pytest.raises(ValueError, match='in use by another server'):
        Store(tmp_path / 'db')
    store.close()
    Store(tmp_path / 'db').close()


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    text = tmp_path / 'text'
    text.write_text('not a database, but a text that is longer than a hundred characters ' * 3)
    with pytest.raises(ValueError, match=r'cannot use .*text as a database'):
        open_database(text)
    with pytest.raises(ValueError, match='does not exist'):
        open_database(tmp_path / 'missing', read_only=True)
    newer = tmp_path / 'newer'
    with sqlite3.connect(newer) as database:
        database.execute(f'PRAGMA user_version = {len(MIGRATIONS) + 1}')
    with pytest.raises(ValueError, match=f'schema version {len(MIGRATIONS) + 1}'):
        open_database(newer)
