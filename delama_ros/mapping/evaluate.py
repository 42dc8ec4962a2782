"""Mapping figures over many plans: means, standard errors, tables for machines to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar

import numpy as np

from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.dataset import in_frame, noisy_poses
from delama_ros.mapping.methods import run_methods
from delama_ros.mapping.references import ZONES
from delama_ros.mapping.rows import FIGURES, Protocol, Rows
from delama_sim.plans import load
from delama_sim.protocol import SPACING, mapping_run, prepare

Item = TypeVar('Item')
Result = TypeVar('Result')


def on_plan(
    spec: str, *, protocol: Protocol, checkpoint: Checkpoint, methods: Sequence[str]
) -> dict[str, Rows]:
    """Run all methods on one plan."""
    run = mapping_run(
        prepare(load(spec), protocol.seed),
        protocol.seed,
        robots=protocol.robots,
        steps=protocol.steps * protocol.scans,
        spacing=SPACING / protocol.scans,
    )
    poses = in_frame(noisy_poses(run, protocol.noise, protocol.seed), protocol.frame)
    return run_methods(run, poses, protocol, checkpoint, methods)


def evaluate(
    specs: Sequence[str],
    protocol: Protocol,
    checkpoint: Checkpoint,
    methods: Sequence[str],
    *,
    jobs: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run all methods on all plans; mean and standard error over plans, lists over t."""
    work = partial(on_plan, protocol=protocol, checkpoint=checkpoint, methods=methods)
    results = list(each(work, specs, jobs=jobs, say=say))
    return {
        'protocol': vars(protocol),
        'plans': len(specs),
        'methods': {
            name: summary([r[name].values for r in results], [r[name].zones for r in results])
            for name in methods
        },
    }


def each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int,
    say: Callable[[str], None],
) -> Iterable[Result]:
    """Do work on all items, in several processes if asked, and say how far it is."""
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        for number, result in enumerate((pool.map if pool else map)(work, items), 1):
            say(f'{number} of {len(items)} plans')
            yield result


def summary(
    results: Sequence[list[list[float]]], zones: Sequence[list[list[list[float]]]] = ()
) -> dict[str, list[float]]:
    """Return mean figures over plans and the standard error of F1, as lists over t.

    Precision and recall by zone are those of all plans' cells together.
    """
    values = np.array(results)  # (plans, T, FIGURES)
    mean = values.mean(0)
    spread = values.std(0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
    out = {name: _rounded(mean[:, k]) for k, name in enumerate(FIGURES)}
    out['f1_se'] = _rounded(spread[:, 0] / np.sqrt(len(values)))
    counts = np.array(zones)  # (plans, T, zones, 3), or nothing
    for k, zone in enumerate(ZONES if counts.size else ()):
        claimed, right, wanted = counts[:, :, k].sum(0).T  # (T,) each
        out[f'precision_{zone}'] = _rounded(100 * right / np.maximum(claimed, 1.0))
        out[f'recall_{zone}'] = _rounded(100 * right / np.maximum(wanted, 1.0))
        out[f'cells_{zone}'] = _rounded(wanted / len(results))
    return out


def _rounded(values: Any) -> list[float]:
    numbers: list[float] = np.round(values, 3).tolist()
    return numbers
