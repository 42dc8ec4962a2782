"""Cells are computed once, stored whole, and found again; damage is noticed."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from delama_ros.cli import main
from delama_ros.core.agent import agent
from delama_ros.experiments import runner as runners
from delama_ros.experiments.runner import Cache, Cell, Runner, duration
from delama_ros.localization import localizer
from delama_ros.mapping import fusion
from delama_sim import lidar

CELL = Cell.make('regression', 'fedavg', setup='plain', model='')
CELLS = [replace(CELL, seed=seed) for seed in range(4)]


def count(cell: Cell, folder: Path, fail_at: int | None = None) -> dict[str, int]:
    """Leave a trace of each call, also from other processes."""
    if cell.seed == fail_at:
        raise RuntimeError('stopped')
    (folder / f'{cell.seed}-{os.getpid()}-{len(list(folder.iterdir()))}').touch()
    return {'seed': cell.seed}


@pytest.fixture
def traces(tmp_path):
    folder = tmp_path / 'traces'
    folder.mkdir()
    return folder


@pytest.mark.parametrize('jobs', [1, 2])
def test_what_was_computed_is_not_computed_again(tmp_path, traces, jobs) -> None:
    for _ in range(2):
        results = Runner(tmp_path, jobs).run([*CELLS, CELL], partial(count, folder=traces))
        assert {cell.seed: figures['seed'] for cell, figures in results.items()} == {
            0: 0, 1: 1, 2: 2, 3: 3
        }
    assert len(list(traces.iterdir())) == 4


def test_a_stopped_run_continues(tmp_path, traces) -> None:
    runner = Runner(tmp_path)
    with pytest.raises(RuntimeError, match='stopped'):
        runner.run(CELLS, partial(count, folder=traces, fail_at=2))
    assert len(list(traces.iterdir())) == 2
    assert len(runner.run(CELLS, partial(count, folder=traces))) == 4
    assert len(list(traces.iterdir())) == 4


def test_anything_that_decides_the_outcome_decides_the_key(monkeypatch) -> None:
    changed = [
        replace(CELL, task='mnist'), replace(CELL, method='ditto'), replace(CELL, seed=1),
        CELL.changed(setup='strong'), CELL.changed(model='x'), CELL.changed(setting={'rate': 1}),
    ]
    assert len({cell.key for cell in (CELL, *changed)}) == len(changed) + 1
    key = CELL.key
    assert CELL.changed().key == key
    monkeypatch.setattr(runners, 'source_digest', lambda: 'other code')
    assert CELL.key != key


def test_a_damaged_file_counts_as_missing(tmp_path) -> None:
    cache = Cache(tmp_path)
    cache.put(CELL, {'value': 1})
    assert cache.get(CELL) == {'value': 1}
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:20])
    assert cache.get(CELL) is None


@pytest.mark.parametrize(
    ('seconds', 'text'), [(0.4, '0 s'), (75, '1 min 15 s'), (7384, '2 h 3 min')]
)
def test_time_left_is_readable(seconds, text) -> None:
    assert duration(seconds) == text


def test_the_digest_covers_the_code_that_decides_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated messages may be a folder of the same name; the sources are what counts."""
    read: list[Path] = []
    original = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        read.append(path)
        return original(path)

    runners.source_digest.cache_clear()
    monkeypatch.setattr(Path, 'read_bytes', read_bytes)
    runners.source_digest()
    for module in (localizer, agent, fusion, lidar):
        assert Path(str(module.__file__)) in read
    assert Path(str(main.__file__)) not in read
