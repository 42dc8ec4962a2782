"""Where the maps of several robots agree, and where they contradict each other, cell by cell.

A cell of about 10 cm is wall or open in a map, or neither. Open means that the cells around it are
free as well, and of a wall only the face counts, where free space ends: what is behind it is drawn
without having been seen. So a wall that was seen from its other side, or is a few centimetres off,
stands at the edge of free space, not in the middle of it. A wall in the open of another map
contradicts it.
Where several others have seen the cell, their majority counts. What rests on little evidence, such
as a single beam, says proportionally little, as a witness and when it is judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from delama_ros.core.blocks import Codes, Model, decode, encode
from delama_ros.mapping.tiles import LOOKED, PARTS, TileModel

COARSE = 2  # cells of the model along a cell that maps are compared in
WALL = math.log(0.75 / 0.25)  # logit from which a cell is wall
FREE = math.log(0.3 / 0.7)  # logit below which a cell is free
SURE = 0.12  # evidence from which a part of a tile speaks with full weight

Singles = npt.NDArray[np.float32]


class Views(NamedTuple):
    """What S maps say about the n tiles that at least two of them hold.

    (S, n, C, C) each: 0 where a map does not say so, otherwise how much it says it, up to 1.
    """

    codes: Codes  # (n,), increasing
    face: Singles  # wall beside free space: what is behind has not been seen
    open: Singles  # free, and so is all around
    near: Singles  # wall, or next to wall


class Tally(NamedTuple):
    """Metres of each map's walls, and of walls in its open space, by tile: (S, n) each."""

    against: Singles  # the others' majority says the opposite
    agreed: Singles  # the others' majority says the same


class Agreement:
    """Compares maps over one table of features."""

    def __init__(self, model: TileModel) -> None:
        """Prepare the table at the size of cells that maps are compared in."""
        pool = COARSE if (model.cells // PARTS) % COARSE == 0 else 1
        size = model.cells // pool
        cut = np.asarray(model.table, np.float32).reshape(-1, size, pool, size, pool)
        self._table = cut.mean((2, 4)).reshape(len(cut), -1)
        self._bias = np.float32(model.bias)
        self._size = size
        self.metres = pool * model.resolution  # along a cell

    def views(self, models: Sequence[Model]) -> Views:
        """Return what maps say about the tiles that at least two of them hold."""
        codes, count = np.unique(np.concatenate([m.codes for m in models]), return_counts=True)
        codes = codes[count > 1]
        theta = np.zeros((len(models), len(codes), len(self._table)), np.float32)
        sure = np.zeros((len(models), len(codes), PARTS, 1, PARTS, 1), np.float32)
        for k, model in enumerate(models):
            here = np.isin(model.codes, codes, assume_unique=True)
            at = np.searchsorted(codes, model.codes[here])
            theta[k, at] = model.theta[here, :, 0]
            said = np.where(model.evidence[here] >= LOOKED, model.evidence[here] / SURE, 0.0)
            sure[k, at] = np.minimum(said, 1.0).reshape(-1, PARTS, 1, PARTS, 1)
        shape = (len(models), len(codes), self._size, self._size)
        logits = (theta @ self._table + self._bias).reshape(shape)
        block = self._size // PARTS
        weight = np.broadcast_to(sure, (*sure.shape[:3], block, PARTS, block)).reshape(shape)
        wall = weight * (logits >= WALL)
        free = weight * (logits < FREE)
        face = wall * (_around(free, codes, np.maximum) > 0)
        clear, near = _around(free, codes, np.minimum), _around(wall, codes, np.maximum)
        return Views(codes, face, clear, near)

    def tally(self, views: Views, witness: npt.ArrayLike) -> Tally:
        """Count what the others say about each map.

        Args:
            views: of S maps.
            witness: (S,), how much the word of each map counts; 0 for one that is not believed.
        """
        weight = np.asarray(witness, np.float32)
        against = np.zeros(views.face.shape[:2], np.float32)
        agreed = np.zeros_like(against)
        say_open, say_near, say_wall = (
            np.einsum('s,snij->nij', weight, part, dtype=np.float32)
            for part in (views.open, views.near, views.face)
        )
        for k, w in enumerate(weight.tolist()):
            face, clear = views.face[k], views.open[k]
            others_open = say_open - w * clear
            # More that say open than wall, at most by one; the opposite is negative.
            for_wall = np.clip(others_open - (say_near - w * views.near[k]), -1.0, 1.0)
            others_wall = say_wall - w * face
            for_clear = np.clip(others_wall - others_open, -1.0, 1.0) * (others_wall > 0)
            score = face * for_wall + clear * for_clear
            against[k] = np.maximum(score, 0.0).sum((1, 2))
            agreed[k] = np.maximum(-score, 0.0).sum((1, 2))
        return Tally(self.metres * against, self.metres * agreed)


def _around(cells: Singles, codes: Codes, combine: np.ufunc) -> Singles:
    """Combine each cell with the eight around it, across tiles; beyond known tiles all is 0."""
    wide = _padded(cells, codes)
    size = cells.shape[-1]
    rows = combine(combine(wide[..., :size], wide[..., 1 : size + 1]), wide[..., 2:])
    out: Singles = combine(
        combine(rows[..., :size, :], rows[..., 1 : size + 1, :]), rows[..., 2:, :]
    )
    return out


def _padded(cells: Singles, codes: Codes) -> Singles:
    """Return tiles (S, n, C, C) with one cell of the neighbouring tiles on every side."""
    maps, tiles, size, _ = cells.shape
    wide = np.zeros((maps, tiles, size + 2, size + 2), np.float32)
    if not tiles:
        return wide
    keys = decode(codes)
    ends = {-1: (slice(0, 1), slice(size - 1, size)), 0: (slice(1, size + 1), slice(0, size)),
            1: (slice(size + 1, size + 2), slice(0, 1))}  # fmt: skip
    for dx, (to_x, from_x) in ends.items():
        for dy, (to_y, from_y) in ends.items():
            wanted = encode(keys + np.array([dx, dy], keys.dtype))
            at = np.minimum(np.searchsorted(codes, wanted), tiles - 1)
            here = np.flatnonzero(codes[at] == wanted)
            wide[:, here, to_y, to_x] = cells[:, at[here], from_y, from_x]
    return wide
