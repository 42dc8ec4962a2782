"""Small logs made by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

from delama_ros.data.log import Log, Reading
from delama_ros.mapping.scan import Scan

BEAMS = 181
INCREMENT = float(np.float32(math.pi / 180))


def square_room(pose: tuple[float, float, float], side: float = 6.0) -> Scan:
    """Scan of an empty square room centred at the origin."""
    angles = pose[2] - math.pi / 2 + INCREMENT * np.arange(BEAMS)
    dx, dy = np.cos(angles), np.sin(angles)
    with np.errstate(divide='ignore'):
        along = np.minimum(
            (np.copysign(side / 2, dx) - pose[0]) / dx, (np.copysign(side / 2, dy) - pose[1]) / dy
        )
    ranges = along.astype(np.float32).astype(np.float64)
    return Scan(ranges, float(np.float32(-math.pi / 2)), INCREMENT, 0.0, 50.0)


@pytest.fixture
def log() -> Log:
    """A robot that drives a circle in a square room, 2 s a scan."""
    readings = []
    for i in range(40):
        angle = 2 * math.pi * i / 40
        pose = (2 * math.cos(angle), 2 * math.sin(angle), angle + math.pi / 2)
        readings.append(Reading(100.0 + 2.0 * i, square_room(pose), pose))
    return Log('room', tuple(readings))


@pytest.fixture
def carmen_file(log: Log, tmp_path: Path) -> Path:
    """Write the same log as CARMEN has it, with what else such files hold."""
    lines = ['# message formats defined: PARAM SYNC ODOM FLASER', 'ODOM 0 0 0 0 0 0 99.9 host 99.9']
    for reading in log.readings:
        ranges = ' '.join(f'{r:.9g}' for r in reading.scan.ranges)
        pose = ' '.join(f'{v!r}' for v in reading.pose)
        lines.append(f'FLASER {BEAMS} {ranges} {pose} {pose} {reading.stamp} host {reading.stamp}')
    path = tmp_path / 'room.log'
    path.write_text('\n'.join(lines) + '\n')
    return path
