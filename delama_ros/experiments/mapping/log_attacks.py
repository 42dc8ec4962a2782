"""Recorded logs made harder: odometry that drifts, jumps or stops, and scans that are missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from delama_ros.data.log import Log, Reading
from delama_ros.geometry.grid import Floats
from delama_ros.geometry.poses import as_pose, compose, relative
from delama_sim.odometry import PRESETS, OdometryState

EVERY = 60.0  # m of way between two jumps or stops
JUMP = (0.5, math.radians(20.0))  # m and rad
STOP = 2.0  # m of way on which odometry stands still
DROPPED = 0.3  # share of scans
BEAMS = 0.25  # share of beams that become +Inf


def drift(preset: str) -> Callable[[Log, int], Log]:
    """Return an attack that adds the drift of a preset to the poses, taken to be exact."""

    def attack(log: Log, seed: int) -> Log:
        poses = _poses(log)
        state = OdometryState(PRESETS[preset], poses[0], np.random.default_rng(seed))
        moved = []
        for pose in poses:
            state.move_to(pose)
            moved.append(state.pose)
        return _at(log, np.array(moved))

    return attack


def drop(log: Log, seed: int) -> Log:
    """Leave scans out at random; the first stays."""
    kept = np.random.default_rng(seed).random(len(log.readings)) >= DROPPED
    kept[0] = True
    return replace(
        log, readings=tuple(r for r, keep in zip(log.readings, kept, strict=True) if keep)
    )


def infinite(log: Log, seed: int) -> Log:
    """Take the returns of beams away at random, as +Inf."""
    rng = np.random.default_rng(seed)
    readings = []
    for r in log.readings:
        gone = rng.random(r.scan.ranges.size) < BEAMS
        ranges = np.where(gone, np.inf, r.scan.ranges).astype(r.scan.ranges.dtype)
        readings.append(replace(r, scan=replace(r.scan, ranges=ranges)))
    return replace(log, readings=tuple(readings))


def jump(log: Log, seed: int) -> Log:
    """Let odometry jump forwards and turn, every 60 m."""
    return _jumping(log, seed, np.array([JUMP[0], 0.0, JUMP[1]]))


def jump_sideways(log: Log, seed: int) -> Log:
    """Let odometry jump to the left and turn, every 60 m."""
    return _jumping(log, seed, np.array([0.0, JUMP[0], JUMP[1]]))


def stall(log: Log, seed: int) -> Log:
    """Let odometry stand still on 2 m of every 60 m, and go on from there."""
    poses = _poses(log)
    steps = relative(poses[:-1], poses[1:])
    steps[(_way(poses)[1:] + _phase(seed)) % EVERY < STOP] = 0.0
    return _at(log, _chain(poses[0], steps))


def _jumping(log: Log, seed: int, by: Floats) -> Log:
    poses = _poses(log)
    steps = relative(poses[:-1], poses[1:])
    laps = np.floor((_way(poses) + _phase(seed)) / EVERY)
    for k in np.flatnonzero(np.diff(laps)):
        steps[k] = compose(steps[k], by)
    return _at(log, _chain(poses[0], steps))


def _phase(seed: int) -> float:
    return float(np.random.default_rng(seed).uniform(0.0, EVERY))


def _poses(log: Log) -> Floats:
    return np.array([reading.pose for reading in log.readings])


def _way(poses: Floats) -> Floats:
    return np.append(0.0, np.cumsum(np.hypot(*np.diff(poses[:, :2], axis=0).T)))


def _chain(first: Floats, steps: Floats) -> Floats:
    out = [first]
    for step in steps:
        out.append(compose(out[-1], step))
    return np.array(out)


def _at(log: Log, poses: Floats) -> Log:
    """Return the log with other poses; sweeps keep their motion."""
    readings = [_moved(r, p) for r, p in zip(log.readings, poses, strict=True)]
    return replace(log, readings=tuple(readings))


def _moved(reading: Reading, pose: Floats) -> Reading:
    sweep = reading.sweep
    if sweep is not None:
        begin, end = (as_pose(compose(pose, relative(reading.pose, p))) for p in sweep)
        sweep = begin, end
    return replace(reading, pose=as_pose(pose), sweep=sweep)


ATTACKS: dict[str, Callable[[Log, int], Log]] = {
    'drop': drop,
    'inf': infinite,
    'jump': jump,
    'jump_sideways': jump_sideways,
    'stall': stall,
} | {f'drift_{name}': drift(name) for name in PRESETS if name != 'exact'}
