"""Map tiles as linear models over a shared table of features, for numpy (robots) and torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.core.backend import Array, Scalar, double, single, xp
from delama_ros.geometry.grid import UNKNOWN, OccupancyMap
from delama_ros.mapping.scan import KINDS, Floats, Keys

PARTS = 6  # along the edge of a tile: how finely evidence is located in messages
LOOKED = 0.001  # evidence from which a part counts as seen
FIRM = 0.02  # evidence from which a part shows whether two robots see the same


@dataclass(frozen=True, eq=False)
class TileModel:
    """logit p(occupied) of a cell = bias + θᵀφ(cell), with θ of its tile and φ from the table.

    The logistic loss, expanded at θ = 0 as in (14) and (15), is a least-squares problem: a mark of
    some kind states, with a weight, how far the cell's logit is from the bias. Table, weights,
    targets and bias are meta-learned and the same for all robots and tiles; only θ is exchanged.
    On a robot they are numpy arrays, while they are being learned tensors.
    """

    table: Array  # (K, S, S), indexed [feature, y, x]
    weights: Array  # (KINDS,), > 0: how much a mark of each kind counts
    targets: Array  # (KINDS,): deviation of the logit from the bias that each kind stands for
    bias: Scalar
    resolution: float = 0.05  # m per cell

    def __post_init__(self) -> None:
        if self.table.ndim != 3 or self.table.shape[1] != self.table.shape[2]:
            raise ValueError(f'table has shape {self.table.shape}, expected (K, S, S)')
        if self.weights.shape != (KINDS,) or not (self.weights > 0).all():
            raise ValueError(f'weights of marks are {self.weights}, expected {KINDS} above 0')
        if self.targets.shape != (KINDS,) or not xp(self.targets).isfinite(self.targets).all():
            raise ValueError(f'targets of marks are {self.targets}, expected {KINDS} numbers')

    @property
    def cells(self) -> int:
        """S, cells along a tile's edge."""
        return int(self.table.shape[1])

    def statistics(self, counts: Array) -> tuple[Array, Array, Array]:
        """Return what an agent observes.

        Args:
            counts: (..., n, KINDS, S, S), how many scans left each kind of mark in each cell;
                in float64, such as weighted ones, they give sums in float64.

        Returns:
            H (..., n, K, K) and r = −g (..., n, K, 1) of the loss at θ = 0, and the evidence
            (..., n, P): weight of the marks per cell, averaged over each part.
        """
        lead = counts.shape[:-3]
        weights = xp(self.weights).stack((self.weights, self.weights * self.targets))
        cast = double if counts.dtype == np.float64 else single
        sums = cast(weights) @ cast(counts.reshape(*lead, KINDS, -1))  # (..., 2, S²)
        return self.least_squares(sums[..., 0, :], sums[..., 1, :])

    def least_squares(self, weight: Array, slope: Array) -> tuple[Array, Array, Array]:
        """Return what an agent observes where cells are known to deviate from the bias.

        Args:
            weight: (..., n, S²), of what is known about a cell, row by row; float64 gives sums in
                float64.
            slope: (..., n, S²), weight times the deviation of the logit.

        Returns:
            H (..., n, K, K), r (..., n, K, 1) and the evidence (..., n, P).
        """
        exact = weight.dtype == np.float64
        features, products = self._exact_features if exact else self._features
        hessian = (weight @ products)[..., _pairs(len(features))]
        cells = weight.reshape(*weight.shape[:-1], self.cells, self.cells)
        return double(hessian), double((slope @ features.T)[..., None]), double(part_means(cells))

    @cached_property
    def _features(self) -> tuple[Array, Array]:
        """φ (K, S²) and φ_k φ_l of all pairs k <= l, (S², pairs): H is one product with them.

        Single precision is ample for sums over the cells of a tile; λ1 is far above its rounding.
        """
        return _with_products(single(self.table.reshape(len(self.table), -1)))

    @cached_property
    def _exact_features(self) -> tuple[Array, Array]:
        """The same in float64: what is subtracted later must leave nothing behind."""
        return _with_products(self.table.reshape(len(self.table), -1))

    @cached_property
    def part_table(self) -> Array:
        """Mean of each feature in each part, (P, K)."""
        return part_means(self.table).T

    @cached_property
    def part_matrices(self) -> Array:
        """Σ φ φᵀ over the cells of each part, (P, K, K): H of evidence 1 in each of them."""
        size = self.cells // PARTS
        cut = self.table.reshape(-1, PARTS, size, PARTS, size)
        lib = xp(cut)
        parts = lib.moveaxis(cut, (1, 3), (0, 1)).reshape(PARTS**2, -1, size**2)
        return parts @ lib.swapaxes(parts, -1, -2)

    def deviations(self, theta: Array) -> Array:
        """Return how far each cell's logit is from the bias, θᵀφ: (..., K, 1) → (..., S, S)."""
        flat = theta[..., 0] @ self.table.reshape(len(self.table), -1)
        return flat.reshape(*theta.shape[:-2], self.cells, self.cells)

    def occupancy(
        self, keys: Keys, theta: Floats, evidence: Floats, *, least: float = LOOKED
    ) -> OccupancyMap:
        """Draw the map.

        Args:
            keys: (n, 2), of the tiles.
            theta: (n, K, 1).
            evidence: (n, P), behind each part of a tile.
            least: evidence below which a part is unknown.

        Returns:
            Occupancy 0..100 or unknown, just large enough for all tiles.
        """
        size = self.cells // PARTS
        looked = (evidence >= least).reshape(-1, PARTS, PARTS).repeat(size, 1).repeat(size, 2)
        return draw(keys, self.bias + self.deviations(theta), looked, self.resolution)


def _with_products(features: Array) -> tuple[Array, Array]:
    """Return features (K, S²) and the products of all pairs of them, (S², pairs)."""
    upper, lower = np.triu_indices(len(features))
    products = (features[upper] * features[lower]).T
    return features, np.ascontiguousarray(products) if xp(products) is np else products


def draw(
    keys: Keys, logits: Floats, known: npt.NDArray[np.bool_], resolution: float
) -> OccupancyMap:
    """Draw tiles of logits (n, S, S): 0..100 where known (n, S, S), otherwise unknown."""
    percent = np.rint(100.0 / (1.0 + np.exp(-logits))).astype(np.int8)
    percent[~known] = UNKNOWN
    low = keys.min(0) if len(keys) else np.zeros(2, np.int32)
    tile = logits.shape[-1] * resolution
    origin = (float(low[0]) * tile, float(low[1]) * tile, 0.0)
    return OccupancyMap(assemble(keys, percent, UNKNOWN), resolution, origin)


def part_means(values: Array) -> Array:
    """Return means over the parts of tiles, (..., S, S) → (..., P)."""
    size = values.shape[-1] // PARTS
    cut = values.reshape(*values.shape[:-2], PARTS, size, PARTS, size)
    return cut.mean((-3, -1)).reshape(*values.shape[:-2], PARTS**2)


@lru_cache(maxsize=8)
def _pairs(features: int) -> npt.NDArray[np.intp]:
    """Return which of the pairs k <= l each entry (k, l) of a symmetric matrix is, (K, K)."""
    upper, lower = np.triu_indices(features)
    index = np.empty((features, features), np.intp)
    index[upper, lower] = index[lower, upper] = np.arange(len(upper))
    return index


def assemble(keys: Keys, tiles: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
    """Return tiles (n, S, S) as one grid that just holds them, at least one tile large."""
    size = tiles.shape[-1]
    low = keys.min(0) if len(keys) else np.zeros(2, np.int32)
    high = keys.max(0) + 1 if len(keys) else low + 1
    columns, rows = (int(n) for n in high - low)
    grid = np.full((rows, columns, size, size), empty, tiles.dtype)
    grid[keys[:, 1] - low[1], keys[:, 0] - low[0]] = tiles
    return np.ascontiguousarray(grid.swapaxes(1, 2).reshape(rows * size, columns * size))
