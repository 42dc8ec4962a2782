"""Small worlds made of line segments, and a laser that drives through them."""

from __future__ import annotations

import math

import numpy as np

from delama_ros.localization.se2 import Floats, compose, relatives


def box(x0: float, y0: float, x1: float, y1: float) -> list[list[float]]:
    """Four walls as segments x, y, x, y."""
    return [[x0, y0, x1, y0], [x1, y0, x1, y1], [x1, y1, x0, y1], [x0, y1, x0, y0]]


def flat() -> Floats:
    """Two rooms and a corridor with furniture, 12 x 8 m, without symmetry."""
    walls = box(0, 0, 12, 8)
    walls += [[0, 3, 4, 3], [5, 3, 12, 3], [7, 3, 7, 6.5], [4, 4.8, 7, 4.8]]
    walls += box(2, 5.5, 2.7, 6.4) + box(9, 4.5, 10.2, 5.0) + box(6, 0, 6.6, 0.9)
    return np.array(walls)


def scan(
    walls: Floats,
    pose: Floats,
    rng: np.random.Generator | None = None,
    *,
    beams: int = 360,
    view: float = 2 * math.pi,
    reach: float = 12.0,
    noise: float = 0.02,
) -> Floats:
    """Points (N, 2) in the base frame where beams end; beams without return are left out."""
    angles = np.linspace(-view / 2, view / 2, beams, endpoint=view < 6.28)
    c, s = np.cos(pose[2] + angles), np.sin(pose[2] + angles)
    ax, ay = walls[:, 0] - pose[0], walls[:, 1] - pose[1]
    dx, dy = walls[:, 2] - walls[:, 0], walls[:, 3] - walls[:, 1]
    cross = c[:, None] * dy - s[:, None] * dx
    with np.errstate(divide='ignore', invalid='ignore'):
        far = (ax * dy - ay * dx) / cross
        at = (ax * s[:, None] - ay * c[:, None]) / cross
    far = np.where((far > 0.01) & (at >= 0) & (at <= 1), far, np.inf)
    ranges = far.min(1)
    if rng is not None:
        ranges = ranges + noise * rng.standard_normal(beams)
    kept = (ranges < reach) & (ranges > 0.05)
    return np.stack([np.cos(angles), np.sin(angles)], 1)[kept] * ranges[kept, None]


def drive(points: list[tuple[float, float]], step: float = 0.1) -> Floats:
    """Poses (T, 3) along a polyline; the robot turns on the spot in steps of 10 degrees."""
    poses = [np.array([*points[0], 0.0])]
    for target in points[1:]:
        way = np.array(target) - poses[-1][:2]
        yaw, length = math.atan2(way[1], way[0]), float(np.hypot(*way))
        turn = math.remainder(yaw - poses[-1][2], 2 * math.pi)
        n = math.ceil(abs(turn) / math.radians(10))
        start = poses[-1].copy()
        poses += [start + np.array([0, 0, turn * (k + 1) / n]) for k in range(n)]
        n = max(1, round(length / step))
        poses += [np.array([*(start[:2] + way * (k + 1) / n), start[2] + turn]) for k in range(n)]
    return np.array(poses)


def odometry(poses: Floats, rng: np.random.Generator, scale: float = 1.03) -> Floats:
    """Odometry (T, 3) of a robot with a wrong wheel radius, a heading bias and noise."""
    out = [np.array([3.0, -2.0, 0.5])]
    for step in relatives(poses[:-1], poses[1:]):
        length = math.hypot(step[0], step[1])
        slip = rng.standard_normal(3) * [0.01, 0.01, 0.01] * math.sqrt(length + 0.01)
        step = step * [scale, scale, 1.03] + [0, 0, math.radians(1.5) * length] + slip
        out.append(compose(out[-1], step))
    return np.array(out)


TOUR = [(1.0, 1.0), (4.5, 1.2), (4.5, 4.0), (1.0, 4.0), (1.0, 7.0), (4.0, 7.2), (8.0, 7.2),
        (11.0, 7.0), (11.0, 4.0), (8.0, 4.0), (8.0, 7.2), (4.0, 7.2), (1.0, 7.0), (1.0, 4.0),
        (4.5, 4.0), (4.5, 1.5), (8.0, 1.6), (11.0, 1.5), (4.5, 1.3), (1.0, 1.0)]  # fmt: skip
