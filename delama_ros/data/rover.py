"""Logs of the MINES rover: wheel encoders and a 240° laser, one line per scan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from delama_ros.data.carmen import numbered_lines
from delama_ros.data.log import Log, LogError, Reading
from delama_ros.geometry.grid import Floats, Pose
from delama_ros.geometry.poses import as_pose, compose
from delama_ros.mapping.scan import Scan

COLUMNS = 24  # before the ranges: time in µs, a number, encoders left and right, others
BEAMS = 682
SPAN = math.radians(240.0)
RANGE_MIN, RANGE_MAX = 0.02, 4.0  # m; 0 is no return
TURN = 2000.0  # encoder counts per turn of a wheel
RADIUS, TRACK = 0.077, 0.33  # m
MOUNT = (0.145, 0.0, 0.0)  # of the laser, seen from the middle of the axle
MARGIN = 70  # beams at either end that see the rover
SWEEP = 1.0 / 15.0  # s from the first beam to the last: 240° of ten turns per second
# s by which scans are older than the encoder counts beside them: turns by encoders and turns by
# scan matching agree best with it, in both logs.
DELAY = 0.18


def read_rover(path: Path) -> Log:
    """Read a log, plain or gzip; poses are raw odometry from the encoders.

    Raises:
        LogError: The file cannot be read or is damaged.
    """
    stamps: list[float] = []
    scans: list[Scan] = []
    poses: list[Pose] = []  # of the axle
    pose: Pose = (0.0, 0.0, 0.0)
    before: tuple[float, float] | None = None
    for number, line in numbered_lines(path):
        try:
            row = np.array(line.split(), np.float64)
        except ValueError:
            row = np.zeros(0)
        if row.size < COLUMNS + BEAMS or not np.isfinite(row).all():
            raise LogError(f'{path}, line {number}: expected at least {COLUMNS + BEAMS} numbers')
        wheels = float(row[2]), float(row[3])
        pose = _moved(pose, before or wheels, wheels)
        before = wheels
        ranges = row[COLUMNS : COLUMNS + BEAMS] * 1e-3
        ranges = np.where((ranges > RANGE_MIN) & (ranges < RANGE_MAX), ranges, np.nan)
        ranges[:MARGIN] = ranges[-MARGIN:] = np.nan
        stamps.append(float(row[0]) * 1e-6)
        scans.append(Scan(ranges, -0.5 * SPAN, SPAN / (BEAMS - 1), RANGE_MIN, RANGE_MAX))
        poses.append(pose)
    if not scans:
        raise LogError(f'{path}: no line: expected a log of the rover with laser scans')
    return Log(path.name.split('.')[0], tuple(_readings(np.array(stamps), scans, poses)))


def _readings(stamps: Floats, scans: list[Scan], poses: list[Pose]) -> Iterator[Reading]:
    """Yield scans with the poses of the sensor while they were measured."""
    ways = np.array(poses).T  # x, y, yaw by time; yaw is not wrapped
    begins, middles, ends = (
        compose(np.column_stack([np.interp(times, stamps, way) for way in ways]), MOUNT)
        for times in (stamps - DELAY + share * SWEEP for share in (-0.5, 0.0, 0.5))
    )
    for stamp, scan, *at in zip(stamps.tolist(), scans, begins, middles, ends, strict=True):
        begin, middle, end = map(as_pose, at)
        yield Reading(stamp, scan, middle, sweep=(begin, end))


def _moved(pose: Pose, before: tuple[float, float], after: tuple[float, float]) -> Pose:
    left, right = (
        2 * math.pi * RADIUS * (b - a) / TURN for a, b in zip(before, after, strict=True)
    )
    x, y, yaw = pose
    way, turn = 0.5 * (left + right), (right - left) / TRACK
    middle = yaw + 0.5 * turn
    return x + way * math.cos(middle), y + way * math.sin(middle), yaw + turn
