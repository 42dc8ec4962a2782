"""What a learned map is compared with: occupancy grids by counting, and the best map possible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from delama_ros.experiments.mapping.dataset import CELLS, RESOLUTION, scan_of
from delama_ros.geometry.grid import Bools, Floats, OccupancyMap
from delama_ros.geometry.score import Score
from delama_ros.geometry.truth import SurfaceTruth
from delama_ros.mapping.scan import Keys, count_marks, scan_marks
from delama_ros.mapping.tiles import draw
from delama_sim.protocol import MappingRun

BAND_DEPTH = 0.25  # m behind a seen surface that counts as seen, as in the truth
NEAR = 0.5  # m from what was seen within which a map may be completed
ZONES = ('seen', 'near', 'beyond')


class LogOdds:
    """The usual grid: log-odds of every cell, with walls of an assumed thickness."""

    # Log-odds per scan, and how many bands of 0.1 m behind a hit count as wall: the best of 60
    # combinations for all robots' scans on generated:5000-5024 at t = 12.
    FREE = -0.8
    OCCUPIED = 0.85
    BANDS = 3

    def __init__(self) -> None:
        self._weights = np.array(
            [self.FREE, *([self.OCCUPIED] * (1 + self.BANDS)), *([0.0] * (3 - self.BANDS))]
        )
        self._logits: dict[tuple[int, int], Floats] = {}

    def add(self, run: MappingRun, poses: Floats, step: int, robot: int) -> None:
        """Take in one scan."""
        x, y, yaw = poses[step, robot].tolist()
        part = scan_marks(
            scan_of(run, step, robot), (x, y, yaw), resolution=RESOLUTION, tile_cells=CELLS
        )
        keys, counts = count_marks([part])
        change = np.einsum('e,neyx->nyx', self._weights, counts)
        for (ix, iy), tile in zip(keys.tolist(), change, strict=True):
            self._logits[ix, iy] = self._logits.get((ix, iy), 0.0) + tile

    def occupancy(self) -> OccupancyMap:
        """Draw the grid; cells at log-odds 0 are unknown."""
        keys: Keys = np.array(list(self._logits), np.int32)
        logits = np.stack(list(self._logits.values()))
        return draw(keys, logits, logits != 0, RESOLUTION)


@dataclass
class Seen:
    """Surfaces that a team of robots has hit, on the truth's cells."""

    truth: SurfaceTruth

    def __post_init__(self) -> None:
        self._hit: Bools = np.zeros(self.truth.occupied.shape, np.bool_)

    def add(self, run: MappingRun, step: int, robots: Iterable[int] | None = None) -> None:
        """Take in robots' scans of a step (default: all), from where they really were."""
        for robot in range(run.poses.shape[1]) if robots is None else robots:
            ranges = run.ranges[step, robot].astype(np.float64)
            x, y, yaw = run.poses[step, robot]
            ended = np.isfinite(ranges) & (ranges < run.range_max)
            angles = yaw + run.angles[ended]
            along = ranges[ended, None] * np.stack([np.cos(angles), np.sin(angles)], -1)
            frame = OccupancyMap(
                self._hit.astype(np.int8), self.truth.resolution, self.truth.origin
            )
            rows, cols = frame.cell_of(np.array([x, y]) + along)
            height, width = self._hit.shape
            inside = (rows >= 0) & (rows < height) & (cols >= 0) & (cols < width)
            self._hit[rows[inside], cols[inside]] = True

    def distance(self) -> Floats:
        """Metres from each cell of the truth to the nearest surface that was hit."""
        if not self._hit.any():
            return np.full(self._hit.shape, np.inf)
        cells: Floats = ndimage.distance_transform_edt(~self._hit)
        return cells * self.truth.resolution

    def zones(self) -> dict[str, Bools]:
        """Return cells by how far they are from what was seen: completion starts beyond `seen`."""
        gap = self.distance() - BAND_DEPTH - 1e-6
        return dict(zip(ZONES, (gap <= 0, (gap > 0) & (gap <= NEAR), gap > NEAR), strict=True))

    def ceiling(self) -> Score:
        """Score a perfect map of the surfaces seen, 0.25 m deep."""
        seen = self.truth.occupied & (self.distance() <= BAND_DEPTH + 1e-6)
        recall = float(seen.sum()) / max(float(self.truth.occupied.sum()), 1.0)
        return Score(2 * recall / (1 + recall), 1.0, recall, recall)
