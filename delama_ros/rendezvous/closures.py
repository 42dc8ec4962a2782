"""Loop closures between robots: where windows of one map lie according to another in its frame.

Maps that share a frame agree where they met and part elsewhere, as each has bent in its own way.
Every window of the robot's own map that finds enough wall of the other nearby says how far it is
off there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.rendezvous.outcome import HONEST, SHARE, Rule
from delama_ros.rendezvous.patches import WINDOW, Patch, patches_of, search_patches_of
from delama_ros.rendezvous.register import Match, settled
from delama_ros.rendezvous.se2 import Floats, compose
from delama_ros.rendezvous.surface import Surface
from delama_ros.rendezvous.voting import spread

MOST = 96  # windows that are looked at: bounds the time
NEAR = 0.5, math.radians(4.0)  # m and rad that a window may be off
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


def find_closures(own: Surface, peer: Surface, rule: Rule | None = None) -> list[Closure]:
    """Match windows of a map with another one that lies about where it should.

    Args:
        own: map that is cut into windows, even if it is no larger than a flat.
        peer: the other map, in the same frame.
        rule: what a match needs.

    Returns:
        One closure per window that matches, those with most wall first.
    """
    rule = rule or Rule()
    windows = spread(patches_of(own, whole=WINDOW, window=WINDOW))[:MOST]
    patches = search_patches_of(peer)
    if not windows or not patches:
        return []
    centres = np.array([patch.centre for patch in patches])
    found: list[Closure] = []
    left: list[Patch] = []
    for window in windows:
        closure = _match(window, patches, centres, np.zeros(3), rule)
        found += [closure] if closure is not None else []
        left += [window] if closure is None else []
    # Maps bend smoothly: what is too far off to be found from where it is lies near its neighbour.
    first = list(found)
    for window in left:
        near = min(
            first, default=None, key=lambda c: float(np.abs(c.centre - window.centre).max())
        )
        if near is not None:
            closure = _match(window, patches, centres, near.off, rule)
            found += [closure] if closure is not None else []
    return sorted(found, key=lambda closure: -closure.matched)


def _match(
    window: Patch, patches: list[Patch], centres: Floats, off: Floats, rule: Rule
) -> Closure | None:
    """Match one window from where it would be if it were off by `off` (3,); None: it does not."""
    at = window.centre + off[:2]
    gaps = np.abs(centres - at).max(1)
    patch = patches[int(np.argmin(gaps))]
    if gaps.min() > 0.5 * max(patch.open.shape) * patch.resolution + window.reach:
        return None
    begin = np.array([*(at - patch.centre).tolist(), float(off[2])])
    match = settled(patch, window, begin)
    pose = match.refined.transform + np.array([*patch.centre.tolist(), 0.0])
    moved = pose - np.array([*window.centre.tolist(), 0.0])
    near = math.hypot(moved[0], moved[1]) <= NEAR[0] and abs(moved[2]) <= NEAR[1]
    if not near or not _constrained(match, rule):
        return None
    covariance = OVERLAP * match.refined.covariance + LEAST
    return Closure(window.centre, pose, covariance, match.evidence.matched)


def _constrained(match: Match, rule: Rule) -> bool:
    evidence = match.evidence
    honest = evidence.against <= HONEST + SHARE * evidence.matched
    return honest and match.score >= rule.least and evidence.weak >= rule.weak
