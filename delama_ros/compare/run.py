"""From the names of methods to the rows of a table: all cells of a comparison."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from delama_ros.compare.cells import needs_choice, work
from delama_ros.compare.graph_learners import GRIDS
from delama_ros.compare.ours import LABELS, ROWS, SPARSE
from delama_ros.compare.registry import ENTRIES
from delama_ros.compare.report import standard_error
from delama_ros.compare.study import Cache, Cell, Figures, Sizes, compute_all

METHODS = (*ENTRIES, *GRIDS, *ROWS)


def methods_of(task: str) -> list[str]:
    """Return the methods that the paper lists for a task, in the order of its tables."""
    lifelong = {name for name, entry in ENTRIES.items() if entry.family == 'lifelong'}
    left_out = {'dinno'} | (lifelong if task == 'regression' else set(SPARSE))
    return [name for name in METHODS if name not in left_out]


def trained(methods: Sequence[str], folder: Path) -> list[str]:
    """Return those methods whose network every seed of a run has."""
    seeds = list(folder.glob('seed*'))
    return [
        name for name in methods
        if name not in ROWS
        or all((seed / f'{ROWS[name].network}.npz').exists() for seed in seeds)
    ]


def cells_of(
    task: str,
    methods: Sequence[str],
    setups: Sequence[str],
    seeds: Sequence[int],
    sizes: Sizes,
    model: str,
) -> list[Cell]:
    """Return the tests to be made, their settings still open; model: its fingerprint."""
    cells = []
    for name in methods:
        for setup in setups if name in ENTRIES else ['delama']:
            plain = setup == 'plain'
            used = '' if plain else model
            spent = sizes if plain else replace(sizes, horizon=0, full=False)
            cells += [Cell('test', task, name, setup, seed, spent, used) for seed in seeds]
    return cells


def compare(
    cells: Sequence[Cell], cache: Cache, *, model: Path | None, jobs: int
) -> list[dict[str, Any]]:
    """Choose settings, test, and return a row per method and set-up."""
    compute = partial(work, model=model)
    choices = {
        cell: replace(cell, kind='tune', seed=0, sizes=replace(cell.sizes, sequences=0))
        for cell in cells if needs_choice(cell.method)
    }
    tunings = list(dict.fromkeys(choices.values()))
    bar = tqdm(total=len(tunings) + len(cells), unit='cell', smoothing=0, disable=None)
    with closing(bar):
        chosen = compute_all(tunings, compute, cache, jobs=jobs, done=lambda c: bar.update())
        tests = []
        for cell in cells:
            setting = chosen[choices[cell]]['setting'] if cell in choices else {}
            tests.append(replace(cell, setting=json.dumps(setting, sort_keys=True)))
        results = compute_all(tests, compute, cache, jobs=jobs, done=lambda c: bar.update())
    groups: dict[tuple[str, str], list[tuple[Cell, Figures]]] = {}
    for cell in tests:
        groups.setdefault((cell.method, cell.setup), []).append((cell, results[cell]))
    return [_row(method, setup, found) for (method, setup), found in groups.items()]


def _row(method: str, setup: str, found: list[tuple[Cell, Figures]]) -> dict[str, Any]:
    """Join the seeds of a method; the standard error is over sequences."""
    cell, first = found[0]
    scores = np.concatenate([figures['scores'] for _, figures in found])  # (B, T)
    row = {
        'method': method,
        'label': ENTRIES[method].label if method in ENTRIES else LABELS[method],
        'setup': setup,
        'mean': scores.mean(0).tolist(),
        'error': standard_error(scores).tolist(),
        'scores': scores.tolist(),
        'bytes': first['bytes'],
        'rounds': first['rounds'],
        'sequences': len(scores),
        'setting': json.loads(cell.setting),
        'seconds': sum(figures['seconds'] for _, figures in found),
    }
    if first['graph_errors'] is not None and method != 'wc':
        errors = np.concatenate([figures['graph_errors'] for _, figures in found])
        row['graph_error'] = errors.mean(0).tolist()
    return row
