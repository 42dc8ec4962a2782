"""The one in-memory form of a plan: an occupancy grid with resolution and origin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.errors import PlanError

FREE = 0
OCCUPIED = 100
UNKNOWN = -1
HALF = 50  # from this probability on a cell is rather occupied than free

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Cells = npt.NDArray[np.int8]
Pose = tuple[float, float, float]  # x m, y m, yaw rad


@dataclass(frozen=True, eq=False)
class OccupancyMap:
    """Cells as in nav_msgs/OccupancyGrid: row 0 has the lowest y, column 0 the lowest x.

    The origin is the world pose of the outer corner of cell (0, 0). A cell holds FREE, OCCUPIED,
    UNKNOWN, or any probability 1..99 that a map file in scale mode brings along.
    """

    cells: Cells  # (rows, cols)
    resolution: float  # m per cell
    origin: Pose = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or self.cells.size == 0:
            raise PlanError(f'map cells have shape {self.cells.shape}, expected (rows, cols) > 0')
        if self.cells.dtype != np.int8:
            raise PlanError(f'map cells are {self.cells.dtype}, expected int8')
        if not (math.isfinite(self.resolution) and self.resolution > 0):
            raise PlanError(f'map resolution is {self.resolution} m, expected more than 0')
        if len(self.origin) != 3 or not all(math.isfinite(v) for v in self.origin):
            raise PlanError(f'map origin is {self.origin}, expected finite (x, y, yaw)')

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.cells.shape[0], self.cells.shape[1]

    @property
    def size(self) -> tuple[float, float]:
        """Width (x) and height (y) in metres."""
        rows, cols = self.shape
        return cols * self.resolution, rows * self.resolution

    @property
    def free(self) -> Bools:
        """Cells known to be free."""
        return np.equal(self.cells, FREE)

    @property
    def solid(self) -> Bools:
        """Cells that stop a laser beam: more likely occupied than not. Unknown does not."""
        return np.greater_equal(self.cells, 50)

    def to_grid(self, points: npt.ArrayLike) -> Floats:
        """World points (..., 2) in metres to continuous (column, row) coordinates (..., 2)."""
        x, y, yaw = self.origin
        p = np.asarray(points, np.float64)
        dx, dy = p[..., 0] - x, p[..., 1] - y
        if yaw:
            c, s = math.cos(yaw), math.sin(yaw)
            dx, dy = c * dx + s * dy, c * dy - s * dx
        return np.stack([dx, dy], -1) / self.resolution

    def to_world(self, coordinates: npt.ArrayLike) -> Floats:
        """Continuous (column, row) coordinates (..., 2) to world points (..., 2) in metres."""
        x, y, yaw = self.origin
        g = np.asarray(coordinates, np.float64) * self.resolution
        gx, gy = g[..., 0], g[..., 1]
        if yaw:
            c, s = math.cos(yaw), math.sin(yaw)
            gx, gy = c * gx - s * gy, s * gx + c * gy
        return np.stack([gx + x, gy + y], -1)

    def cell_of(self, points: npt.ArrayLike) -> tuple[Ints, Ints]:
        """Row and column of the cell that holds each world point; may lie outside the map."""
        index = np.floor(self.to_grid(points)).astype(np.int64)
        return index[..., 1], index[..., 0]

    def centre_of(self, rows: npt.ArrayLike, cols: npt.ArrayLike) -> Floats:
        """World coordinates (..., 2) of cell centres."""
        columns_rows = np.stack([np.asarray(cols) + 0.5, np.asarray(rows) + 0.5], -1)
        return self.to_world(columns_rows)

    def trinary(self) -> OccupancyMap:
        """Return the map as nav2 has it: each known cell is free (0) or occupied (100)."""
        decided = np.where(self.cells >= HALF, OCCUPIED, FREE)
        return self.with_cells(np.where(self.cells < 0, UNKNOWN, decided).astype(np.int8))

    def value_at(self, points: npt.ArrayLike) -> Cells:
        """Cell value under each world point; UNKNOWN outside the map."""
        rows, cols = self.cell_of(points)
        inside = (rows >= 0) & (rows < self.shape[0]) & (cols >= 0) & (cols < self.shape[1])
        values = np.full(rows.shape, UNKNOWN, np.int8)
        values[inside] = self.cells[rows[inside], cols[inside]]
        return values

    def with_cells(self, cells: Cells) -> OccupancyMap:
        """Return the same frame with other contents."""
        return OccupancyMap(cells, self.resolution, self.origin)

    def reduced_to(self, resolution: float) -> OccupancyMap:
        """Return the map on coarser cells: the kind that covers most of a cell wins, walls first.

        A cell at least half covered by walls is OCCUPIED, so wall thickness stays right on
        average; of the others, a cell is FREE where free outweighs unknown.
        """
        if resolution <= self.resolution * 1.001:
            return self
        ratio = resolution / self.resolution
        rows, cols = (math.ceil(n / ratio - 1e-6) for n in self.shape)
        row_of = np.minimum((np.arange(self.shape[0]) + 0.5) / ratio, rows - 1).astype(np.int64)
        col_of = np.minimum((np.arange(self.shape[1]) + 0.5) / ratio, cols - 1).astype(np.int64)
        row_starts = np.searchsorted(row_of, np.arange(rows))
        col_starts = np.searchsorted(col_of, np.arange(cols))

        def count(mask: Bools) -> Ints:
            by_row = np.add.reduceat(mask.astype(np.int64), row_starts, axis=0)
            result: Ints = np.add.reduceat(by_row, col_starts, axis=1)
            return result

        solid, free = count(self.solid), count((self.cells >= 0) & ~self.solid)
        area = count(np.ones(self.shape, np.bool_))
        cells = np.full((rows, cols), UNKNOWN, np.int8)
        cells[free * 2 >= area - solid] = FREE
        cells[(free == 0) & (solid == 0)] = UNKNOWN
        cells[solid * 2 >= area] = OCCUPIED
        return OccupancyMap(cells, resolution, self.origin)
