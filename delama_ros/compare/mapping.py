"""The comparison on mapping: every method on every plan, one cell each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

from tqdm import tqdm

from delama_ros.compare.study import Cache, Cell, Figures, Sizes, compute_all
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.evaluate import on_plan, summary
from delama_ros.mapping.methods import Protocol

GRADIENT = {'dsgd': 'DSGD', 'dsgt': 'DSGT', 'dinno': 'DiNNO'}
OTHERS = {
    'logodds_merged': 'log-odds grid, all raw scans', 'wc': 'DeLAMA-WC', 'oracle': 'centralised',
    'delama': 'DeLAMA (ours)',
}
COMPLETED = '_completed'  # ends the names of methods whose maps the decoder completes
LABELS = {
    **{f'{name}_naive': label for name, label in GRADIENT.items()}, **GRADIENT, **OTHERS,
    **{
        name + COMPLETED: label for name, label in (GRADIENT | OTHERS).items()
        if name != 'logodds_merged'
    },
}
METHODS = tuple(LABELS)


def work(cell: Cell, checkpoint: Checkpoint) -> Figures:
    """Map one plan by one method; the plan is the cell's set-up."""
    rows = on_plan(
        cell.setup, protocol=Protocol(seed=cell.seed), checkpoint=checkpoint,
        methods=[cell.method],
    )
    return {'values': rows[cell.method].values}


def compare(
    plans: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    checkpoint: Checkpoint,
    cache: Cache,
    *,
    jobs: int,
) -> list[dict[str, Any]]:
    """Return a row per method, over all plans and seeds."""
    cells = {
        name: [
            Cell('test', 'mapping', name, plan, seed, Sizes(), f'{checkpoint.fingerprint:016x}')
            for plan in plans for seed in seeds
        ]
        for name in methods
    }
    bar = tqdm(total=len(methods) * len(plans) * len(seeds), unit='cell', disable=None)
    with closing(bar):
        results = compute_all(
            [cell for group in cells.values() for cell in group],
            partial(work, checkpoint=checkpoint), cache, jobs=jobs, done=lambda c: bar.update(),
        )
    rows = []
    for name, group in cells.items():
        figures = summary([results[cell]['values'] for cell in group])
        gradient = name.removesuffix('_naive').removesuffix(COMPLETED) in GRADIENT
        rows.append({
            'method': name, 'label': LABELS[name], 'setup': _setup(name, gradient),
            'mean': figures['f1'], 'error': figures['f1_se'],
            'bytes': sum(figures['bytes']) / len(figures['bytes']),
            'rounds': 50 if gradient else 0, 'sequences': len(group),
        })
    return rows


def _setup(name: str, gradient: bool) -> str:
    if name.endswith('_naive'):
        return 'last scan'
    kind = 'replay' if gradient else 'delama'
    return f'{kind}, completed' if name.endswith(COMPLETED) else kind
