"""Cost of localization: a scan, a keyframe, a loop closure, and how they grow with the path.

One robot drives through an office at the rate of the simulator, with the odometry of a TurtleBot.
All times are processor time on one core, after everything is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from delama_ros.geometry.grid import Floats
from delama_ros.localization.no_return import NoReturnFilter
from delama_ros.localization.offline import Run, trajectory_error
from delama_ros.localization.offline import run as localise
from delama_ros.localization.scan import Sweep, prepare
from delama_sim.lidar import Lidar
from delama_sim.plans.generator import generate
from delama_sim.protocol import Measurement, drive

STEPS = 200  # of 1.2 m
FRAME = 24.0  # m, of the office
PARTS = 4  # of the path, of which the first and the last are compared


def run(*, seed: int = 0, steps: int = STEPS) -> dict[str, float]:
    """Measure on one generated office; *_p99 is the 99th percentile."""
    plan = generate(seed, 'office', frame=FRAME)
    (measured,) = drive(plan, seed, robots=1, steps=steps)
    few = max(len(measured) // 20, 2)
    localise(_scans(measured[:few]))  # compile
    done = localise(_scans(measured))
    truth = np.array([m.true_pose for m in measured])
    path = float(np.hypot(*np.diff(truth[:, :2], axis=0).T).sum())
    # A loop closure is a keyframe whose graph was optimised, search included.
    closing = ~np.isnan(done.growth[:, 2])
    keyframe, loop = done.growth[:, 1], done.growth[closing, 1]
    figures = {
        'path_m': path,
        'scans': float(len(measured)),
        'keyframes': float(done.growth[-1, 0]),
        'optimisations': float(closing.sum()),
        'times_real_time': (measured[-1].stamp - measured[0].stamp) / done.seconds,
    }
    scan = done.timings['scan']
    for name, values in (('scan', scan), ('keyframe', keyframe), ('loop_closure', loop)):
        figures |= _summary(name, values)
    return figures | {'position_error_m': _error(done, truth)}


def _summary(name: str, seconds: Floats) -> dict[str, float]:
    """Return median and tail in ms, and the last part of the path over the first."""
    if not seconds.size:
        return {}
    parts = np.array_split(seconds, PARTS)
    out = {
        f'{name}_ms': 1e3 * float(np.median(seconds)),
        f'{name}_ms_p99': 1e3 * float(np.percentile(seconds, 99)),
    }
    if parts[-1].size:
        out[f'{name}_late_over_early'] = float(np.median(parts[-1]) / np.median(parts[0]))
    return out


def _scans(measured: Sequence[Measurement]) -> Iterator[tuple[float, Floats, Floats]]:
    lidar, rule = Lidar(), NoReturnFilter()
    for m in measured:
        sweep = Sweep(
            m.scan, lidar.angle_min, lidar.angle_increment, lidar.range_min, lidar.range_max
        )
        scan = prepare(sweep, rule, begin=m.odom_pose, end=m.odom_end)
        yield m.stamp, m.odom_pose, scan.points[scan.valid]


def _error(done: Run, truth: Floats) -> float:
    return float(np.sqrt((trajectory_error(done.poses, truth) ** 2).mean()))
