"""Which tiles a map is drawn of, so that its cost follows the tiles rather than their bounding box.

A grid holds every cell of a rectangle. One tile a kilometre away, from a laser whose transform was
wrong or from a peer that errs, would make it thousands of times as large as what is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from delama_ros.core.blocks import Codes, decode

# Tiles in the rectangle of a map: so many, and so many more for each tile that it shows.
AREA, AREA_PER_TILE = 4096, 16
GAP = 250  # tiles (300 m) without any; what lies beyond belongs to no map of the rest


class Extent(NamedTuple):
    """What a map shows."""

    shown: npt.NDArray[np.bool_]  # (n,), of all tiles
    left_out: int  # tiles
    nearest: tuple[float, float] = (0.0, 0.0)  # m, middle of the nearest tile that is left out

    @property
    def problem(self) -> str:
        """What is left out and where, in words; empty if nothing is."""
        if not self.left_out:
            return ''
        tiles = 'tile' if self.left_out == 1 else 'tiles'
        x, y = self.nearest
        return (f'the map leaves out {self.left_out} {tiles} far from the rest, the nearest at '
                f'x {x:.0f} m, y {y:.0f} m')


def extent(codes: Codes, own: Codes, edge: float) -> Extent:
    """Choose the tiles of a map: all, or those around the robot's own that a grid can hold.

    Args:
        codes: (n,), of all tiles that are known.
        own: those of the robot's own scans; the middle of these is shown in any case.
        edge: m, of a tile.
    """
    everything = Extent(np.ones(len(codes), np.bool_), 0)
    if len(codes) == 0:
        return everything
    keys = decode(codes).astype(np.int64)
    width, height = (keys.max(0) - keys.min(0) + 1).tolist()
    if max(width, height) <= GAP and width * height <= AREA + AREA_PER_TILE * len(keys):
        return everything
    base = decode(own).astype(np.int64) if len(own) else keys
    # A tile of its own, not a place half-way between two groups of them.
    middle = base[np.abs(base - np.median(base, axis=0)).max(1).argmin()]
    distance = np.abs(keys - middle).max(1)
    order = np.argsort(distance, kind='stable')
    ways = keys[order]
    near = np.append(np.diff(distance[order]) > GAP, True).argmax() + 1  # up to the first gap
    low, high = np.minimum.accumulate(ways), np.maximum.accumulate(ways)
    area = (high - low + 1.0).prod(1)
    fits = area <= AREA + AREA_PER_TILE * np.arange(1, len(keys) + 1)
    count = int(np.flatnonzero(fits[:near])[-1]) + 1  # the first tile always fits
    if count == len(keys):
        return everything
    shown = np.zeros(len(codes), np.bool_)
    shown[order[:count]] = True
    x, y = ((ways[count] + 0.5) * edge).tolist()
    return Extent(shown, len(codes) - count, (x, y))
