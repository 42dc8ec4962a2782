"""Pieces of a surface that are registered as one rigid body, small enough to bound all work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from delama_ros.geometry.compiled import compiled
from delama_ros.rendezvous.se2 import Floats
from delama_ros.rendezvous.surface import Bytes, Keys, Surface

WHOLE = 18  # tiles along the longer side up to which a map is one patch: a flat of 15 m, turned
RIGID = 13  # tiles along the longer side up to which a map that was joined stays one body
SEARCHED = 16  # tiles along the side of patches of a larger map that a patch is looked for in
WINDOW = 8  # tiles along the side of the windows of a larger map
COARSE = 0.2  # m, cells that candidates are searched on
BUCKET = 0.25  # m, cells that surfels are looked up in; also the farthest that a match can be
AROUND = 1.0  # m around wall that belong to a part of a patch
LEAST = 4.0  # m of surface below which a patch says nothing

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Patch:
    """Surfels around a centre and the open cells among them; coordinates are from the centre."""

    centre: Floats  # (2,), m in the map's frame
    points: Floats  # (m, 2)
    normals: Floats  # (m, 2)
    lengths: Floats  # (m,)
    corner: Floats  # (2,), of the raster
    open: Bytes  # (rows, cols), 1: free, with free cells around
    resolution: float  # m per cell of the raster

    @property
    def length(self) -> float:
        """Metres of wall."""
        return float(self.lengths.sum())

    def part(self, chosen: Indices) -> Patch:
        """Return some of the surfels, with the open cells that lie within AROUND of them."""
        near = np.zeros(self.open.shape, np.uint8)
        cells = np.floor((self.points[chosen] - self.corner) / self.resolution).astype(np.int64)
        rows, cols = (np.array(self.open.shape) - 1).tolist()
        near[cells[:, 1].clip(0, rows), cells[:, 0].clip(0, cols)] = 1
        near = ndimage.maximum_filter(near, 2 * round(AROUND / self.resolution) + 1)
        return Patch(
            self.centre, self.points[chosen], self.normals[chosen], self.lengths[chosen],
            self.corner, near * self.open, self.resolution,
        )

    @cached_property
    def reach(self) -> float:
        """Radius in m of the circle around the centre that holds everything."""
        rows, cols = self.open.shape
        far = np.abs(self.corner)
        near = self.corner + np.array([cols, rows]) * self.resolution
        return float(np.hypot(*np.maximum(far, np.abs(near))))

    @cached_property
    def open_points(self) -> Floats:
        """Centres of coarse cells that are open for the most part, (k, 2)."""
        step = max(1, round(COARSE / self.resolution))
        rows, cols = (n // step for n in self.open.shape)
        cut = self.open[: rows * step, : cols * step].reshape(rows, step, cols, step)
        row, col = np.nonzero(cut.sum((1, 3), dtype=np.int64) * 2 > step * step)
        cells = np.column_stack([col, row]) + 0.5
        return self.corner + cells * (step * self.resolution)

    @cached_property
    def buckets(self) -> tuple[Indices, Indices, Floats, tuple[int, int]]:
        """Surfels by cells of BUCKET metres: starts, order, corner, rows and columns."""
        low = self.points.min(0) - 1e-9 if len(self.points) else np.zeros(2)
        cell = np.floor((self.points - low) / BUCKET).astype(np.int64)
        cols, rows = (cell.max(0) + 1).tolist() if len(cell) else (1, 1)
        flat = cell[:, 1] * cols + cell[:, 0]
        order = np.argsort(flat, kind='stable')
        starts = np.searchsorted(flat[order], np.arange(rows * cols + 1))
        return starts, order, low, (rows, cols)


def patches_of(surface: Surface, *, whole: int = WHOLE, window: int = WINDOW) -> list[Patch]:
    """Cut a surface into patches, those with most wall first.

    A map of at most `whole` tiles a side is one patch. A larger one is cut into windows of
    `window` tiles a side that overlap by half, because large maps bend, but not by more than
    WINDOW tiles, what is looked for in them.
    """
    if surface.length < LEAST:
        return []
    low, high = _extent(surface)
    if (high - low).max() < whole:
        inside = ((surface.keys >= low) & (surface.keys <= high)).all(1)
        return [_patch(surface, np.flatnonzero(inside), np.arange(len(surface.points)))]
    return _windows(surface, window, window - min(window // 2, WINDOW))


def layers(windows: list[Patch]) -> list[list[Patch]]:
    """Divide windows into sets without overlap, each of them those with most wall that are left."""
    found: list[list[Patch]] = []
    left = windows
    while left:
        chosen: list[Patch] = []
        for window in left:
            reach = 0.99 * max(window.open.shape) * window.resolution
            if all(np.abs(window.centre - other.centre).max() >= reach for other in chosen):
                chosen.append(window)
        found.append(chosen)
        taken = {id(window) for window in chosen}
        left = [window for window in left if id(window) not in taken]
    return found


def is_large(surface: Surface, whole: int = WHOLE) -> bool:
    """Whether a map extends over more than `whole` tiles."""
    low, high = _extent(surface)
    return bool(surface.length >= LEAST and (high - low).max() >= whole)


def _extent(surface: Surface) -> tuple[Indices, Indices]:
    """Return the first and the last tile that holds wall, (2,) each.

    Tiles without wall, seen through a window or a door, do not make a map large.
    """
    at = np.floor(surface.points / surface.tile).astype(np.int64)
    return (at.min(0), at.max(0)) if len(at) else (np.zeros(2, np.int64), np.zeros(2, np.int64))


def search_patches_of(surface: Surface) -> list[Patch]:
    """Cut a surface into patches of SEARCHED tiles a side, overlapping by half, to search in."""
    return patches_of(surface, window=SEARCHED)


def _windows(surface: Surface, size: int, stride: int) -> list[Patch]:
    unit = math.gcd(size, stride)  # tiles along the cells that windows are made of
    cell = np.floor_divide(surface.keys, unit)
    at = np.floor_divide(np.floor(surface.points / surface.tile).astype(np.int64), unit)
    across, hop = size // unit, stride // unit
    tiles_in, points_in = _by_cell(cell), _by_cell(at)
    found = []
    corners = {
        (x - i, y - j) for x, y in tiles_in for i in range(across) for j in range(across)
        if (x - i) % hop == 0 and (y - j) % hop == 0
    }
    for x, y in sorted(corners):
        inside = [(x + i, y + j) for i in range(across) for j in range(across)]
        points = [points_in[c] for c in inside if c in points_in]
        tiles = [tiles_in[c] for c in inside if c in tiles_in]
        if points:
            found.append(_patch(surface, np.concatenate(tiles), np.concatenate(points)))
    kept = [patch for patch in found if patch.length >= LEAST]
    return sorted(kept, key=lambda patch: (-patch.length, *patch.centre.tolist()))


def _by_cell(cells: npt.NDArray[np.integer]) -> dict[tuple[int, int], Indices]:
    unique, where = np.unique(cells, axis=0, return_inverse=True)
    order = np.argsort(where.ravel(), kind='stable')
    cuts = np.cumsum(np.bincount(where.ravel(), minlength=len(unique)))[:-1]
    groups = np.split(order, cuts)
    return {(int(x), int(y)): group for (x, y), group in zip(unique, groups, strict=True)}


def _patch(surface: Surface, tiles: Indices, points: Indices) -> Patch:
    keys: Keys = surface.keys[tiles]
    size = surface.open.shape[-1]
    low, high = keys.min(0), keys.max(0) + 1
    cols, rows = (int(n) for n in high - low)
    grid = np.zeros((rows, cols, size, size), np.uint8)
    grid[keys[:, 1] - low[1], keys[:, 0] - low[0]] = surface.open[tiles]
    raster = np.ascontiguousarray(grid.swapaxes(1, 2).reshape(rows * size, cols * size))
    centre = (low + high) * (0.5 * surface.tile)
    return Patch(
        centre,
        surface.points[points] - centre,
        surface.normals[points],
        surface.lengths[points],
        low * surface.tile - centre,
        raster,
        surface.resolution,
    )


@compiled
def nearest(
    x: float, y: float, nx: float, ny: float, points: Floats, normals: Floats, starts: Indices,
    order: Indices, low: Floats, rows: int, cols: int, radius: float, least: float,
) -> int:
    """Return the surfel nearest to (x, y) within `radius` that faces like (nx, ny), or -1.

    least: cosine of the largest angle between normals; radius is at most BUCKET.
    """
    col = math.floor((x - low[0]) / BUCKET)
    row = math.floor((y - low[1]) / BUCKET)
    best, found = radius * radius, -1
    for r in range(max(row - 1, 0), min(row + 2, rows)):
        first, last = max(col - 1, 0), min(col + 2, cols)
        if first >= last:
            continue
        for k in range(starts[r * cols + first], starts[r * cols + last]):
            i = order[k]
            if normals[i, 0] * nx + normals[i, 1] * ny < least:
                continue
            gap = (points[i, 0] - x) ** 2 + (points[i, 1] - y) ** 2
            if gap < best:
                best, found = gap, i
    return found
