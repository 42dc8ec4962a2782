"""Cells are computed once, kept whole, and found again; damage is noticed."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from delama_ros.compare.study import Cache, Cell, Sizes, compute_all

CELL = Cell('test', 'regression', 'fedavg', 'plain', 0, Sizes(), '')
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
    cache = Cache(tmp_path / 'cells')
    for _ in range(2):
        results = compute_all(CELLS, partial(count, folder=traces), cache, jobs=jobs)
        assert {cell.seed: figures['seed'] for cell, figures in results.items()} == {
            0: 0, 1: 1, 2: 2, 3: 3
        }
    assert len(list(traces.iterdir())) == 4


def test_a_stopped_run_goes_on_where_it_was(tmp_path, traces) -> None:
    cache = Cache(tmp_path / 'cells')
    with pytest.raises(RuntimeError, match='stopped'):
        compute_all(CELLS, partial(count, folder=traces, fail_at=2), cache, jobs=1)
    assert len(list(traces.iterdir())) == 2
    done = []
    compute_all(CELLS, partial(count, folder=traces), cache, jobs=1, done=done.append)
    assert len(list(traces.iterdir())) == 4
    assert sorted(cell.seed for cell in done) == [0, 1, 2, 3]


def test_anything_that_decides_the_outcome_decides_the_key() -> None:
    changes = [
        {'kind': 'tune'}, {'task': 'mnist'}, {'method': 'ditto'}, {'setup': 'strong'}, {'seed': 1},
        {'sizes': Sizes(rounds=3)}, {'model': 'x'}, {'setting': '{"rate": 1}'},
    ]
    keys = {replace(CELL, **change).key for change in changes} | {CELL.key}
    assert len(keys) == len(changes) + 1
    assert replace(CELL).key == CELL.key


def test_a_damaged_file_counts_as_absent(tmp_path) -> None:
    cache = Cache(tmp_path)
    cache.put(CELL, {'value': 1})
    assert cache.get(CELL) == {'value': 1}
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:20])
    assert cache.get(CELL) is None


def test_a_plan_in_a_file_is_a_set_up_too(tmp_path) -> None:
    cache = Cache(tmp_path)
    first, second = (replace(CELL, setup=f'{place}/plan.yaml') for place in ('/maps', '../other'))
    cache.put(first, {'value': 1})
    assert cache.get(first) == {'value': 1}
    assert cache.get(second) is None
