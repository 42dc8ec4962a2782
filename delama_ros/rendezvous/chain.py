"""Bent maps, piece by piece: each window lies on another map about as its neighbour does.

No single transform lays a large map, or one with an open loop, onto another. But maps bend
smoothly: from the places where a transform is right, windows follow one another as far as the maps
have wall in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from delama_ros.rendezvous.outcome import Placed, Rule, place
from delama_ros.rendezvous.patches import Patch, layers, patches_of, search_patches_of
from delama_ros.rendezvous.register import settled
from delama_ros.rendezvous.se2 import Floats, apply, compose
from delama_ros.rendezvous.surface import Surface

FINE = 4  # tiles along the side of a window: short enough to be rigid
NEAR = 0.5, math.radians(4.0)  # m and rad that a window may be off, seen from its neighbour
BESIDE = 2.0  # sides of a window within which windows are neighbours
MOST = 192  # windows that are looked at: bounds the time


class Laid(NamedTuple):
    """Windows of a map that lie on another one, and those that do not."""

    found: list[Placed]
    failed: list[Placed]  # as they would lie; none where the other map is bare

    @property
    def opposed(self) -> list[Placed]:
        """Windows that contradict the other map."""
        return [p for p in self.failed if p.score < 0.0 and p.evidence.against > 1.0]

    @property
    def opposed_beside(self) -> list[Placed]:
        """Those of them that are neighbours of windows that were found; all, if none was."""
        wrong = self.opposed
        if not self.found:
            return wrong
        centres = np.array([p.centre for p in self.found])
        return [
            p for p in wrong
            if np.linalg.norm(centres - p.centre, axis=1).min() <= BESIDE * side_of(p.patches[1])
        ]


def side_of(patch: Patch) -> float:
    """Return the longer side of a patch, m."""
    return float(max(patch.open.shape) * patch.resolution)


def lay(
    moving: Surface, fixed: Surface, transform: Floats, rule: Rule, *,
    known: Sequence[Placed] = (), overlapping: bool = False,
) -> Laid:
    """Lay a map onto another one, window by window.

    Args:
        moving: map that is cut into windows.
        fixed: the other one.
        transform: (3,), moving → fixed, where the windows begin.
        rule: what the match of a window needs.
        known: matches of parts of the moving map: windows begin as the nearest of them lies.
        overlapping: take windows that overlap by half, too.
    """
    cut = layers(patches_of(moving, whole=0, window=FINE))
    windows = [w for layer in (cut if overlapping else cut[:1]) for w in layer][:MOST]
    patches = search_patches_of(fixed)
    centres = np.array([patch.centre for patch in patches]).reshape(-1, 2)
    held, failed = list(known), dict[int, Placed]()
    found: list[Placed] = []
    left = [(window, _nearest(held, window)) for window in windows if patches]
    while left:
        new: list[Placed] = []
        for window, near in left:
            start = transform if near is None else near.transform
            placed = _follow(patches, centres, window, start)
            if placed is not None and _fits(placed, start, rule):
                new.append(placed)
                failed.pop(id(window), None)
            elif placed is not None:
                failed[id(window)] = placed
        found += new
        held += new
        taken, fresh = {id(p.patches[1]) for p in new}, {id(p) for p in new}
        left = [(window, _nearest(held, window)) for window, _ in left if id(window) not in taken]
        left = [(window, near) for window, near in left if id(near) in fresh]
    return Laid(found, list(failed.values()))


def _nearest(held: list[Placed], window: Patch) -> Placed | None:
    return min(
        held, default=None, key=lambda p: float(np.linalg.norm(p.centre - window.centre))
    )


def _follow(
    patches: list[Patch], centres: Floats, window: Patch, transform: Floats
) -> Placed | None:
    """Match a window beginning with a transform; None: the other map has nothing there."""
    at = apply(transform, window.centre)
    gaps = np.abs(centres - at).max(1)
    patch = patches[int(np.argmin(gaps))]
    if gaps.min() > 0.5 * side_of(patch) + window.reach:
        return None
    begin = np.array([*(at - patch.centre).tolist(), float(transform[2])])
    placed = place(patch, window, settled(patch, window, begin))
    return placed if placed.evidence.matched + placed.evidence.against >= 0.5 else None


def _fits(placed: Placed, start: Floats, rule: Rule) -> bool:
    middle = np.array([*placed.centre.tolist(), 0.0])
    moved = compose(placed.transform, middle) - compose(start, middle)
    turned = abs(math.remainder(moved[2], 2 * math.pi))
    near = math.hypot(moved[0], moved[1]) <= NEAR[0] and turned <= NEAR[1]
    return near and placed.score >= rule.window and placed.evidence.weak >= 0.5 * rule.weak
