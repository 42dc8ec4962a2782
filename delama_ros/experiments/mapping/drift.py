"""Mapping with drifting odometry: the same scans at exact poses, by odometry, and by slam.

Robots drive the trajectories of the protocol at full rate, with a scan every 0.1 m or 15°. The
localizer sees all of these; maps are learned from one scan per step as ever, so that rows differ
by their poses alone. Start poses are exact, rough (off by a random error) or unknown. Unless they
are exact, each robot begins in a frame of its own, and its map is scored where the maker of the
frame that it maps in really was. Cells of such a map do not coincide with those of the truth, which
alone costs some points: `exact_own_frame` and `exact_rough_frame` have exact poses in the frame in
which the first robot begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from delama_ros.experiments.mapping.drifting import (
    ROUGHLY,
    DriftingRobot,
    first_pose,
    run_steps,
)
from delama_ros.experiments.mapping.evaluate import figures_of, plan_cell, row_of
from delama_ros.experiments.mapping.rows import Protocol, Rows
from delama_ros.experiments.report import Row
from delama_ros.experiments.runner import Cell, Figures, Runner
from delama_ros.geometry.anchors import Anchors
from delama_ros.geometry.poses import as_pose, compose, inverse
from delama_ros.mapping.checkpoint import Checkpoint
from delama_sim import protocol as simulated
from delama_sim.plans import load

POSES = ('exact_poses', 'odometry', 'slam')  # from known starts
STARTS = {
    'exact': POSES,
    'rough': (
        'exact_poses', 'exact_rough_frame', 'slam', 'slam_rough', 'slam_rough_but_one',
        'slam_unknown', 'slam_alone',
    ),
    'unknown': ('exact_poses', 'exact_own_frame', 'slam', 'slam_unknown', 'slam_alone'),
}
WRONG = 0.5  # m from its true pose in the common frame: a robot that joined wrongly


def evaluate_drift(
    specs: Sequence[str], protocol: Protocol, checkpoint: Checkpoint, preset: str, runner: Runner,
    *, starts: str = 'exact', seeds: Sequence[int] = (),
) -> list[Row]:
    """Run `fusion` with every source of poses on all plans.

    Args:
        specs: Plans.
        protocol: Robots, steps and seed.
        checkpoint: The tile model of all robots.
        preset: Odometry, such as `turtlebot`.
        runner: Computes a cell per plan and source.
        starts: A key of `STARTS`.
        seeds: Of the runs; none: that of the protocol.

    Returns:
        A row per source. `position_error_m` is the root mean square over robots and plans; where
        robots find frames, `joined` is the share of robots in the frame that most of them share,
        and `wrong` the share that are not where they believe to be in it.
    """
    compute = partial(_on_plan, checkpoint=checkpoint)
    cells = {
        name: [
            plan_cell(
                name, [spec], replace(protocol, seed=seed), checkpoint, 'drift', preset=preset
            )
            for spec in specs for seed in seeds or [protocol.seed]
        ]
        for name in STARTS[starts]
    }
    results = runner.run([cell for group in cells.values() for cell in group], compute)
    rows = []
    for name in STARTS[starts]:
        found = [results[cell] for cell in cells[name]]
        row = row_of(name, 'agents', found)
        errors = np.array([figures['squares'] for figures in found])  # (plans, T), m²
        row.figures['position_error_m'] = np.sqrt(errors.mean(0)).round(4).tolist()
        for key in ('joined', 'wrong'):
            if key in found[0]:
                shares = np.array([figures[key] for figures in found])
                row.figures[key] = shares.mean(0).round(4).tolist()
        rows.append(row)
    return rows


def _on_plan(cell: Cell, checkpoint: Checkpoint) -> Figures:
    protocol = Protocol(**cell['protocol'])
    plan = simulated.prepare(load(cell['plans'][0]), protocol.seed)
    run = simulated.mapping_run(
        plan, protocol.seed, robots=protocol.robots, steps=protocol.steps
    )
    measured = simulated.drive(
        plan, protocol.seed, robots=protocol.robots, steps=protocol.steps, odometry=cell['preset']
    )
    errors = np.random.default_rng([protocol.seed, 0x57A27]).normal(size=(len(measured), 3))
    exact = {0} if cell.method == 'slam_rough_but_one' else set()
    errors[list(exact)] = 0.0
    starts = [
        first_pose(own[0], cell.method, error) for own, error in zip(measured, errors, strict=True)
    ]
    anchors = Anchors()
    frame = as_pose(compose(measured[0][0].true_pose, inverse(starts[0])))
    robots = [
        DriftingRobot(
            f'robot_{i}', own, cell.method, checkpoint, anchors, start, frame, exact=i in exact
        )
        for i, (own, start) in enumerate(zip(measured, starts, strict=True))
    ]
    names = [robot.mapper.agent.name for robot in robots]
    peers = [] if cell.method == 'slam_alone' else names
    rows, squares = Rows(run, protocol), []
    joined, wrong = [], []
    for step in run_steps(robots, dict.fromkeys(names, peers), protocol.steps):
        rows.add([robot.occupancy() for robot in robots], step.bytes, step.seconds)
        squares.append(float(np.mean([robot.error**2 for robot in robots])))
        frames = Counter(robot.mapper.agent.frame for robot in robots)
        joined.append(frames.most_common(1)[0][1] / len(robots))
        wrong.append(float(np.mean([robot.error > WRONG for robot in robots])))
    finds = cell.method in (*ROUGHLY, 'slam_unknown')
    found = {'joined': joined, 'wrong': wrong} if finds else {}
    return figures_of(rows) | {'squares': squares, **found}
