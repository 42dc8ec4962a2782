"""Map tiles as linear models over a shared table of features: from evidence to memory to map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.mapping.evidence import KINDS, Floats, Keys
from delama_sim.grid import UNKNOWN, OccupancyMap

Singles = npt.NDArray[np.float32]

PARTS = 6  # along a tile's edge: how finely robots tell where their evidence is
LOOKED = 0.001  # weight of evidence per cell from which a part counts as seen
FIRM = 0.02  # and from which it is good enough to tell whether two robots see the same


@dataclass(frozen=True, eq=False)
class TileModel:
    """logit p(occupied) of a cell = bias + θᵀφ(cell), with θ of its tile and φ from the table.

    The logistic loss at θ = 0 is a least-squares problem (eq. 9-11): evidence of a kind says, with
    a weight, how far a cell's logit is from the bias. Table, weights, targets and bias are
    meta-learned and the same for all robots and tiles; only θ crosses the air.
    """

    table: Floats  # (K, S, S), indexed [feature, y, x]
    weights: Floats  # (KINDS,), > 0: how much one scan's evidence of a kind counts
    targets: Floats  # (KINDS,): deviation of the logit from the bias that a kind speaks for
    bias: float
    resolution: float = 0.05  # m per cell

    def __post_init__(self) -> None:
        if self.table.ndim != 3 or self.table.shape[1] != self.table.shape[2]:
            raise ValueError(f'table has shape {self.table.shape}, expected (K, S, S)')
        if self.weights.shape != (KINDS,) or not (self.weights > 0).all():
            raise ValueError(f'evidence weights are {self.weights}, expected {KINDS} above 0')
        if self.targets.shape != (KINDS,) or not np.isfinite(self.targets).all():
            raise ValueError(f'evidence targets are {self.targets}, expected {KINDS} numbers')

    @property
    def cells(self) -> int:
        """S, cells along a tile's edge."""
        return int(self.table.shape[1])

    def statistics(self, counts: npt.NDArray[np.uint16]) -> tuple[Floats, Floats, Floats]:
        """Return what an agent observes, for counts (n, KINDS, S, S).

        H (n, K, K) and r = −g (n, K, 1) of the loss at θ = 0, and the weight of evidence per cell
        in each part (n, P).
        """
        weights = np.stack([self.weights, self.weights * self.targets]).astype(np.float32)
        sums = weights @ counts.reshape(len(counts), KINDS, -1).astype(np.float32)  # (n, 2, S²)
        features, products = self._features
        upper, lower = np.triu_indices(len(features))
        hessian = np.empty((len(counts), len(features), len(features)))
        hessian[:, upper, lower] = hessian[:, lower, upper] = sums[:, 0] @ products
        slope = sums[:, 1] @ features.T
        evidence = part_means(sums[:, 0].reshape(-1, self.cells, self.cells))
        return hessian, slope[..., None].astype(np.float64), evidence.astype(np.float64)

    @cached_property
    def _features(self) -> tuple[Singles, Singles]:
        """φ (K, S²) and φ_k φ_l of all pairs k <= l, (S², pairs): H is one product with them.

        Single precision is ample for sums over a tile's cells; λ1 is far above its rounding.
        """
        features = self.table.reshape(len(self.table), -1).astype(np.float32)
        upper, lower = np.triu_indices(len(features))
        return features, np.ascontiguousarray((features[upper] * features[lower]).T)

    @cached_property
    def part_table(self) -> Floats:
        """Mean of each feature in each part, (P, K)."""
        return part_means(self.table).T

    @cached_property
    def part_matrices(self) -> Floats:
        """Σ φ φᵀ over the cells of each part, (P, K, K): H of evidence 1 in each of them."""
        pairs = part_means(self.table[:, None] * self.table[None])  # (K, K, P)
        return np.moveaxis(pairs, -1, 0) * (self.cells // PARTS) ** 2

    def deviations(self, theta: Floats) -> Floats:
        """θᵀφ of each cell: how far its logit is from the bias, (n, K, 1) → (n, S, S)."""
        flat = theta[..., 0] @ self.table.reshape(len(self.table), -1)
        return flat.reshape(len(theta), self.cells, self.cells)

    def occupancy(
        self, keys: Keys, theta: Floats, evidence: Floats, *, least: float = LOOKED
    ) -> OccupancyMap:
        """Draw the map: 0..100, and unknown in parts with less than this evidence (n, P)."""
        size = self.cells // PARTS
        looked = (evidence >= least).reshape(-1, PARTS, PARTS).repeat(size, 1).repeat(size, 2)
        return draw(keys, self.bias + self.deviations(theta), looked, self.resolution)


def draw(
    keys: Keys, logits: Floats, known: npt.NDArray[np.bool_], resolution: float
) -> OccupancyMap:
    """Draw tiles of logits (n, S, S) as 0..100, and as unknown where nothing is known."""
    percent = np.rint(100.0 / (1.0 + np.exp(-logits))).astype(np.int8)
    percent[~known] = UNKNOWN
    low = keys.min(0) if len(keys) else np.zeros(2, np.int32)
    tile = logits.shape[-1] * resolution
    origin = (float(low[0]) * tile, float(low[1]) * tile, 0.0)
    return OccupancyMap(assemble(keys, percent, UNKNOWN), resolution, origin)


def part_means(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return means over the parts of tiles (..., S, S), (..., P)."""
    size = values.shape[-1] // PARTS
    cut = values.reshape(*values.shape[:-2], PARTS, size, PARTS, size)
    means: npt.NDArray[Any] = cut.mean((-3, -1)).reshape(*values.shape[:-2], PARTS**2)
    return means


def assemble(keys: Keys, tiles: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
    """Lay tiles (n, S, S) out as one grid that just holds them; at least one tile large."""
    size = tiles.shape[-1]
    low = keys.min(0) if len(keys) else np.zeros(2, np.int32)
    high = keys.max(0) + 1 if len(keys) else low + 1
    columns, rows = (int(n) for n in high - low)
    grid = np.full((rows, columns, size, size), empty, tiles.dtype)
    grid[keys[:, 1] - low[1], keys[:, 0] - low[0]] = tiles
    return np.ascontiguousarray(grid.swapaxes(1, 2).reshape(rows * size, columns * size))


def hat_table(per_edge: int = 8, cells: int = 24) -> Floats:
    """Features that need no training: overlapping pyramids on a per_edge × per_edge lattice."""
    centres = (np.arange(per_edge) + 0.5) * cells / per_edge
    position = np.arange(cells) + 0.5
    hats = np.clip(1.0 - np.abs(position - centres[:, None]) * per_edge / cells, 0.0, None)
    table: Floats = np.einsum('iy,jx->ijyx', hats, hats).reshape(per_edge**2, cells, cells)
    return table
