"""Logs of the MINES rover: wheel encoders and a 240° laser, one line per scan."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from delama_ros.data.carmen import numbered_lines
from delama_ros.data.log import Log, LogError, Reading
from delama_ros.geometry.grid import Pose
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


def read_rover(path: Path) -> Log:
    """Read a log, plain or gzip; poses are raw odometry from the encoders.

    Raises:
        LogError: The file cannot be read or is damaged.
    """
    readings: list[Reading] = []
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
        scan = Scan(ranges, -0.5 * SPAN, SPAN / (BEAMS - 1), RANGE_MIN, RANGE_MAX)
        sensor = as_pose(compose(pose, MOUNT))
        readings.append(Reading(float(row[0]) * 1e-6, scan, sensor))
    if not readings:
        raise LogError(f'{path}: no line: expected a log of the rover with laser scans')
    return Log(path.name.split('.')[0], tuple(readings))


def _moved(pose: Pose, before: tuple[float, float], after: tuple[float, float]) -> Pose:
    left, right = (
        2 * math.pi * RADIUS * (b - a) / TURN for a, b in zip(before, after, strict=True)
    )
    x, y, yaw = pose
    way, turn = 0.5 * (left + right), (right - left) / TRACK
    middle = yaw + 0.5 * turn
    return x + way * math.cos(middle), y + way * math.sin(middle), yaw + turn
