"""Where a round robot can drive, and cheapest ways to get there that keep off the walls."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.distance import euclidean
from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import Array, Bools, Floats, Ints, OccupancyMap

PITCH = 0.05  # m, side of a planning cell: at 0.1 m robots miss doors of 0.5 m
SPACING = 0.05  # m between points of a way, at most
TENTHS = 10
COMFORT = 0.4  # m of extra clearance beyond which driving costs no more


@compiled
def _route(
    cost: Floats, drivable: Bools, targets: Bools, start: int, least: float
) -> npt.NDArray[np.int64]:
    """Cells from `start` to the cheapest target at least `least` away (Dijkstra, 8 neighbours).

    Targets nearer than that serve if there is no other; an empty route means there is none.
    Costs are rounded to tenths of a cell, so that a ring of buckets can stand in for a heap.
    """
    rows, cols = cost.shape
    size = rows * cols
    spent = np.full(size, 1 << 30, np.int64)
    parent = np.full(size, -1, np.int64)
    ring = int(cost.max() * TENTHS * 1.5) + 2  # more than any one step can cost
    heads = np.full(ring, -1, np.int64)  # first entry of each bucket
    following = np.empty(8 * size + 1, np.int64)  # next entry of the same bucket
    entries = np.empty(8 * size + 1, np.int64)  # cells
    spent[start] = 0
    heads[0], following[0], entries[0] = 0, -1, start
    made = waiting = 1
    now = 0
    goal, near = -1, -1
    while waiting > 0:
        entry = heads[now % ring]
        if entry < 0:
            now += 1
            continue
        heads[now % ring] = following[entry]
        waiting -= 1
        here = entries[entry]
        if spent[here] != now:  # a cheaper way was found since
            continue
        row, col = here // cols, here % cols
        if targets[row, col] and here != start:
            if now >= least * TENTHS:
                goal = here
                break
            near = here  # the farthest of those too near
        for dr in range(-1, 2):
            for dc in range(-1, 2):
                r, c = row + dr, col + dc
                if not (0 <= r < rows and 0 <= c < cols) or not drivable[r, c]:
                    continue
                # no cutting of corners
                if dr != 0 and dc != 0 and not (drivable[row, c] and drivable[r, col]):
                    continue
                there = r * cols + c
                length = math.sqrt(2.0) if dr != 0 and dc != 0 else 1.0
                step = length * 0.5 * (cost[row, col] + cost[r, c])
                total = now + max(1, int(step * TENTHS + 0.5))
                if total < spent[there]:
                    spent[there] = total
                    parent[there] = here
                    entries[made], following[made] = there, heads[total % ring]
                    heads[total % ring] = made
                    made += 1
                    waiting += 1
    if goal < 0:
        goal = near
    length_in_cells = 0
    at = goal
    while at >= 0:
        length_in_cells += 1
        at = parent[at]
    route = np.empty(length_in_cells, np.int64)
    at = goal
    for k in range(length_in_cells - 1, -1, -1):
        route[k] = at
        at = parent[at]
    return route


@compiled
def _smooth(points: Floats, clearance: Floats, need: float, rounds: int) -> None:
    """Pull each point towards the middle of its neighbours while it keeps its clearance.

    points: (n, 2) in (column, row) coordinates of the fine map; the ends stay.
    """
    for _ in range(rounds):
        for k in range(1, points.shape[0] - 1):
            x = 0.5 * points[k, 0] + 0.25 * (points[k - 1, 0] + points[k + 1, 0])
            y = 0.5 * points[k, 1] + 0.25 * (points[k - 1, 1] + points[k + 1, 1])
            if clearance[int(y), int(x)] >= need:
                points[k, 0], points[k, 1] = x, y


class Planner:
    """Plans for one robot size in one map; shared by all robots of that size."""

    def __init__(self, occupancy: OccupancyMap, radius: float) -> None:
        self.map = occupancy
        # Distances are between cell centres: half a diagonal of the cell the robot's centre is
        # in and of the wall cell may be missing, and half the way between two path points.
        self._stride = max(1, round(PITCH / occupancy.resolution))
        self._need = radius + math.sqrt(2.0) * occupancy.resolution + SPACING / 2
        blocked = np.pad(~occupancy.free, 1, constant_values=True)  # as is all outside the map
        self._clearance: Floats = euclidean(blocked)[1:-1, 1:-1] * occupancy.resolution
        blocks = self._blocks(self._clearance)
        labels, count = ndimage.label(blocks >= self._need)
        if count == 0:
            raise PlanError(
                f'the plan has no place for a robot of radius {radius} m, '
                f'widest clearance is {self._clearance.max():.2f} m'
            )
        # Robots live in the largest connected part, so that any two could meet.
        self.drivable: Bools = labels == 1 + int(np.argmax(np.bincount(labels.ravel())[1:]))
        # A planning cell is opaque where anything in it is solid.
        self.opaque: Bools = self._blocks(~occupancy.solid) == 0
        tight = np.clip(1.0 - (blocks - self._need) / COMFORT, 0.0, 1.0)
        self.cost: Floats = 1.0 + 2.0 * tight

    def _blocks(self, fine: Array) -> Array:
        """Least value in each planning cell; fine rows and columns left over are not used."""
        n = self._stride
        rows, cols = fine.shape[0] // n, fine.shape[1] // n
        if rows == 0 or cols == 0:
            raise PlanError(f'the plan has {fine.shape} cells, too few to plan in')
        # Strided minima are several times faster than reducing two axes of a reshaped array.
        parts = [fine[i : rows * n : n, j : cols * n : n] for i in range(n) for j in range(n)]
        result: Array = np.minimum.reduce(parts)
        return result

    @property
    def pitch(self) -> float:
        """Side of a planning cell in metres."""
        return self._stride * self.map.resolution

    def cell_of(self, point: npt.ArrayLike) -> tuple[int, int]:
        """Planning cell (row, column) that holds a world point."""
        col, row = np.floor(self.map.to_grid(point) / self._stride).astype(int)
        return int(row), int(col)

    def is_drivable(self, point: npt.ArrayLike) -> bool:
        """Whether a robot can stand at a world point and reach the rest from there."""
        row, col = self.cell_of(point)
        rows, cols = self.drivable.shape
        return 0 <= row < rows and 0 <= col < cols and bool(self.drivable[row, col])

    def nearest(self, point: npt.ArrayLike) -> Floats:
        """Return the point itself if a robot can be there, else the nearest one (2,) it can."""
        wanted = np.asarray(point, np.float64)
        if self.is_drivable(wanted):
            return wanted
        col, row = self.map.to_grid(wanted) / self._stride - 0.5
        rows, cols = np.nonzero(self.drivable)
        best = int(np.argmin((rows - row) ** 2 + (cols - col) ** 2))
        return self.map.to_world(np.array([cols[best] + 0.5, rows[best] + 0.5]) * self._stride)

    def random_point(self, rng: np.random.Generator) -> Floats:
        """Draw a world point (2,) uniformly from where a robot can be."""
        rows, cols = np.nonzero(self.drivable)
        pick = int(rng.integers(len(rows)))
        inside = rng.uniform(0.05, 0.95, 2)
        spot = np.array([cols[pick], rows[pick]]) + inside
        return self.map.to_world(spot * self._stride)

    def route(
        self,
        start: npt.ArrayLike,
        targets: Bools,
        *,
        cost: Floats | None = None,
        least: float = 0.0,
        smoothing: int = 100,
    ) -> Floats:
        """Smooth way (n, 2) in world metres to the cheapest target cell; (1, 2) if there is none.

        targets: planning cells (rows, cols). least: metres (weighted by cost) below which a
        target is too near to be worth a leg. Points are at most 5 cm apart.
        """
        here = np.asarray(start, np.float64)
        if not self.is_drivable(here):
            raise PlanError(f'no robot can drive from {tuple(here.round(3).tolist())} m')
        row, col = self.cell_of(here)
        cols = self.drivable.shape[1]
        field = self.cost if cost is None else cost
        cells = _route(field, self.drivable, targets, row * cols + col, least / self.pitch)
        if len(cells) < 2:
            return here[None]
        knots = np.concatenate([self.map.to_grid(here)[None], _centres(cells, cols) * self._stride])
        points = _resampled(knots, SPACING / self.map.resolution)
        _smooth(points, self._clearance, self._need, smoothing)
        return self.map.to_world(points)


def _centres(cells: Ints, cols: int) -> Floats:
    return np.stack([cells % cols + 0.5, cells // cols + 0.5], -1)


def _resampled(knots: Floats, spacing: float) -> Floats:
    """Points on a polyline at even steps of at most `spacing`, ends included."""
    steps = np.hypot(*np.diff(knots, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    count = max(2, math.ceil(at[-1] / spacing) + 1)
    where = np.linspace(0.0, at[-1], count)
    return np.stack([np.interp(where, at, knots[:, 0]), np.interp(where, at, knots[:, 1])], -1)
