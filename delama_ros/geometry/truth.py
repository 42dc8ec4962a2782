"""The truth a learned map is scored against: the surfaces a robot could see."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.distance import euclidean
from delama_ros.geometry.grid import Bools, OccupancyMap, Pose


@dataclass(frozen=True, eq=False)
class SurfaceTruth:
    """Grids (rows, cols), row 0 at the lowest y, in the frame of the map they came from."""

    occupied: Bools  # solid and close enough to free space to be a surface
    known: Bools  # surface or free; what lies deeper in walls or outside is neither
    resolution: float
    origin: Pose


def surface_truth(
    occupancy: OccupancyMap, resolution: float = 0.1, depth: float = 0.25
) -> SurfaceTruth:
    """Solid cells within `depth` metres of free space, on cells of `resolution` metres.

    The band is measured on the map's own cells; a coarse cell counts as occupied (known) if at
    least half of the points sampled evenly in it are.
    """
    free, solid = occupancy.free, occupancy.solid
    reach = depth / occupancy.resolution + 1e-6
    surface = solid & (euclidean(free) <= reach)
    ratio = resolution / occupancy.resolution
    rows, cols = (math.ceil(n / ratio - 1e-6) for n in occupancy.shape)
    samples = max(1, math.ceil(ratio - 1e-6))
    offsets = (np.arange(samples) + 0.5) / samples

    def indices(coarse: int, fine: int) -> tuple[np.ndarray, Bools]:
        at = ((np.arange(coarse)[:, None] + offsets) * ratio).astype(np.int64).ravel()
        return np.minimum(at, fine - 1), at < fine

    row_at, row_in = indices(rows, occupancy.shape[0])
    col_at, col_in = indices(cols, occupancy.shape[1])

    def half(mask: Bools) -> Bools:
        taken = mask[np.ix_(row_at, col_at)] & row_in[:, None] & col_in
        counts = taken.reshape(rows, samples, cols, samples).sum((1, 3))
        result: Bools = counts * 2 >= samples * samples
        return result

    return SurfaceTruth(half(surface), half(surface | free), resolution, occupancy.origin)
