"""The report says what is in the database, and what simulation gives, and nothing else."""

import csv
import itertools
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr

from delama_ros.cli.main import main
from delama_ros.experiments.human.game import Limits
from delama_ros.experiments.human.host import Host
from delama_ros.experiments.human.report import simulate
from delama_ros.experiments.human.store import Store
from delama_ros.experiments.human.task import QUALITIES, ROUNDS, SEATS, Line, draw, loss
from delama_ros.experiments.human.team import SETTINGS, collaborate


@pytest.fixture(scope='module')
def database(
    tmp_path_factory: pytest.TempPathFactory, play_stage: Callable[..., None]
) -> Path:
    """Three games of two people and two agents, of high quality; lines and ratings at random."""
    path = tmp_path_factory.mktemp('report') / 'human.sqlite'
    store = Store(path)
    host = Host(store, Limits(), seed=2)
    rng = np.random.default_rng(0)
    for _ in range(3):
        people = [host.enter(None, f'n{k}', 'high', 2)[0] for k in range(2)]
        for _, person in itertools.product(range(3 * ROUNDS), people):
            line = Line(*rng.normal(size=2))
            play_stage(host, person, line, lambda seat: int(rng.integers(6)))
    store.close()
    return path


def test_table_and_correlation(database: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / 'report.json', tmp_path / 'report.png'
    assert main([
        'human', 'report', '--db', str(database), '--json', str(out), '--plot', str(picture)
    ]) == 0
    figures = json.loads(out.read_text())
    rows = {(row['players'], row['quality']): row for row in figures['table']}
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert rows['people', 'low'] == {
        'players': 'people', 'quality': 'low', 'n': 0, 'mse': [None] * ROUNDS
    }
    for quality in QUALITIES:
        row = rows['agents', quality]
        assert row['n'] >= 200
        means = [mse['mean'] for mse in row['mse']]
        assert means == sorted(means, reverse=True)

    # The people's row once more, from the tables, by numerical integration.
    connection = sqlite3.connect(database)
    x = np.linspace(-5, 5, 20_001)
    losses: list[list[float]] = [[] for _ in range(ROUNDS)]
    for game, seat, groups in connection.execute(
        'SELECT game, seat, targets FROM seat JOIN game ON game.id = game WHERE person NOT NULL'
    ).fetchall():
        target = connection.execute(
            'SELECT slope, offset FROM target WHERE game = ? AND target = ?',
            (game, int(groups[seat])),
        ).fetchone()
        for t, *line in connection.execute(
            "SELECT round, slope, offset FROM answer WHERE stage = 'aggregate' AND game = ? "
            'AND seat = ?', (game, seat),
        ).fetchall():
            losses[t - 1].append(np.mean((np.polyval(line, x) - np.polyval(target, x)) ** 2))
    row = rows['people', 'high']
    assert row['n'] == 6
    for got, values in zip(row['mse'], losses, strict=True):
        assert len(values) == 6
        assert got['mean'] == pytest.approx(np.mean(values), rel=1e-3)

    # The correlation likewise.
    pairs = []
    people = set(connection.execute('SELECT game, seat FROM seat WHERE person NOT NULL'))
    lines = {
        key[:3]: key[3:] for key in connection.execute(
            "SELECT game, round, seat, slope, offset FROM answer WHERE stage = 'learn'"
        )
    }
    for game, t, seat, rated, rating in connection.execute(
        'SELECT game, round, seat, rated, rating FROM rating'
    ):
        if (game, seat) in people:
            distance = np.linalg.norm(np.subtract(lines[game, t, seat], lines[game, t, rated]))
            pairs.append((rating, np.log(distance)))
    by_quality = {row['quality']: row for row in figures['correlation']}
    assert by_quality['high']['n'] == len(pairs) == 3 * 2 * 3 * ROUNDS
    assert by_quality['high']['r'] == pytest.approx(pearsonr(*np.array(pairs).T).statistic)
    assert by_quality['low']['r'] is None


def test_simulation_is_what_agents_do(tmp_path: Path) -> None:
    quality, seed = 'medium', 4
    losses = simulate(quality, 3, seed)
    rng = np.random.default_rng([seed, *quality.encode()])
    for k in range(3):
        task = draw(QUALITIES[quality], rng)
        for t in range(1, ROUNDS + 1):
            points = {seat: task.points[:t, seat] for seat in range(SEATS)}
            lines = collaborate(points, {}, SETTINGS[quality]).lines
            expected = [loss(lines[seat], task.target(seat)) for seat in range(SEATS)]
            assert losses[k, t - 1] == pytest.approx(expected, rel=1e-6)


def test_export(database: Path, tmp_path: Path) -> None:
    assert main(['human', 'export', '--db', str(database), '--out', str(tmp_path)]) == 0
    tables = {
        file.stem: list(csv.DictReader(file.open())) for file in tmp_path.glob('*.csv')
    }
    assert {name: len(rows) for name, rows in tables.items()} == {
        'games': 3, 'targets': 6, 'seats': 12, 'points': 3 * ROUNDS * SEATS * 10,
        'answers': 3 * ROUNDS * SEATS * 2, 'ratings': 3 * ROUNDS * SEATS * 3,
    }
    assert {row['kind'] for row in tables['seats']} == {'person', 'agent'}
    everything = ''.join(file.read_text() for file in tmp_path.glob('*.csv'))
    assert 'n0' not in everything
    # What is printed is what is stored, to the last bit.
    stored = sqlite3.connect(database).execute('SELECT slope FROM answer').fetchall()
    exported = [float(row['slope']) for row in tables['answers']]
    assert sorted(exported) == sorted(slope for (slope,) in stored)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['report', '--db', 'missing.sqlite'], 'missing.sqlite does not exist'),
        (['report', '--tasks', '10'], '--tasks is 10, expected at least 200'),
        (['export', '--db', __file__], 'cannot use'),
        (['--learn-time', '0'], '--learn-time is 0.0, expected 1 to 86400 s'),
        (['--port', '70000'], '--port is 70000, expected at most 65535'),
        (['--host', '192.0.2.1', '--port', '8123'], "--host is '192.0.2.1', which is no address"),
        (['--db', '/proc/x/y'], 'cannot use /proc/x/y as a database'),
        (['--seed', '-1'], '--seed is -1'),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['human', *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count('\n') == 1
