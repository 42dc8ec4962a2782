"""What some parameters of the robot node stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from delama_ros.transport.port import Encoding
from delama_sim.grid import Pose


def encoding(options: Mapping[str, Any]) -> Encoding:
    """Return what the parameter of that name stands for."""
    name = options['encoding']
    if name.upper() not in Encoding.__members__:
        raise ValueError(f'encoding is {name!r}, expected delta or float64')
    return Encoding[name.upper()]


def start_pose(options: Mapping[str, Any]) -> Pose | None:
    """Pose of the parameter start_pose; None if it was not given."""
    values = [float(v) for v in options['start_pose']]
    if len(values) != 3:
        raise ValueError(f'start_pose is {values}, expected x, y, yaw')
    if all(math.isnan(v) for v in values):
        return None
    if not all(map(math.isfinite, values)):
        raise ValueError(f'start_pose is {values}, expected finite x, y, yaw')
    return values[0], values[1], values[2]
