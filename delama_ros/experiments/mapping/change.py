"""A world that changes half-way: does the map follow, with full and with fading memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from delama_ros.experiments.mapping.evaluate import on_plans, plan_cell, report_of
from delama_ros.experiments.mapping.rows import Protocol
from delama_ros.experiments.mapping.runner import Step, run_swarm
from delama_ros.experiments.report import Report, Row, standard_error
from delama_ros.experiments.runner import Cell, Figures, Runner
from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import Bools, OccupancyMap
from delama_ros.geometry.score import compare, on_truth
from delama_ros.mapping.checkpoint import Checkpoint
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


def _on_plan(cell: Cell, checkpoint: Checkpoint) -> Figures:
    """Map the building before and after the change; figures in per cent, (2 T, 3).

    F1 against the world as it is; and, from the change on, the shares of cells that became
    occupied and are so on the map, and of cells that became free and are not occupied on it.
    """
    protocol = Protocol(**cell['protocol'])
    runs = changing_run(cell['plans'][0], protocol)
    both = replace(
        runs[0],
        poses=np.concatenate([run.poses for run in runs]),
        ranges=np.concatenate([run.ranges for run in runs]),
    )
    old, new = (run.truth for run in runs)
    appeared: Bools = new.occupied & old.known & ~old.occupied
    vanished: Bools = old.occupied & new.known & ~new.occupied
    rows: list[list[float]] = []

    def take(step: Step, t: int) -> None:
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

    run_swarm(both, checkpoint, take=take, accumulate='forget', forget=cell['retention'])
    return {'values': rows}


def evaluate_change(
    specs: Sequence[str], protocol: Protocol, checkpoint: Checkpoint,
    retentions: Sequence[float], runner: Runner,
) -> Report:
    """Return means over plans; `half`: steps until half of the change is drawn, None if never."""
    rows = []
    for retention in retentions:
        name = f'retention_{retention:g}'
        cells = [
            plan_cell(name, [spec], protocol, checkpoint, 'change', retention=retention)
            for spec in specs
        ]
        found = on_plans(_on_plan, cells, checkpoint, runner)
        values = np.array([figures['values'] for figures in found])  # (plans, 2 T, 3)
        f1, appeared, vanished = values.mean(0).T
        there = (appeared[protocol.steps :] >= 50) & (vanished[protocol.steps :] >= 50)
        rows.append(Row(name, 'agents', {
            'f1': f1.round(3).tolist(),
            'f1_se': standard_error(values[..., 0]).round(3).tolist(),
            'appeared': appeared.round(3).tolist(),
            'vanished': vanished.round(3).tolist(),
            'half': 1 + int(np.argmax(there)) if there.any() else None,
        }))
    return report_of('change', rows, protocol, len(specs))
