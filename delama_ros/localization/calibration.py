"""Systematic errors of a robot's odometry, learned from its own matches while it drives.

Wheels a little too large, unequal, or farther apart than believed: distances, straight lines and
turns are misjudged by the same share again and again. Where scans say little, as in corridors,
odometry decides alone, and such errors add up instead of averaging out.
"""

from __future__ import annotations

import math

import numpy as np

from delama_ros.localization.se2 import Floats, compose, wrap

# Standard deviations over robots: scale of distances, heading bias (rad/m), scale of turns ...
ROBOTS = np.array([0.05, math.radians(2.0), 0.05])
# ... by how much they wander per √m: floors, tyres and loads change ...
WANDER = np.array([0.001, math.radians(0.03), 0.001])
# ... and how far they are believed to go.
MOST = np.array([0.2, math.radians(8.0), 0.2])
NOISE = 0.03  # m, standard deviation of one comparison of odometry with a match ...
SLIP = 0.03  # m per √m ... and its growth
NOISE_YAW = math.radians(1.0)
SLIP_YAW = math.radians(1.0)  # per √m and √rad
KERNEL = 2.0  # standard deviations from which on a comparison counts less: wheels slip


class Calibration:
    """A Kalman filter for three systematic errors, and odometry without them.

    With step (x, y, φ) of raw odometry, the corrected one is ((1 + s) (x, y) turned by half of
    what φ changes, (1 + k) φ + b x); the state is (s, b, k).
    """

    def __init__(self) -> None:
        self.mean: Floats = np.zeros(3)
        self.covariance: Floats = np.diag(ROBOTS**2)
        self.pose: Floats = np.zeros(3)  # corrected odometry

    def advance(self, step: Floats) -> Floats:
        """Follow a step (3,) of raw odometry; returns the corrected odometry (3,)."""
        scale, bias, turn = self.mean
        more = turn * step[2] + bias * step[0]
        c, s = math.cos(0.5 * more), math.sin(0.5 * more)
        x, y = (1.0 + scale) * step[0], (1.0 + scale) * step[1]
        self.pose = compose(
            self.pose, np.array([c * x - s * y, s * x + c * y, wrap(float(step[2] + more))])
        )
        return self.pose

    def doubt(self, step: Floats) -> float:
        """Variance (rad²) of the turn of a corrected step (3,), as far as it is systematic."""
        by = np.array([0.0, step[0], step[2]])
        return float(by @ self.covariance @ by)

    def learn(self, step: Floats, measured: Floats, along: bool, yaw: bool) -> None:
        """Compare a corrected step with the same step between two matches.

        Args:
            step: (3,) by corrected odometry.
            measured: (3,) by matches.
            along: whether the matches tell how far the robot went ...
            yaw: ... and how far it turned.

        """
        way = math.hypot(step[0], step[1])
        self.covariance = self.covariance + np.diag(WANDER**2) * way
        if along and way > 0.0:
            off = float(step[0] * measured[0] + step[1] * measured[1]) / way - way
            self._update(np.array([way, 0.0, 0.0]), off, NOISE**2 + SLIP**2 * way)
        if yaw:
            off = wrap(float(measured[2] - step[2]))
            noise = NOISE_YAW**2 + SLIP_YAW**2 * (way + abs(float(step[2])))
            self._update(np.array([0.0, step[0], step[2]]), off, noise)

    def _update(self, by: Floats, off: float, noise: float) -> None:
        spread = self.covariance @ by
        expected = float(by @ spread)
        noise *= 1.0 + off * off / (expected + noise) / KERNEL**2
        gain = spread / (expected + noise)
        self.mean = np.clip(self.mean + gain * off, -MOST, MOST)
        self.covariance = self.covariance - np.outer(gain, spread)
        self.covariance = 0.5 * (self.covariance + self.covariance.T)
