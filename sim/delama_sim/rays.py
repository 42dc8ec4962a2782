"""Exact ray traversal of an occupancy grid, leaping over empty space."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.distance import chessboard
from delama_ros.geometry.grid import Floats, OccupancyMap


@compiled
def _cast(
    clear: npt.NDArray[np.int8],
    origins: Floats,
    angles: Floats,
    limit: float,
    hits: Floats,
) -> None:
    """Distance in cells to the first solid cell along each ray, or infinity beyond `limit`.

    clear: (rows, cols), chessboard distance to the nearest solid cell, 0 in solid cells. All
    cells closer than that are empty, so a ray may leap to the edge of that square at once: the
    same answer as visiting every cell, in a fraction of the steps.
    """
    rows, cols = clear.shape
    for m in range(angles.shape[0]):
        x, y = origins[m, 0], origins[m, 1]
        for b in range(angles.shape[1]):
            dx, dy = math.cos(angles[m, b]), math.sin(angles[m, b])
            # Slopes too small to matter in any map count as none: their inverse may overflow.
            sideways, upright = abs(dx) > 1e-15, abs(dy) > 1e-15
            inverse_x, inverse_y = 1.0 / dx, 1.0 / dy
            right, up = dx > 0.0, dy > 0.0
            column, row = math.floor(x), math.floor(y)
            t = 0.0
            hit = math.inf
            while 0 <= column < cols and 0 <= row < rows and t <= limit:
                leap = int(clear[row, column])
                if leap == 0:
                    hit = t
                    break
                # distance to the vertical and horizontal edge of the empty square
                if sideways:
                    tx = ((column + leap if right else column - leap + 1) - x) * inverse_x
                else:
                    tx = math.inf
                if upright:
                    ty = ((row + leap if up else row - leap + 1) - y) * inverse_y
                else:
                    ty = math.inf
                # Across, a ray stays inside the square and never turns back. Without these bounds
                # rounding at a corner could send it back and forth for ever.
                if tx < ty:
                    t = tx
                    column += leap if right else -leap
                    across = math.floor(y + dy * t)
                    if up:
                        row = min(max(across, row), row + leap - 1)
                    else:
                        row = max(min(across, row), row - leap + 1)
                else:
                    t = ty
                    row += leap if up else -leap
                    across = math.floor(x + dx * t)
                    if right:
                        column = min(max(across, column), column + leap - 1)
                    else:
                        column = max(min(across, column), column - leap + 1)
            hits[m, b] = hit


@compiled
def _discs(
    origins: Floats, angles: Floats, discs: Floats, own: npt.NDArray[np.int64], hits: Floats
) -> None:
    """Shorten rays that meet a disc (x, y, radius); own[m] is the disc ray bundle m sits in."""
    beams = angles.shape[1]
    cosines, sines = np.empty(beams), np.empty(beams)
    for m in range(angles.shape[0]):
        for b in range(beams):
            cosines[b], sines[b] = math.cos(angles[m, b]), math.sin(angles[m, b])
        for k in range(discs.shape[0]):
            if k == own[m]:
                continue
            cx, cy = discs[k, 0] - origins[m, 0], discs[k, 1] - origins[m, 1]
            gap = cx * cx + cy * cy - discs[k, 2] * discs[k, 2]
            if gap <= 0.0:  # inside the disc: bodies overlap, nothing sensible to see
                continue
            for b in range(beams):
                along = cx * cosines[b] + cy * sines[b]
                inside = along * along - gap
                if along > 0.0 and inside >= 0.0:
                    hits[m, b] = min(hits[m, b], along - math.sqrt(inside))


@compiled
def _walls(clear: npt.NDArray[np.int8], starts: Floats, ends: Floats, counts: Floats) -> None:
    """Count the separate walls each segment crosses, cell by cell."""
    rows, cols = clear.shape
    for m in range(starts.shape[0]):
        x, y = starts[m, 0], starts[m, 1]
        dx, dy = ends[m, 0] - x, ends[m, 1] - y
        column, row = math.floor(x), math.floor(y)
        step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
        tx = (column + (dx > 0) - x) / dx if dx != 0.0 else math.inf
        ty = (row + (dy > 0) - y) / dy if dy != 0.0 else math.inf
        in_wall = False
        count = 0
        while True:
            solid = 0 <= column < cols and 0 <= row < rows and clear[row, column] == 0
            if solid and not in_wall:
                count += 1
            in_wall = solid
            if min(tx, ty) > 1.0:
                break
            if tx < ty:
                column += step_x
                tx += abs(1.0 / dx)
            else:
                row += step_y
                ty += abs(1.0 / dy)
        counts[m] = count


class RayCaster:
    """Casts rays in one map; rays that leave the map or start outside it meet nothing."""

    def __init__(self, occupancy: OccupancyMap) -> None:
        """Prepare to cast rays in an occupancy map."""
        self.map = occupancy
        # Bytes keep the field in the processor's cache; a shorter leap is as exact as a long one.
        self._clear = np.minimum(chessboard(occupancy.solid), 127).astype(np.int8)

    def ranges(
        self,
        origins: npt.ArrayLike,
        angles: npt.ArrayLike,
        limit: float = math.inf,
        *,
        discs: npt.ArrayLike | None = None,
        own: npt.ArrayLike | None = None,
    ) -> Floats:
        """Measure along rays.

        Args:
            origins: (M, 2), m in the world.
            angles: (M, B), rad in the world.
            limit: m beyond which a ray meets nothing.
            discs: (K, 3), round bodies (x, y, radius) that also stop rays.
            own: (M,), index of the disc that belongs to each origin, -1 for none.

        Returns:
            Distances (M, B) in m, +inf where a ray meets nothing.

        Raises:
            ValueError: if the shapes of origins and angles do not fit.
        """
        metres = np.asarray(origins, np.float64)
        bearings = np.ascontiguousarray(angles, np.float64)
        if metres.shape != (bearings.shape[0], 2) or bearings.ndim != 2:
            raise ValueError(
                f'origins {metres.shape} and angles {bearings.shape}, expected (M, 2) and (M, B)'
            )
        hits = np.empty(bearings.shape)
        resolution = self.map.resolution
        _cast(
            self._clear,
            np.ascontiguousarray(self.map.to_grid(metres)),
            bearings - self.map.origin[2] if self.map.origin[2] else bearings,
            limit / resolution,
            hits,
        )
        hits *= resolution
        if discs is not None:
            bodies = np.ascontiguousarray(discs, np.float64)
            whose = np.full(len(metres), -1) if own is None else np.asarray(own)
            _discs(np.ascontiguousarray(metres), bearings, bodies, whose.astype(np.int64), hits)
            hits[hits > limit] = math.inf
        return hits

    def walls_between(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> Floats:
        """Return how many walls (M,) there are between pairs of points.

        Args:
            starts: (M, 2), m in the world.
            ends: (M, 2), m in the world.
        """
        a = np.ascontiguousarray(self.map.to_grid(starts))
        b = np.ascontiguousarray(self.map.to_grid(ends))
        counts = np.zeros(len(a))
        _walls(self._clear, a, b, counts)
        return counts
