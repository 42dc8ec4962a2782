"""Two teams in two buildings: does the graph keep them apart (problem 18).

Where starts are known, the frames of the buildings overlap and maps contradict each other. Where
they are unknown, robots localise themselves, and nobody must find a transform into the other
building.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.experiments.mapping.drifting import DriftingRobot, first_pose, run_steps
from delama_ros.experiments.mapping.evaluate import (
    figures_of,
    on_plans,
    plan_cell,
    report_of,
    row_of,
)
from delama_ros.experiments.mapping.rows import Protocol, Rows
from delama_ros.experiments.mapping.runner import Step, run_swarm
from delama_ros.experiments.report import Report
from delama_ros.experiments.runner import Cell, Figures, Runner
from delama_ros.geometry.anchors import Anchors
from delama_ros.geometry.frame_id import maker_of
from delama_ros.geometry.score import score
from delama_ros.geometry.truth import surface_truth
from delama_ros.mapping.checkpoint import Checkpoint
from delama_sim.plans import load
from delama_sim.protocol import drive, mapping_run, prepare

TEAMS = (3, 2)
# Changes of settings, and whether links between the buildings are cut beforehand.
GRAPHS: dict[str, tuple[dict[str, Any], bool]] = {
    'fusion': ({}, False),
    'fusion_oracle': ({}, True),
    # Every robot counts the same, whatever its map; `fusion_uniform` still leaves out maps that
    # contradict its own.
    'fusion_blind': ({'distance': 'paper', 'lambda3': 1e6}, False),
    'fusion_paper_distance': ({'distance': 'paper'}, False),
}


# With unknown starts: whether links between the buildings are cut beforehand.
UNKNOWN = {'slam_unknown': False, 'slam_unknown_oracle': True}


def _on_pair(cell: Cell, checkpoint: Checkpoint) -> Figures:
    """Run one graph on one pair of plans; robots are scored on the building they are in."""
    protocol = Protocol(**cell['protocol'])
    changes, cut = GRAPHS[cell.method]
    runs = [
        mapping_run(
            prepare(load(spec), protocol.seed), protocol.seed, robots=team, steps=protocol.steps
        )
        for spec, team in zip(cell['plans'], TEAMS, strict=True)
    ]
    both = replace(
        runs[0],
        poses=np.concatenate([run.poses for run in runs], 1),
        ranges=np.concatenate([run.ranges for run in runs], 1),
    )
    building = np.repeat([0, 1], TEAMS)
    together: npt.NDArray[np.bool_] = building[:, None] == building
    rows = Rows(both, protocol)

    def take(step: Step, t: int) -> None:
        scores = [
            score(mapper.occupancy(), runs[b].truth)
            for mapper, b in zip(step.mappers, building, strict=True)
        ]
        rows.add_scores(scores, float(step.bytes.mean()), step.seconds)

    run_swarm(both, checkpoint, links=together if cut else None, take=take, **changes)
    return figures_of(rows)


def _from_unknown_starts(cell: Cell, checkpoint: Checkpoint) -> Figures:
    """Run robots that do not know where they start, nor in which building, on a pair of plans."""
    protocol = Protocol(**cell['protocol'])
    plans = [prepare(load(spec), protocol.seed) for spec in cell['plans']]
    measured = [
        own
        for plan, team in zip(plans, TEAMS, strict=True)
        for own in drive(
            plan, protocol.seed, robots=team, steps=protocol.steps, odometry=cell['preset']
        )
    ]
    anchors, zero = Anchors(), (0.0, 0.0, 0.0)
    robots = [
        DriftingRobot(
            f'robot_{i}', own, 'slam_unknown', checkpoint, anchors,
            first_pose(own[0], 'slam_unknown', np.zeros(3)), zero,
        )
        for i, own in enumerate(measured)
    ]
    names = [robot.mapper.agent.name for robot in robots]
    building = dict(zip(names, np.repeat([0, 1], TEAMS).tolist(), strict=True))
    links = {
        name: [p for p in names if building[p] == building[name] or not UNKNOWN[cell.method]]
        for name in names
    }
    truths = [surface_truth(plan) for plan in plans]
    rows, across = Rows(mapping_run(plans[0], protocol.seed, robots=1, steps=1), protocol), []
    for step in run_steps(robots, links, protocol.steps):
        scores = [
            score(robot.occupancy(), truths[building[name]])
            for name, robot in zip(names, robots, strict=True)
        ]
        rows.add_scores(scores, step.bytes, step.seconds)
        makers = [maker_of(robot.mapper.agent.frame) for robot in robots]
        across.append(sum(
            building[name] != building[maker] for name, maker in zip(names, makers, strict=True)
        ))
    return figures_of(rows) | {'wrong_joins': across}


def evaluate_pairs(
    specs: Sequence[str], protocol: Protocol, checkpoint: Checkpoint, runner: Runner,
    *, preset: str = '',
) -> Report:
    """Run every graph on plans taken two by two.

    Args:
        specs: Plans; each pair is one run.
        protocol: Steps and seed; teams are of three and two robots.
        checkpoint: The tile model of all robots.
        runner: Computes a cell per pair and graph.
        preset: Odometry of robots with unknown starts, such as `turtlebot`; empty: starts and
            poses are known.

    Returns:
        A row per graph; with unknown starts, `wrong_joins` counts robots that map in a frame of
        the other building, over all pairs.
    """
    pairs = list(zip(specs[0::2], specs[1::2], strict=False))
    compute, condition = (_from_unknown_starts, {'preset': preset}) if preset else (_on_pair, {})
    rows = []
    for name in UNKNOWN if preset else GRAPHS:
        cells = [
            plan_cell(name, pair, protocol, checkpoint, 'two_buildings', **condition)
            for pair in pairs
        ]
        found = on_plans(compute, cells, checkpoint, runner)
        rows.append(row_of(name, 'agents', found))
        if preset:
            counts = np.array([figures['wrong_joins'] for figures in found])
            rows[-1].figures['wrong_joins'] = counts.sum(0).tolist()
    return report_of('two_buildings', rows, protocol, len(pairs))
