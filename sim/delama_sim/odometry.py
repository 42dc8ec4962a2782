"""Wheel odometry: the true motion plus errors that grow with the way driven."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_sim.grid import Floats


@dataclass(frozen=True)
class Odometry:
    """Error model; all zero is perfect odometry."""

    slip: float = 0.0  # m per √m driven, standard deviation along and across
    turn_slip: float = 0.0  # rad per √m driven and per √rad turned
    scale: float = 0.0  # systematic share by which each robot misjudges distances, std. dev.

    def __post_init__(self) -> None:
        for name in ('slip', 'turn_slip', 'scale'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f'odometry {name} is {value}, expected 0 or more')


class OdometryState:
    """Odometry of one robot: starts at the origin of its own odom frame."""

    def __init__(self, model: Odometry, start: Floats, rng: np.random.Generator) -> None:
        self._model = model
        self._rng = rng
        self._scale = 1.0 + model.scale * float(rng.standard_normal())
        self._true = start
        self.pose: Floats = np.zeros(3)

    def move_to(self, true: Floats) -> None:
        """Follow the robot to its next true pose (3,)."""
        step = relative(self._true, true)
        self._true = true
        noise = self._rng.standard_normal(3)
        model = self._model
        way, turn = math.hypot(step[0], step[1]), abs(step[2])
        step[:2] = step[:2] * self._scale + model.slip * math.sqrt(way) * noise[:2]
        step[2] += model.turn_slip * (math.sqrt(way) + math.sqrt(turn)) * noise[2]
        self.pose = compose(self.pose, step)

    def correction(self) -> Floats:
        """Where the odom frame truly is in the map (3,)."""
        return compose(self._true, relative(self.pose, np.zeros(3)))


def compose(a: Floats, b: Floats) -> Floats:
    """Pose b, given in frame a, in the frame a is given in."""
    c, s = math.cos(a[2]), math.sin(a[2])
    yaw = math.remainder(a[2] + b[2], 2 * math.pi)
    return np.array([a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], yaw])


def relative(a: Floats, b: Floats) -> Floats:
    """Pose b as seen from pose a."""
    c, s = math.cos(a[2]), math.sin(a[2])
    dx, dy = b[0] - a[0], b[1] - a[1]
    return np.array([c * dx + s * dy, c * dy - s * dx, math.remainder(b[2] - a[2], 2 * math.pi)])
