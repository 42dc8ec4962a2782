"""How well one robot tracks itself while it maps a building, under conditions that get harder.

A robot drives 60 m through each plan with a scan every 0.1 m or 15° and knows where it started.
Errors are distances from the true position in the frame of the start, without any alignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from delama_ros.experiments.runner import Cell, Figures, Runner
from delama_ros.geometry.grid import Floats
from delama_ros.localization.no_return import NoReturnFilter
from delama_ros.localization.offline import run, trajectory_error
from delama_ros.localization.scan import Sweep, prepare
from delama_ros.localization.se2 import relatives
from delama_sim import protocol as simulated
from delama_sim.lidar import Lidar
from delama_sim.odometry import PRESETS
from delama_sim.plans import load

STEPS = 51  # of 1.2 m: 60 m of way


@dataclass(frozen=True)
class Condition:
    """What a robot senses with."""

    lidar: Lidar = field(default_factory=Lidar)
    drift: float = 1.0  # times the systematic errors of a TurtleBot
    sparse: bool = False  # one scan per step of 1.2 m
    deskewed: bool = True  # whether the motion during a sweep is undone by odometry


HALF = Lidar(beams=180, field_of_view=np.pi * 179 / 180, range_max=6.0)
CONDITIONS: dict[str, Condition] = {
    'plain': Condition(),
    'drift_2': Condition(drift=2.0),
    'drift_3': Condition(drift=3.0),
    'range_bias': Condition(Lidar(range_bias=0.03)),
    'range_noise': Condition(Lidar(range_noise=0.04)),
    'outliers': Condition(Lidar(outliers=0.2)),
    'dropouts': Condition(Lidar(dropout=0.25, dropout_streak=3.0)),
    'half_view': Condition(HALF),
    'few_beams': Condition(Lidar(beams=90)),
    'sparse_scans': Condition(sparse=True),
    'skewed': Condition(Lidar(sweep=0.1)),
    'skewed_raw': Condition(Lidar(sweep=0.1), deskewed=False),
}


def evaluate_tracking(
    specs: Sequence[str], conditions: Sequence[str], seeds: Sequence[int], steps: int,
    runner: Runner,
) -> dict[str, dict[str, Any]]:
    """Track one robot on every plan with every seed.

    Args:
        specs: Plans.
        conditions: Names of `CONDITIONS`.
        seeds: Of starts, ways and sensors.
        steps: Of 1.2 m.
        runner: Computes a cell per condition, plan and seed.

    Returns:
        By condition: `runs`, and means and worst runs of the root mean square error `rmse_m`, of
        the same after all corrections (`corrected_m`) and after the best alignment
        (`aligned_m`), of the largest error `largest_m`, and of what odometry gives.
    """
    cells = {
        name: [
            Cell.make('tracking', name, seed, plan=spec, steps=steps)
            for spec in specs for seed in seeds
        ]
        for name in conditions
    }
    results = runner.run([cell for group in cells.values() for cell in group], track)
    out = {}
    for name, group in cells.items():
        found = [results[cell] for cell in group]
        keys = [key for key in found[0] if key.endswith('_m')]
        out[name] = {
            'runs': len(found),
            'mean': {key: float(np.mean([f[key] for f in found])) for key in keys},
            'worst': {key: float(np.max([f[key] for f in found])) for key in keys},
            'rmse_m': {
                f'{cell["plan"]} seed {cell.seed}': f['rmse_m']
                for cell, f in zip(group, found, strict=True)
            },
        }
    return out


def track(cell: Cell) -> Figures:
    """Drive once and return the errors of the poses."""
    condition = CONDITIONS[cell.method]
    measured = drive(cell['plan'], cell.seed, condition, cell['steps'])
    done = run(scans_of(measured, condition))
    truth = np.array([m.true_pose for m in measured])
    true = relatives(truth[0], truth)
    odom = relatives(measured[0].odom_pose, np.array([m.odom_pose for m in measured]))
    corrected = relatives(done.poses[0], done.poses)
    error = _apart(done.online, true)
    return {
        'rmse_m': _rms(error),
        'largest_m': float(error.max()),
        'corrected_m': _rms(_apart(corrected, true)),
        'aligned_m': _rms(trajectory_error(done.poses, true)),
        'odometry_m': _rms(_apart(odom, true)),
        'way_m': float(np.hypot(*np.diff(truth[:, :2], axis=0).T).sum()),
        'lost': sum(status in ('failed', 'lost') for status in done.statuses),
    }


def drive(
    spec: str, seed: int, condition: Condition, steps: int
) -> list[simulated.Measurement]:
    """Return what a robot measures on a plan."""
    base = PRESETS['turtlebot']
    odometry = replace(
        base,
        scale=condition.drift * base.scale,
        heading_bias=condition.drift * base.heading_bias,
        turn_scale=condition.drift * base.turn_scale,
    )
    plan = simulated.prepare(load(spec), seed)
    (measured,) = simulated.drive(
        plan, seed, robots=1, steps=steps, odometry=odometry, lidar=condition.lidar
    )
    if not condition.sparse:
        return measured
    last = {m.step: k for k, m in enumerate(measured)}
    return [measured[k] for k in sorted(last.values())]


def scans_of(
    measured: Sequence[simulated.Measurement], condition: Condition
) -> Iterator[tuple[float, Floats, Floats]]:
    """Return stamps, odometry and points as the localizer takes them."""
    lidar, rule = condition.lidar, NoReturnFilter()
    for m in measured:
        sweep = Sweep(
            m.scan, lidar.angle_min, lidar.angle_increment, lidar.range_min, lidar.range_max,
            lidar.time_increment,
        )
        end = m.odom_end if condition.deskewed else None
        scan = prepare(sweep, rule, begin=m.odom_pose, end=end)
        yield m.stamp, m.odom_pose, scan.points[scan.valid]


def _apart(poses: Floats, true: Floats) -> Floats:
    return np.asarray(np.hypot(*(poses - true)[:, :2].T))


def _rms(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))
