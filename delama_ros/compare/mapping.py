"""The comparison on mapping: every method on every plan, one cell each."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

from tqdm import tqdm

from delama_ros.compare.study import Cache, Cell, Figures, Sizes, compute_all
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.completion import PACKAGED
from delama_ros.mapping.evaluate import on_plan, summary
from delama_ros.mapping.methods import COMPLETED
from delama_ros.mapping.rows import Protocol

GRADIENT = {'dsgd': 'DSGD', 'dsgt': 'DSGT', 'dinno': 'DiNNO'}
OTHERS = {
    'logodds_merged': 'log-odds grid, all raw scans', 'wc': 'DeLAMA-WC', 'oracle': 'centralised',
    'delama': 'DeLAMA (ours)',
}
LABELS = {
    **{f'{name}_naive': label for name, label in GRADIENT.items()}, **GRADIENT, **OTHERS,
    **{
        name + COMPLETED: label for name, label in (GRADIENT | OTHERS).items()
        if name != 'logodds_merged'
    },
}
METHODS = tuple(LABELS)


def work(cell: Cell, checkpoint: Checkpoint) -> Figures:
    """Map one plan, the cell's set-up, by one method with the heads that are asked for."""
    rows = on_plan(
        cell.setup, protocol=Protocol(seed=cell.seed), checkpoint=checkpoint,
        methods=cell.method.split('+'),
    )
    return {name: own.values for name, own in rows.items()}


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
    used = f'{checkpoint.fingerprint:016x} {zlib.crc32(PACKAGED.read_bytes()):08x}'
    together: dict[str, str] = {}  # names of maps that come from the same learning, by method
    for name in methods:
        base = name.removesuffix(COMPLETED)
        together[base] = '+'.join([*together.get(base, '').split('+'), name]).strip('+')
    cells = {
        base: [
            Cell('test', 'mapping', names, plan, seed, Sizes(), used)
            for plan in plans for seed in seeds
        ]
        for base, names in together.items()
    }
    bar = tqdm(total=len(together) * len(plans) * len(seeds), unit='cell', disable=None)
    with closing(bar):
        results = compute_all(
            [cell for group in cells.values() for cell in group],
            partial(work, checkpoint=checkpoint), cache, jobs=jobs, done=lambda c: bar.update(),
        )
    rows = []
    for name in methods:
        base = name.removesuffix(COMPLETED)
        group = cells[base]
        figures = summary([results[cell][name] for cell in group])
        gradient = base.removesuffix('_naive') in GRADIENT
        rows.append({
            'method': name, 'label': LABELS[name], 'setup': _setup(name, gradient),
            'mean': figures['f1'], 'error': figures['f1_se'],
            'scores': [[at_t[0] for at_t in results[cell][name]] for cell in group],
            'bytes': sum(figures['bytes']) / len(figures['bytes']),
            'rounds': 50 if gradient else 0, 'sequences': len(group),
        })
    return rows


def _setup(name: str, gradient: bool) -> str:
    if name.endswith('_naive'):
        return 'last scan'
    kind = 'replay' if gradient else 'delama'
    return f'{kind}, completed' if name.endswith(COMPLETED) else kind
