"""Where the maps of several robots agree, and where they contradict each other, cell by cell.

A cell is wall or open in a map, or neither. Open means that the cells around it are free as well,
and of a wall only the face counts, where free space ends: what is behind it is drawn without having
been seen. So a wall that was seen from its other side, or is some centimetres off, stands at the
edge of free space, not in the middle of it. A wall in the open of another map contradicts it.
Where several others have seen the cell, their majority counts. What rests on little evidence, such
as a single beam, says proportionally little, as a witness and when it is judged.

A witness has to be sure. A map that is judged is held to all that it would draw, to what it leaves
unsaid as well: else one that is nowhere sure of a wall, or of free space, would contradict nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from delama_ros.core.blocks import Codes, Model
from delama_ros.geometry.grid import Bools
from delama_ros.mapping.tiles import LOOKED, PARTS, TileModel

BESIDE = 1  # cells around one that must be free if it is open, and one of them if it is a face
CLOSE = 2  # cells from a wall to what is still near it
BEHIND = 4  # cells from a wall to what may lie behind it, and is drawn without having been seen
WALL = math.log(0.75 / 0.25)  # logit from which a cell is wall
FREE = math.log(0.3 / 0.7)  # logit below which a cell is free
SURE = 0.25  # evidence from which a part of a tile speaks with full weight

IS_FREE, NOT_FREE, IS_WALL, IS_BLANK, IS_DRAWN = 1, 2, 4, 8, 16

Singles = npt.NDArray[np.float32]
Cells = npt.NDArray[Any]  # bits, or whether


class Sketch(NamedTuple):
    """What one map says, by tile and cell, (n, C²) each."""

    codes: Codes  # (n,), increasing
    face: Bools  # wall beside free space: what is behind has not been seen
    open: Bools  # free, and so is all around
    near: Bools  # wall, or close to it
    drawn: Bools  # face of a wall as it is drawn, sure or not
    blank: Bools  # drawn free, away from any wall, whether its surroundings have been seen or not
    sure: Singles  # (n, P): how much the map's word counts in each part of a tile, up to 1

    def without(self, codes: Codes) -> Sketch:
        """Return the sketch without these tiles."""
        at = ~np.isin(self.codes, codes)
        return Sketch(
            self.codes[at], self.face[at], self.open[at], self.near[at], self.drawn[at],
            self.blank[at], self.sure[at],
        )


class Views(NamedTuple):
    """What S maps say about the F cells in which at least one of them has the face of a wall.

    These are in tiles that at least two of the maps hold. What is said, (S, F) each, is 0 where a
    map does not say so, otherwise how much its word counts.
    """

    codes: Codes  # (n,), increasing, of the tiles that these cells are in
    tile: npt.NDArray[np.intp]  # (F,), increasing: which of them a cell is in
    face: Singles
    open: Singles
    near: Singles
    drawn: Singles
    blank: Singles

    def masked(self, kept: Bools) -> Views:
        """Return the views with what each map says in tiles where it does not count (S, n) at 0."""
        says = kept[:, self.tile]
        return Views(self.codes, self.tile, *(said * says for said in self[2:]))


class Tally(NamedTuple):
    """Metres of each map's walls, and of walls in its open space, by tile: (S, n) each."""

    against: Singles  # the others' majority says the opposite
    agreed: Singles  # the others' majority says the same


class Agreement:
    """Compares maps over one table of features."""

    def __init__(self, model: TileModel) -> None:
        """Prepare the table in single precision."""
        self._table = np.asarray(model.table, np.float32).reshape(len(model.table), -1)
        self._bias = np.float32(model.bias)
        self._size = model.cells
        self._metres = np.float32(model.resolution)
        rows = np.arange(self._size) * PARTS // self._size
        # Of a tile that each of its cells is in.
        self._part = (rows[:, None] * PARTS + rows).ravel()

    def deviations(self, model: Model) -> Singles:
        """Return how far each cell's logit is from the bias, (n, C²)."""
        values: Singles = model.theta[..., 0].astype(np.float32) @ self._table
        return values

    def sketch(self, model: Model, deviations: Singles) -> Sketch:
        """Return what a map says, given the deviations of its cells."""
        said = np.minimum(model.evidence / SURE, 1.0).astype(np.float32)
        sure = np.where(model.evidence >= LOOKED, said, np.float32(0.0))
        known = sure > 0
        around = _neighbours(model.codes)
        missing = _padded(~known.reshape(-1, PARTS, PARTS), around, 1, True)
        inner = ~_around(missing, 1)
        looked = known[:, self._part]
        wall = looked & (deviations >= WALL - self._bias)
        free = looked & (deviations < FREE - self._bias)
        drawn = looked & (deviations >= -self._bias)
        blank = looked & ~drawn
        # One byte per cell, so that what is around it is found for all kinds at once.
        kinds = np.where(free, IS_FREE, NOT_FREE).astype(np.uint8)
        for says, kind in ((wall, IS_WALL), (blank, IS_BLANK), (drawn, IS_DRAWN)):
            kinds |= says * np.uint8(kind)
        cells = kinds.reshape(-1, self._size, self._size)
        beside = _around(_padded(cells, around, BEHIND, NOT_FREE), BESIDE)
        close = _around(beside, CLOSE - BESIDE)
        behind = _around(close, BEHIND - CLOSE).reshape(free.shape)
        beside, close = (self._inside(wide).reshape(free.shape) for wide in (beside, close))
        clear = (beside & NOT_FREE == 0) & inner.reshape(known.shape)[:, self._part]
        near = close & IS_WALL > 0
        face = wall & (beside & IS_FREE > 0)
        edge = drawn & (beside & IS_BLANK > 0) & (behind & IS_WALL == 0)
        return Sketch(
            model.codes, face, clear, near, face | edge,
            clear | (blank & (behind & IS_DRAWN == 0)), sure,
        )

    def _inside(self, wide: Cells) -> Cells:
        """Return tiles without the cells around them."""
        margin = (wide.shape[-1] - self._size) // 2
        return wide[:, margin : margin + self._size, margin : margin + self._size]

    def views(self, sketches: Sequence[Sketch]) -> Views:
        """Return what maps say about the walls in tiles that at least two of them hold."""
        codes, count = np.unique(np.concatenate([s.codes for s in sketches]), return_counts=True)
        codes = codes[count > 1]
        # Which row of each sketch is that tile, -1: none.
        row = np.full((len(sketches), len(codes)), -1)
        for own, sketch in zip(row, sketches, strict=True):
            at = np.searchsorted(codes, sketch.codes)
            shared = np.flatnonzero(np.append(codes, -1)[at] == sketch.codes)
            own[at[shared]] = shared
        some = np.zeros((len(codes), self._size**2), np.bool_)
        for own, sketch in zip(row, sketches, strict=True):
            held = np.flatnonzero(own >= 0)
            some[held] |= sketch.drawn[own[held]]
        tile, cell = np.nonzero(some)
        part = self._part[cell]
        said = np.zeros((5, len(sketches), len(tile)), np.float32)
        for k, (own, sketch) in enumerate(zip(row, sketches, strict=True)):
            known = np.flatnonzero(own[tile] >= 0)
            to, where = own[tile[known]], cell[known]
            weight = sketch.sure[to, part[known]]
            for out, says in zip(said, sketch[1:-1], strict=True):
                out[k, known] = weight * says[to, where]
        walled, tile = np.unique(tile, return_inverse=True)
        return Views(codes[walled], tile, *said)

    def tally(self, views: Views, witness: npt.ArrayLike) -> Tally:
        """Count what the others say about each map.

        Args:
            views: of S maps.
            witness: (S,), how much the word of each map counts; 0 for one that is not believed.
        """
        weight = np.asarray(witness, np.float32)
        if not len(views.tile):
            return Tally(*np.zeros((2, len(weight), 0), np.float32))
        each = weight[:, None]
        others_open, others_near, others_wall = (
            weight @ said - each * said for said in (views.open, views.near, views.face)
        )
        # More that say open than wall, at most by one; the opposite is negative.
        for_wall = np.clip(others_open - others_near, -1.0, 1.0)
        for_clear = np.clip(others_wall - others_open, -1.0, 1.0) * (others_wall > 0)
        wrong = views.drawn * np.maximum(for_wall, 0) + views.blank * np.maximum(for_clear, 0)
        right = views.face * np.maximum(-for_wall, 0) + views.open * np.maximum(-for_clear, 0)
        first = np.searchsorted(views.tile, np.arange(len(views.codes)))
        against = np.add.reduceat(wrong, first, axis=1)
        agreed = np.add.reduceat(right, first, axis=1)
        return Tally(self._metres * against, self._metres * agreed)

    def opposed(self, views: Views, k: int) -> Singles:
        """Return the metres in which each of the maps (S,) says the opposite of map k."""
        opposite = views.open @ views.face[k] + views.face @ views.open[k]
        return np.asarray(self._metres * opposite, np.float32)


def _around(wide: Cells, ring: int) -> Cells:
    """Return what a cell or any of those around it is, up to a ring that is cut off."""
    size = wide.shape[-1] - 2 * ring
    columns = wide[..., :size].copy()
    for k in range(1, 2 * ring + 1):
        columns |= wide[..., k : k + size]
    out = columns[..., :size, :].copy()
    for k in range(1, 2 * ring + 1):
        out |= columns[..., k : k + size, :]
    return out


def _neighbours(codes: Codes) -> npt.NDArray[np.intp]:
    """Return which tiles lie around each, (3, 3, n) indexed [1 + dy, 1 + dx]; n: none does."""
    steps = np.arange(-1, 2)
    # Codes are x · 2³² + y and a constant.
    wanted = codes + (steps[None, :, None] << 32) + steps[:, None, None]
    at = np.searchsorted(codes, wanted)
    return np.where(np.append(codes, -1)[at] == wanted, at, len(codes))


def _padded(
    cells: Cells, around: npt.NDArray[np.intp], ring: int, beyond: int
) -> Cells:
    """Return tiles (n, C, C) with a ring of cells of their neighbours, or of `beyond`."""
    size = cells.shape[-1]
    known = np.concatenate((cells, np.full_like(cells, beyond, shape=(1, size, size))))
    wide = np.empty((len(cells), size + 2 * ring, size + 2 * ring), cells.dtype)
    ends = (
        (slice(0, ring), slice(size - ring, size)),
        (slice(ring, size + ring), slice(0, size)),
        (slice(size + ring, size + 2 * ring), slice(0, ring)),
    )
    for (to_y, from_y), row in zip(ends, around, strict=True):
        for (to_x, from_x), tiles in zip(ends, row, strict=True):
            wide[..., to_y, to_x] = known[..., from_y, from_x][tiles]
    return wide
