"""The laser's systematic range error, learned from walls seen at different angles.

A laser that measures b too far moves a wall by b where it looks at it straight on, and by b cos φ
where its beams meet it at an angle φ from the normal. Walls bend, and every match turns the robot
a little the same way. The same wall seen at another angle shows b, whatever its shape.
"""

from __future__ import annotations

import numpy as np

from delama_ros.localization.se2 import Floats

LASERS = 0.03  # m, standard deviation over lasers, about what their data sheets promise
WANDER = 0.0002  # m per keyframe: temperature and surfaces change it
SHARED = 4.0  # matches that count as one, since keyframes nearby meet much the same map
MOST = 0.1  # m, how far it is believed to go
KERNEL = 2.0  # standard deviations from which on a match counts less
NOTICEABLE = 0.001  # m by which it changes before scans are corrected with it


class RangeBias:
    """A Kalman filter for one number, and points without it."""

    def __init__(self) -> None:
        self.mean = 0.0  # m
        self.variance = LASERS**2  # m²
        self.used = 0.0  # m, taken off the ranges of all scans

    def correct(self, points: Floats, origin: Floats) -> Floats:
        """Points (N, 2) of a scan taken at an origin (2,), without the error."""
        if self.used == 0.0:
            return points
        beams = points - origin
        ranges = np.maximum(np.hypot(beams[:, 0], beams[:, 1]), 1e-3)
        return np.asarray(points - (self.used / ranges)[:, None] * beams)

    def learn(self, off: float, information: float) -> float:
        """Take in what a match says about ranges that are corrected already.

        Args:
            off: m by which they still seem too long.
            information: 1/m² of that.

        Returns:
            m that are to be taken off all scans from now on, besides what was taken off before.

        """
        self.variance += WANDER**2
        if information > 0.0:
            noise = SHARED / information
            off += self.used - self.mean
            noise *= 1.0 + off * off / (self.variance + noise) / KERNEL**2
            gain = self.variance / (self.variance + noise)
            self.mean = min(max(self.mean + gain * off, -MOST), MOST)
            self.variance *= 1.0 - gain
        more = self.mean - self.used
        if abs(more) < NOTICEABLE:
            return 0.0
        self.used = self.mean
        return more
