"""A world that changes half-way: does the map follow, with and without forgetting (eq. 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.evaluate import each
from delama_ros.mapping.rows import Protocol
from delama_ros.mapping.runner import Step, run_swarm
from delama_ros.mapping.score import compare, on_truth
from delama_sim.errors import PlanError
from delama_sim.grid import Bools, Floats, OccupancyMap
from delama_sim.plans import load
from delama_sim.plans.edit import add_blocks, thicken_walls
from delama_sim.protocol import MappingRun, mapping_run

BLOCKS = 4  # that stand in the building at a time; all are moved half-way
TRIES = 50


def changing_run(spec: str, protocol: Protocol) -> tuple[MappingRun, MappingRun]:
    """Return the run before and the run after all blocks were moved; robots go on from there."""
    plan = thicken_walls(load(spec).map, 0.05)

    def furnished(number: int) -> OccupancyMap:
        rng = np.random.default_rng([protocol.seed, 0xC4A, number])
        return add_blocks(plan, BLOCKS, rng)

    scan = partial(mapping_run, robots=protocol.robots, steps=protocol.steps)
    before = scan(furnished(0), protocol.seed)
    for number in range(1, TRIES):
        try:  # no block may be put where a robot stands
            after = scan(furnished(number), protocol.seed + 1, starts=before.poses[-1])
        except PlanError:
            continue
        if (after.truth.occupied != before.truth.occupied).any():
            return before, after
    raise ValueError(f'{spec}: found no room to move {BLOCKS} blocks')


def on_plan(
    spec: str, *, protocol: Protocol, checkpoint: Checkpoint, keeps: Sequence[float]
) -> dict[float, Floats]:
    """Map the building before and after with each factor; (2 T, 3) figures in per cent.

    F1 against the world as it is; and, from the change on, the shares of cells that became
    occupied and are so on the map, and of cells that became free and are not occupied on it.
    """
    runs = changing_run(spec, protocol)
    both = replace(
        runs[0],
        poses=np.concatenate([run.poses for run in runs]),
        ranges=np.concatenate([run.ranges for run in runs]),
    )
    old, new = (run.truth for run in runs)
    appeared: Bools = new.occupied & old.known & ~old.occupied
    vanished: Bools = old.occupied & new.known & ~new.occupied
    out = {}
    for keep in keeps:
        rows: list[list[float]] = []

        def take(step: Step, t: int, rows: list[list[float]] = rows) -> None:
            truth = old if t < protocol.steps else new
            figures = []
            for mapper in step.mappers:
                claimed, known = on_truth(mapper.occupancy(), truth)
                figures.append([
                    compare(claimed, known, truth).f1,
                    (claimed & appeared).sum() / max(appeared.sum(), 1),
                    (~claimed & vanished).sum() / max(vanished.sum(), 1),
                ])
            rows.append((100 * np.mean(figures, 0)).tolist())

        run_swarm(both, checkpoint, take=take, accumulate='forget', forget=keep)
        out[keep] = np.array(rows)
    return out


def evaluate_change(
    specs: Sequence[str],
    protocol: Protocol,
    checkpoint: Checkpoint,
    keeps: Sequence[float],
    *,
    jobs: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Return means over plans, as lists over t; `half`: steps until half of the change is drawn."""
    work = partial(on_plan, protocol=protocol, checkpoint=checkpoint, keeps=keeps)
    results = list(each(work, specs, jobs=jobs, say=say))
    methods = {}
    for keep in keeps:
        f1, appeared, vanished = np.mean([r[keep] for r in results], 0).T
        there = (appeared[protocol.steps :] >= 50) & (vanished[protocol.steps :] >= 50)
        methods[f'keep_{keep:g}'] = {
            'f1': f1.round(3).tolist(),
            'appeared': appeared.round(3).tolist(),
            'vanished': vanished.round(3).tolist(),
            'half': 1 + int(np.argmax(there)) if there.any() else None,
        }
    return {'protocol': vars(protocol), 'plans': len(specs), 'methods': methods}
