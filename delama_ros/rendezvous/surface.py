"""From a model of tiles to its surface: points with normals where walls begin, and free space."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.rendezvous.se2 import Floats

Keys = npt.NDArray[np.int32]
Singles = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int64]

LEVEL = math.log(0.75 / 0.25)  # logit at which a wall begins
FREE = math.log(0.3 / 0.7)  # logit below which a cell is free
FIRM = 0.02  # weight of evidence per cell from which a part of a tile is believed
HALO = 6  # cells of the neighbouring tiles that a tile is looked at with
CLEAR = 3  # cells all around an open cell are free
AHEAD = 4.0  # cells in front of a surface that must be free
VOXEL = 0.1  # m: points of one direction within this square become one surfel
DIRECTIONS = 8
MAX_TILES = 65_536  # of one model; more is refused


@dataclass(frozen=True, eq=False)
class Tiles:
    """A model as cells: n tiles of S × S, in the order of their keys."""

    keys: Keys  # (n, 2), (ix, iy), unique
    logits: Singles  # (n, S, S), indexed [y, x]
    evidence: Singles  # (n, P): weight per cell in each of √P × √P parts
    resolution: float  # m per cell

    @property
    def cells(self) -> int:
        """S, cells along a tile's edge."""
        return int(self.logits.shape[-1])


def tiles_of(
    keys: npt.ArrayLike,
    theta: npt.ArrayLike,
    evidence: npt.ArrayLike,
    table: npt.NDArray[np.floating],
    bias: float,
    resolution: float = 0.05,
) -> Tiles:
    """Return the cells of a model, logit = bias + θᵀφ.

    Args:
        keys: (n, 2), tile (ix, iy) begins at S · resolution · (ix, iy).
        theta: (n, K) or (n, K, 1).
        evidence: (n, P), P a square number whose root divides S.
        table: (K, S, S).
        bias: logit of a cell of which nothing is known.
        resolution: m per cell.

    Raises:
        ValueError: if shapes do not fit, numbers are not finite or there are too many tiles.

    """
    keys = np.asarray(keys)
    weights = np.asarray(theta, np.float32)
    weights = weights.reshape((*weights.shape, 1)[:2])
    parts = np.asarray(evidence, np.float32)
    edge = math.isqrt(parts.shape[-1])
    fits = keys.shape == (len(keys), 2) and weights.shape == (len(keys), len(table))
    if not fits or parts.shape != (len(keys), edge**2) or table.shape[1] % max(edge, 1):
        raise ValueError(
            f'keys, theta, evidence have shapes {keys.shape}, {weights.shape}, {parts.shape}, '
            f'expected (n, 2), (n, {len(table)}), (n, P) with a root that divides {table.shape[1]}'
        )
    if len(keys) > MAX_TILES:
        raise ValueError(f'{len(keys)} tiles, expected at most {MAX_TILES}')
    if np.abs(keys.astype(np.int64)).max(initial=0) >= 2**30:
        raise ValueError(f'a key is {np.abs(keys).max()}, expected less than 2³⁰')
    if not (np.isfinite(weights).all() and np.isfinite(parts).all()):
        raise ValueError('theta or evidence holds NaN or infinity, expected finite numbers')
    order = np.argsort(_codes(keys), kind='stable')
    flat = np.float32(bias) + weights[order] @ table.reshape(len(table), -1).astype(np.float32)
    size = table.shape[1]
    return Tiles(
        keys[order].astype(np.int32), flat.reshape(-1, size, size), parts[order], resolution
    )


@dataclass(frozen=True, eq=False)
class Surface:
    """Where walls begin, as surfels, and which cells are open, tile by tile.

    A surfel stands for a piece of wall: position, normal towards free space, metres of wall.
    """

    points: Floats  # (m, 2), m
    normals: Floats  # (m, 2), unit
    lengths: Floats  # (m,), m
    keys: Keys  # (n, 2) of the tiles, sorted
    open: Bytes  # (n, S, S): 1 where the cell and all CLEAR cells around it are free
    resolution: float  # m per cell

    @property
    def length(self) -> float:
        """Metres of wall."""
        return float(self.lengths.sum())

    @property
    def tile(self) -> float:
        """Edge of a tile in m."""
        return float(self.open.shape[-1] * self.resolution)


def surface_of(tiles: Tiles) -> Surface:
    """Find the surface of a model; the time it takes is linear in the number of tiles."""
    size, step = tiles.cells, tiles.resolution
    padded, known = _padded(tiles)
    count = _crossings(padded, known, size, np.empty((0, 6)))
    found = np.empty((count, 6))
    _crossings(padded, known, size, found)
    corner = tiles.keys[found[:, 5].astype(np.int64)].astype(np.float64) * size
    points = (corner + found[:, :2]) * step
    points, normals, lengths = _thinned(points, found[:, 2:4], found[:, 4] * step)
    return Surface(points, normals, lengths, tiles.keys, _open(padded, known, size), step)


def _codes(keys: npt.NDArray[np.integer]) -> Codes:
    return (keys[:, 0].astype(np.int64) << 32) + keys[:, 1].astype(np.int64)


def _padded(tiles: Tiles) -> tuple[Singles, Bytes]:
    """Return logits and whether they are believed (n, S + 2 HALO, S + 2 HALO), with neighbours."""
    n, size = len(tiles.keys), tiles.cells
    edge = math.isqrt(tiles.evidence.shape[1])
    block = size // edge
    firm = (tiles.evidence >= FIRM).reshape(n, edge, edge).astype(np.uint8)
    believed = firm.repeat(block, 1).repeat(block, 2)
    wide = size + 2 * HALO
    logits = np.zeros((n, wide, wide), np.float32)
    known = np.zeros((n, wide, wide), np.uint8)
    codes = _codes(tiles.keys)
    ranges = {-1: (slice(0, HALO), slice(size - HALO, size)),
              0: (slice(HALO, HALO + size), slice(0, size)),
              1: (slice(HALO + size, wide), slice(0, HALO))}  # fmt: skip
    for dx, (to_x, from_x) in ranges.items():
        for dy, (to_y, from_y) in ranges.items():
            wanted = codes + (dx << 32) + dy
            at = np.minimum(np.searchsorted(codes, wanted), max(n - 1, 0))
            here = np.flatnonzero(codes[at] == wanted) if n else at
            logits[here, to_y, to_x] = tiles.logits[at[here], from_y, from_x]
            known[here, to_y, to_x] = believed[at[here], from_y, from_x]
    return logits, known


@compiled
def _probability(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(logit, -30.0), 30.0)))


@compiled
def _crossings(logits: Singles, known: Bytes, size: int, out: Floats) -> int:
    """Walk over edges between neighbouring cell centres and note where the logit crosses LEVEL.

    out: x, y in cells from the tile's corner, normal, length in cells, tile; filled as far as it
    goes. Returns how many there are.
    """
    found = 0
    for tile in range(logits.shape[0]):
        cells, firm = logits[tile], known[tile]
        for row in range(HALO, HALO + size):
            for col in range(HALO, HALO + size):
                if firm[row, col] == 0:
                    continue
                for axis in range(2):
                    r, c = (row, col + 1) if axis == 0 else (row + 1, col)
                    a, b = cells[row, col], cells[r, c]
                    if firm[r, c] == 0 or (a >= LEVEL) == (b >= LEVEL):
                        continue
                    share = (LEVEL - a) / (b - a)
                    # gradient of the probability: Sobel at both ends, weighted
                    gx = gy = 0.0
                    for end in range(2):
                        y, x = (row, col) if end == 0 else (r, c)
                        part = 1.0 - share if end == 0 else share
                        for d in range(-1, 2):
                            w = part * (2.0 if d == 0 else 1.0)
                            gx += w * (
                                _probability(cells[y + d, x + 1])
                                - _probability(cells[y + d, x - 1])
                            )
                            gy += w * (
                                _probability(cells[y + 1, x + d])
                                - _probability(cells[y - 1, x + d])
                            )
                    norm = math.hypot(gx, gy)
                    if norm < 1e-6:
                        continue
                    nx, ny = -gx / norm, -gy / norm
                    px = col + 0.5 + (share if axis == 0 else 0.0)
                    py = row + 0.5 + (share if axis == 1 else 0.0)
                    ax, ay = int(px + AHEAD * nx), int(py + AHEAD * ny)
                    if firm[ay, ax] == 0 or cells[ay, ax] > FREE:
                        continue
                    if found < out.shape[0]:
                        out[found, 0], out[found, 1] = px - HALO, py - HALO
                        out[found, 2], out[found, 3] = nx, ny
                        # a straight wall crosses (|nx| + |ny|) / cell edges per metre
                        out[found, 4] = 1.0 / (abs(nx) + abs(ny))
                        out[found, 5] = tile
                    found += 1
    return found


def _thinned(points: Floats, normals: Floats, lengths: Floats) -> tuple[Floats, Floats, Floats]:
    """Join what lies in one voxel and faces one way; lengths add up."""
    if not len(points):
        return points, normals, lengths
    voxel = np.floor(points / VOXEL).astype(np.int64)
    angle = np.arctan2(normals[:, 1], normals[:, 0])
    facing = np.floor((angle + np.pi) / (2 * np.pi) * DIRECTIONS).astype(np.int64) % DIRECTIONS
    span = np.ptp(voxel, axis=0) + 1
    low = voxel.min(0)
    code = ((voxel[:, 0] - low[0]) * span[1] + voxel[:, 1] - low[1]) * DIRECTIONS + facing
    _, where = np.unique(code, return_inverse=True)
    count = int(where.max()) + 1
    total: Floats = np.bincount(where, lengths, count).astype(np.float64)

    def mean(values: Floats) -> Floats:
        columns = [np.bincount(where, lengths * v, count) / total for v in values.T]
        return np.column_stack(columns)

    facing_mean = mean(normals)
    norm = np.hypot(facing_mean[:, 0], facing_mean[:, 1])
    return mean(points), facing_mean / np.maximum(norm, 1e-9)[:, None], total


def _open(logits: Singles, known: Bytes, size: int) -> Bytes:
    """Return where a square of 2 CLEAR + 1 cells is free, (n, S, S)."""
    free = (known > 0) & (logits < FREE)
    begin = HALO - CLEAR
    rows = free[:, begin : begin + size].copy()
    for d in range(1, 2 * CLEAR + 1):
        rows &= free[:, begin + d : begin + d + size]
    out = rows[:, :, begin : begin + size].copy()
    for d in range(1, 2 * CLEAR + 1):
        out &= rows[:, :, begin + d : begin + d + size]
    return out.astype(np.uint8)
