"""Loop closures between robots: where windows of one map lie according to another in its frame.

Maps that share a frame agree where they met and part elsewhere, as each has bent in its own way.
Every window of the robot's own map that finds enough wall of the other nearby says how far it is
off there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.rendezvous.chain import lay
from delama_ros.rendezvous.outcome import Placed, Rule
from delama_ros.rendezvous.se2 import Floats, compose, compose_covariance
from delama_ros.rendezvous.surface import Surface

OVERLAP = 4.0  # windows overlap by half, so four of them use the same wall
LEAST = np.diag([0.005, 0.005, math.radians(0.1)]) ** 2  # a match is never believed beyond this


@dataclass(frozen=True, eq=False)
class Closure:
    """A window of the robot's own map, and where the other map has what it shows."""

    centre: Floats  # (2,), m, of the window
    pose: Floats  # (3,) of that place according to the other map; its yaw is the turn
    covariance: Floats  # (3, 3) of the pose
    matched: float  # m of wall

    @property
    def off(self) -> Floats:
        """How far the window is off, (3,)."""
        off: Floats = self.pose - np.array([*self.centre.tolist(), 0.0])
        return off

    def corrected(self, pose: Floats) -> Floats:
        """Return where a pose (3,) beside the window belongs."""
        return compose(self.pose, self._beside(pose))

    def spread_at(self, pose: Floats) -> Floats:
        """Return the covariance (3, 3) of that, in the frame of the pose."""
        x, y, yaw = (self._beside(pose)).tolist()
        c, s = math.cos(self.pose[2]), math.sin(self.pose[2])
        lever = np.array([[1.0, 0.0, -s * x - c * y], [0.0, 1.0, c * x - s * y], [0.0, 0.0, 1.0]])
        c, s = math.cos(self.pose[2] + yaw), math.sin(self.pose[2] + yaw)
        turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        both = turn @ lever
        covariance: Floats = both @ self.covariance @ both.T
        return covariance

    def _beside(self, pose: Floats) -> Floats:
        beside: Floats = pose - np.array([*self.centre.tolist(), 0.0])
        return beside


def find_closures(
    own: Surface, peer: Surface, transform: Floats, rule: Rule | None = None
) -> list[Closure]:
    """Match windows of a map with another one that lies about where it should.

    Args:
        own: map that is cut into windows, even if it is no larger than a flat.
        peer: the other map, in the same frame.
        transform: (3,) own → peer, where windows begin.
        rule: what a match needs.

    Returns:
        One closure per window that matches, those with most wall first.
    """
    laid = lay(own, peer, transform, rule or Rule(), overlapping=True)
    return sorted(map(_closure, laid.found), key=lambda closure: -closure.matched)


def _closure(placed: Placed) -> Closure:
    middle, none = [*placed.centre.tolist(), 0.0], np.zeros((3, 3))
    covariance = compose_covariance(placed.transform, placed.covariance, middle, none)
    return Closure(
        placed.centre, compose(placed.transform, np.array(middle)), OVERLAP * covariance + LEAST,
        placed.evidence.matched,
    )
