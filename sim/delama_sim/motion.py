"""Kinematics: how a robot with speed limits drives along a path, as a function of time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.grid import Floats

SHARP = 0.5  # rad between path segments from which a robot stops and turns on the spot
CREEP = 0.02  # m/s, so that no stretch takes for ever


@dataclass(frozen=True)
class Body:
    """A round robot that turns on the spot."""

    radius: float = 0.11  # m, that of a TurtleBot3 Burger
    speed: float = 0.5  # m/s
    turn_rate: float = 1.5  # rad/s
    acceleration: float = 0.8  # m/s²

    def __post_init__(self) -> None:
        for name in ('radius', 'speed', 'turn_rate', 'acceleration'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f'robot {name} is {value}, expected more than 0')


@compiled
def _speeds(limits: Floats, steps: Floats, acceleration: float) -> Floats:
    """Highest speeds (n,) under limits at points that also respect the acceleration."""
    speeds = limits.copy()
    for k in range(1, len(speeds)):
        reachable = math.sqrt(speeds[k - 1] ** 2 + 2.0 * acceleration * steps[k - 1])
        speeds[k] = min(speeds[k], reachable)
    for k in range(len(speeds) - 2, -1, -1):
        reachable = math.sqrt(speeds[k + 1] ** 2 + 2.0 * acceleration * steps[k])
        speeds[k] = min(speeds[k], reachable)
    return speeds


def timed(path: Floats, yaw: float, body: Body) -> tuple[Floats, Floats]:
    """Return times (k,) and poses (k, 3) of a drive from rest to rest along a path (n, 2).

    The robot starts with heading `yaw`, turns on the spot at sharp corners and slows down in
    bends. Headings are unwrapped, so poses may be interpolated.
    """
    moves = np.diff(path, axis=0)
    lengths = np.hypot(moves[:, 0], moves[:, 1])
    useful = lengths > 1e-9
    points = np.concatenate([path[:1], path[1:][useful]])
    moves, steps = moves[useful], lengths[useful]
    if not len(steps):
        return np.zeros(1), np.array([[*path[0], yaw]])
    bearings = np.arctan2(moves[:, 1], moves[:, 0])
    turns = _wrapped(np.diff(np.concatenate([[yaw], bearings])))  # before each segment
    headings = yaw + np.cumsum(turns)  # of each segment
    bends = np.where(np.abs(turns) < SHARP, turns, 0.0)
    bends[0] = 0.0  # the first turn is made standing, however small
    pivots = turns - bends

    # A bend is driven over the half segments around its corner.
    span = np.minimum(np.concatenate([steps[:1], steps[:-1]]), steps)
    limits = np.minimum(body.speed, body.turn_rate * span / np.maximum(np.abs(bends), 1e-9))
    limits[pivots != 0.0] = 0.0
    limits[0] = 0.0
    speeds = _speeds(np.append(limits, 0.0), steps, body.acceleration)
    drive = steps / np.maximum(0.5 * (speeds[:-1] + speeds[1:]), CREEP)
    turning = (np.abs(bends) + np.abs(np.append(bends[1:], 0.0))) / 2
    drive = np.maximum(drive, turning / body.turn_rate)
    turn = np.abs(pivots) / body.turn_rate

    # Three knots per segment: arrival (old heading), departure (turned), and the last arrival.
    starts = np.concatenate([[0.0], np.cumsum(turn + drive)])
    times = np.stack([starts[:-1], starts[:-1] + turn], 1)
    before = headings - pivots - bends / 2
    after = headings - bends / 2
    poses = np.stack(
        [
            np.column_stack([points[:-1], before]),
            np.column_stack([points[:-1], after]),
        ],
        1,
    )
    all_times = np.append(times.ravel(), starts[-1])
    all_poses = np.concatenate([poses.reshape(-1, 3), [[*points[-1], headings[-1]]]])
    keep = np.concatenate([[True], np.diff(all_times) > 0])
    return all_times[keep], all_poses[keep]


def along(path: Floats, distances: Floats, yaw: float = 0.0) -> Floats:
    """Poses (k, 3) at distances in metres along a path (n, 2), headings along the path.

    Beyond its end a robot stays there; a path of one point keeps heading `yaw`.
    """
    if len(path) < 2:
        return np.repeat([[*path[0], yaw]], len(distances), 0)
    moves = np.diff(path, axis=0)
    at = np.concatenate([[0.0], np.cumsum(np.hypot(moves[:, 0], moves[:, 1]))])
    segment = np.clip(np.searchsorted(at, distances, 'right') - 1, 0, len(moves) - 1)
    bearings = np.arctan2(moves[segment, 1], moves[segment, 0])
    x, y = (np.interp(distances, at, path[:, axis]) for axis in (0, 1))
    return np.stack([x, y, bearings], -1)


def _wrapped(angles: Floats) -> Floats:
    result: Floats = (angles + math.pi) % (2 * math.pi) - math.pi
    return result
