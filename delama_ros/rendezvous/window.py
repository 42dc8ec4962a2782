"""Where a transform may lie when starts are roughly known: few places, so little wall decides.

Choosing one of N transforms takes evidence in proportion to log N. Metres that are asked for after
a search of everything are scaled by log N of the window over log N of everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.rendezvous.patches import COARSE, Patch
from delama_ros.rendezvous.se2 import Floats
from delama_ros.rendezvous.surface import Surface

SIGMAS = 3.0  # standard deviations from the middle to the edge of a window
CELL = 0.4, math.radians(6.0)  # m and rad within which two transforms are one


@dataclass(frozen=True)
class Window:
    """Of transforms of one patch into another, from centre to centre."""

    middle: tuple[float, float]  # m, most likely shift; the most likely turn is none
    shift: float  # m, largest distance from it
    turn: float  # rad, largest turn

    def holds(self, transform: Floats) -> bool:
        """Whether a transform (3,) lies in the window, or within a coarse cell of it."""
        x, y, yaw = transform.tolist()
        gap = math.hypot(x - self.middle[0], y - self.middle[1])
        turned = abs(math.remainder(yaw, 2 * math.pi))
        return gap <= self.shift + COARSE and turned <= self.turn + CELL[1] / 2

    def touches(self, first: Patch, second: Patch) -> bool:
        """Whether the patches lie on each other, at least in part, in some part of the window."""
        return math.hypot(*self.middle) <= first.reach + second.reach + self.shift

    @property
    def around(self) -> Window:
        """Return a window of the same size around no shift."""
        return Window((0.0, 0.0), self.shift, self.turn)

    def effort(self, side: float) -> float:
        """Return the share of the usual evidence that decides here, 0 to 1.

        Args:
            side: m, of the square of shifts that are tried without a window.
        """
        everything = _count(side * side, math.pi)
        here = _count(math.pi * self.shift**2, min(self.turn, math.pi))
        return min(math.log(here) / math.log(everything), 1.0)


def _count(area: float, turn: float) -> float:
    """Return how many distinct transforms there are: shifts of an area in m², turns up to ± rad."""
    return (1.0 + area / (math.pi * CELL[0] ** 2)) * (1.0 + turn / CELL[1])


@dataclass(frozen=True)
class StartPrior:
    """How well it is known that two frames coincide, as robots were told where they started.

    Standard deviations at the robots' starts: further away a turn becomes a shift.
    """

    shift: float  # m
    turn: float  # rad

    def window(self, own: Patch, peer: Patch, surfaces: tuple[Surface, Surface]) -> Window:
        """Return where the transform of two patches of these surfaces may lie.

        The starts are somewhere in the maps, so the farthest wall bounds the lever.
        """
        lever = max(
            float(np.linalg.norm(s.points - peer.centre, axis=1).max(initial=0.0)) for s in surfaces
        )
        x, y = (peer.centre - own.centre).tolist()
        return Window(
            (x, y), SIGMAS * math.hypot(self.shift, self.turn * lever), SIGMAS * self.turn
        )
