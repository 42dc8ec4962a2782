"""Wheel odometry: the true motion plus errors that grow with the way driven."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.grid import Floats
from delama_ros.geometry.poses import compose, relative


@dataclass(frozen=True)
class Odometry:
    """Error model; all zero is perfect odometry."""

    slip: float = 0.0  # m per √m driven, standard deviation along and across
    turn_slip: float = 0.0  # rad per √m driven and per √rad turned
    # Systematic errors, drawn once per robot; standard deviations over robots.
    scale: float = 0.0  # share by which distances are misjudged
    heading_bias: float = 0.0  # rad per m driven, from wheels of unequal size
    turn_scale: float = 0.0  # share by which turns are misjudged

    def __post_init__(self) -> None:
        for name in ('slip', 'turn_slip', 'scale', 'heading_bias', 'turn_scale'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f'odometry {name} is {value}, expected 0 or more')


# Where the numbers come from: docs/simulator.md.
PRESETS: dict[str, Odometry] = {
    'exact': Odometry(),
    'good': Odometry(0.005, math.radians(0.3), 0.01, math.radians(0.2), 0.01),
    'pioneer': Odometry(0.02, math.radians(1.0), 0.025, math.radians(1.5), 0.05),
    'turtlebot': Odometry(0.01, math.radians(0.5), 0.035, math.radians(1.5), 0.035),
    'bad': Odometry(0.03, math.radians(1.5), 0.07, math.radians(3.0), 0.07),
}


def odometry_preset(name: str) -> Odometry:
    """Return the error model of a named kind of robot.

    Args:
        name: One of `PRESETS`.

    Returns:
        Its error model.

    Raises:
        ValueError: There is no such preset.

    """
    if name not in PRESETS:
        raise ValueError(f'odometry preset is {name!r}, expected one of: {", ".join(PRESETS)}')
    return PRESETS[name]


class OdometryState:
    """Odometry of one robot: starts at the origin of its own odom frame."""

    def __init__(self, model: Odometry, start: Floats, rng: np.random.Generator) -> None:
        self._model = model
        self._rng = rng
        self._scale = 1.0 + model.scale * float(rng.standard_normal())
        self._bias, self._turn_scale = 0.0, 1.0
        if model.heading_bias > 0 or model.turn_scale > 0:
            bias, turn = rng.standard_normal(2).tolist()
            self._bias, self._turn_scale = model.heading_bias * bias, 1.0 + model.turn_scale * turn
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
        step[2] = step[2] * self._turn_scale + self._bias * way
        step[2] += model.turn_slip * (math.sqrt(way) + math.sqrt(turn)) * noise[2]
        self.pose = compose(self.pose, step)

    def correction(self) -> Floats:
        """Where the odom frame truly is in the map (3,)."""
        return compose(self._true, relative(self.pose, np.zeros(3)))


