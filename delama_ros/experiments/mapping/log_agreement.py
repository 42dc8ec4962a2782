"""How alike two maps are where there is no truth: cell by cell, and against scans held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.grid import UNKNOWN, Bools, Cells, Floats, OccupancyMap, Pose
from delama_ros.mapping.scan import Scan, count_marks, scan_marks

CELL = 0.1  # m, of comparisons
TILE = 12  # cells; evidence is gathered in squares of so many


@dataclass(frozen=True)
class Agreement:
    """Shares 0 .. 1."""

    f1: float  # of the occupied class, over cells that either map knows; unknown is not occupied
    coverage: float  # share of the cells the reference knows that the map knows too


def in_one_frame(maps: Sequence[OccupancyMap]) -> tuple[list[Cells], float, Pose]:
    """Cells of maps of the same tiles, extended to what any of them covers; resolution, origin."""
    resolution = maps[0].resolution
    first = [np.rint(np.array(m.origin[:2]) / resolution).astype(int) for m in maps]
    low = np.min(first, 0)
    high = np.max([at + m.shape[::-1] for at, m in zip(first, maps, strict=True)], 0)
    frames = []
    for at, occupancy in zip(first - low, maps, strict=True):
        rows, columns = occupancy.shape
        cells = np.full((high - low)[::-1], UNKNOWN, np.int8)
        cells[at[1] : at[1] + rows, at[0] : at[0] + columns] = occupancy.cells
        frames.append(cells)
    return frames, resolution, (float(low[0] * resolution), float(low[1] * resolution), 0.0)


def agreement(occupancy: OccupancyMap, reference: OccupancyMap) -> Agreement:
    """Compare a map with another of the same tiles on cells of 0.1 m."""
    frames, resolution, _ = in_one_frame([occupancy, reference])
    (mine, my_known), (theirs, their_known) = (
        _coarse(cells, round(CELL / resolution)) for cells in frames
    )
    both, total = float((mine & theirs).sum()), float(mine.sum() + theirs.sum())
    shared = float((my_known & their_known).sum())
    return Agreement(2 * both / max(total, 1.0), shared / max(float(their_known.sum()), 1.0))


def _coarse(cells: Cells, ratio: int) -> tuple[Bools, Bools]:
    """Which squares of ratio × ratio cells are occupied on average, and which are known at all."""
    rows, columns = (n // ratio for n in cells.shape)
    squares = cells.reshape(rows, ratio, columns, ratio).swapaxes(1, 2)
    occupied: Bools = np.clip(squares, 0, None).mean((2, 3)) >= 50
    known: Bools = (squares != UNKNOWN).any((2, 3))
    return occupied, known


class HeldOut:
    """Cells in which scans nobody learned from ended, and cells they only passed through."""

    def __init__(self, scans: Sequence[tuple[Scan, Pose]]) -> None:
        parts = [
            scan_marks(scan, pose, resolution=CELL, tile_cells=TILE) for scan, pose in scans
        ]
        keys, counts = count_marks(parts)
        passed, hit = counts[:, 0] > 0, counts[:, 1] > 0  # (n, TILE, TILE)
        tile, row, column = np.nonzero(passed | hit)
        self._cells: Floats = np.stack(
            [keys[tile, 0] * TILE + column, keys[tile, 1] * TILE + row], -1
        ).astype(np.float64)
        self._hit: Bools = hit[tile, row, column]

    def f1(self, occupancy: OccupancyMap) -> float:
        """F1 of the occupied class of a map on those cells; unknown is not occupied."""
        quarters = ((0.25, 0.25), (0.25, 0.75), (0.75, 0.25), (0.75, 0.75))
        values = [occupancy.value_at((self._cells + offset) * CELL) for offset in quarters]
        shown = np.clip(values, 0, None).mean(0) >= 50
        both = float((shown & self._hit).sum())
        return 2 * both / max(float(shown.sum() + self._hit.sum()), 1.0)
