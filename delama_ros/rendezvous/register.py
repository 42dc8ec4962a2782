"""Registration of two patches: candidates, refinement, verification, and what else would do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.rendezvous.candidates import KEPT, candidates
from delama_ros.rendezvous.patches import Patch
from delama_ros.rendezvous.refine import RADII, Refined, refine
from delama_ros.rendezvous.se2 import IDENTITY, Floats
from delama_ros.rendezvous.verify import Evidence, matched_part, verify
from delama_ros.rendezvous.window import CELL, Window

CONTRADICTION = 4.0  # m of matched wall that a metre of contradiction takes back
SAME = CELL  # within which two results are one
FIRST_ROUNDS = 5  # of refinement, before results are compared


@dataclass(frozen=True, eq=False)
class Match:
    """One way in which the second patch may lie on the first."""

    refined: Refined
    evidence: Evidence

    @property
    def score(self) -> float:
        """Metres of matched wall less what contradictions take back."""
        return self.evidence.matched - CONTRADICTION * self.evidence.against


def matches(
    first: Patch, second: Patch, *, kept: int = KEPT, window: Window | None = None,
    likely: bool = False,
) -> list[Match]:
    """Return distinct ways in which `second` may lie on `first`, best first.

    Args:
        first: patch that stays.
        second: patch that is moved.
        kept: candidates that are refined.
        window: where the transform may lie, if that is known.
        likely: try only turns at which directions of walls agree.

    """
    found = [
        settled(first, second, np.array(candidate.transform), FIRST_ROUNDS)
        for candidate in candidates(first, second, kept=kept, window=window, likely=likely)
    ]
    if window is not None:
        found = [match for match in found if window.holds(match.refined.transform)]
    found.sort(key=lambda match: -match.score)
    distinct: list[Match] = []
    for match in found:
        if not any(same(match.refined.transform, other.refined.transform) for other in distinct):
            distinct.append(match)
    if distinct:
        distinct[0] = settled(first, second, distinct[0].refined.transform)
    return distinct


def settled(
    first: Patch, second: Patch, begin: Floats, rounds: int = len(RADII)
) -> Match:
    """Refine a transform (3,) from centre to centre and look what speaks for the result."""
    refined = refine(first, second, begin, rounds=rounds)
    return Match(refined, verify(first, second, refined.transform))


def repeated(
    first: Patch, second: Patch, transform: Floats, window: Window | None = None
) -> float:
    """Return the score with which the matched part fits its own map in another pose, m.

    It is that of the map where the part fits better: a place that is there twice, or a room that
    looks the same from both ends, proves little. Poses outside of a window do not count.
    """
    x, y, yaw = np.asarray(transform, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    undo = np.array([-c * x - s * y, s * x - c * y, -yaw])
    parts = (
        (second, matched_part(first, second, np.array([x, y, yaw]))),
        (first, matched_part(second, first, undo)),
    )
    limit = None if window is None else window.around
    found = (
        m for patch, part in parts for m in matches(patch, part, kept=KEPT // 2, window=limit)
    )
    return max((*(m.score for m in found if not same(m.refined.transform, IDENTITY)), 0.0))


def same(a: Floats, b: Floats) -> bool:
    """Whether two transforms of a patch are one."""
    shift = math.hypot(a[0] - b[0], a[1] - b[1])
    return shift < SAME[0] and abs(math.remainder(a[2] - b[2], 2 * math.pi)) < SAME[1]
