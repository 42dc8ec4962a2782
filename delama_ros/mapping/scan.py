"""Marks that a laser scan leaves in the cells around it, of five kinds (section 6.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.grid import Pose

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.int32]

# Kinds of marks, as bits. A laser sees only the surface of a wall; the cells behind are likely wall
# too, the deeper the less: hence three bands of BAND metres each.
PASSED, HIT, BEHIND_1, BEHIND_2, BEHIND_3 = 1, 2, 4, 8, 16
KINDS = 5
BAND = 0.1


@dataclass(frozen=True)
class Scan:
    """One laser scan, with the meaning of sensor_msgs/LaserScan and REP-117."""

    ranges: Floats  # (B,) m; +Inf: nothing within range, -Inf: too close, NaN: no measurement
    angle_min: float  # rad from the sensor's x axis, counter-clockwise
    angle_increment: float  # rad
    range_min: float  # m
    range_max: float  # m

    def __post_init__(self) -> None:
        numbers = (self.angle_min, self.angle_increment, self.range_min, self.range_max)
        if not all(map(math.isfinite, numbers)):
            raise ValueError(
                'angle_min, angle_increment, range_min, range_max are '
                f'{numbers}, expected finite numbers'
            )
        if not 0.0 <= self.range_min < self.range_max:
            raise ValueError(
                f'range_min {self.range_min} and range_max {self.range_max}, '
                'expected 0 <= range_min < range_max'
            )
        if self.ranges.ndim != 1 or self.ranges.size == 0:
            raise ValueError(f'ranges have shape {self.ranges.shape}, expected (B,), B > 0')


def within(scan: Scan, reach: float) -> Scan:
    """Return a scan limited in range; a beam that goes farther is free up to there.

    Args:
        scan: the scan.
        reach: m; the scan itself is returned if its range_max is no larger.
    """
    if reach >= scan.range_max:
        return scan
    beyond = (scan.ranges >= reach) & (scan.ranges <= scan.range_max)
    wrong = np.isfinite(scan.ranges) & (scan.ranges > scan.range_max)
    ranges = np.where(beyond, np.inf, np.where(wrong, np.nan, scan.ranges))
    return replace(scan, ranges=ranges, range_max=reach)


def shortened(scan: Scan, bias: float) -> Scan:
    """Return a scan without the error of a laser that measures `bias` m too far."""
    return replace(scan, ranges=scan.ranges - bias) if bias else scan


@compiled
def _trace(
    marks: Marks, x: float, y: float, angles: Floats, free: Floats, hits: Floats, band: float
) -> None:
    """Mark every cell that a beam crosses; lengths in cells.

    marks: (rows, cols) window; (x, y): sensor; free: how far each beam is known to pass (0: not
    valid); hits: where it ended, or -1; band: depth of one of the bands behind a hit.
    """
    rows, cols = marks.shape
    for b in range(angles.shape[0]):
        end = hits[b]
        last = end + 3.0 * band if end >= 0.0 else free[b]
        if last <= 0.0:
            continue
        dx, dy = math.cos(angles[b]), math.sin(angles[b])
        column, row = math.floor(x), math.floor(y)
        step_x, step_y = (1 if dx > 0.0 else -1), (1 if dy > 0.0 else -1)
        delta_x = abs(1.0 / dx) if dx != 0.0 else math.inf
        delta_y = abs(1.0 / dy) if dy != 0.0 else math.inf
        next_x = (column + 1 - x if dx > 0.0 else x - column) * delta_x if dx != 0.0 else math.inf
        next_y = (row + 1 - y if dy > 0.0 else y - row) * delta_y if dy != 0.0 else math.inf
        enter = 0.0
        while enter < last and 0 <= column < cols and 0 <= row < rows:
            leave = min(next_x, next_y)
            if end < 0.0 or leave <= end:
                if leave <= free[b]:
                    marks[row, column] |= 1
            elif enter <= end:
                marks[row, column] |= 2
            else:
                depth = 0.5 * (enter + min(leave, last)) - end
                marks[row, column] |= 4 if depth <= band else (8 if depth <= 2.0 * band else 16)
            enter = leave
            if next_x < next_y:
                column += step_x
                next_x += delta_x
            else:
                row += step_y
                next_y += delta_y


def scan_marks(
    scan: Scan,
    pose: Pose,
    *,
    resolution: float,
    tile_cells: int,
    peers: npt.ArrayLike | None = None,
    peer_radius: float = 0.3,
) -> tuple[Keys, Marks]:
    """Mark the cells around the sensor, tile by tile.

    Tile (ix, iy) covers S × S cells of `resolution` metres from cell (S·ix, S·iy) on.

    Args:
        scan: ranges of the beams.
        pose: x, y (m) and yaw (rad) of the sensor in the map frame.
        resolution: m per cell.
        tile_cells: S, cells along the edge of a tile.
        peers: (P, 2), positions (m) of other robots; a beam that ends on one marks free space up to
            there, but no wall.
        peer_radius: m around a peer's position within which a beam ends on it.

    Returns:
        Keys (n, 2) of the tiles with marks, and the marks (n, S, S), indexed [y, x].

    Raises:
        ValueError: if the pose is not finite.
    """
    x, y, yaw = pose
    if not all(map(math.isfinite, pose)):
        raise ValueError(f'pose {pose} is not finite')
    ranges = scan.ranges
    beams = np.arange(ranges.size, dtype=np.float64)
    angles: Floats = yaw + scan.angle_min + scan.angle_increment * beams
    valid = (ranges >= scan.range_min) & (ranges < scan.range_max)
    nothing = np.isposinf(ranges) | (ranges == scan.range_max)  # some drivers send range_max
    free = np.where(valid, ranges, np.where(nothing, scan.range_max, 0.0))
    hits = np.where(valid, ranges, -1.0)
    if peers is not None:
        ends = np.stack([x + hits * np.cos(angles), y + hits * np.sin(angles)], -1)  # (B, 2)
        gaps = np.linalg.norm(ends[:, None] - np.asarray(peers, float).reshape(1, -1, 2), axis=-1)
        hits[valid & (gaps < peer_radius).any(-1)] = -1.0

    reach = float(np.max(np.where(hits >= 0.0, hits + 3 * BAND, free)))
    tile = tile_cells * resolution
    low = np.floor((np.array([x, y]) - reach) / tile).astype(np.int64)
    high = np.floor((np.array([x, y]) + reach) / tile).astype(np.int64) + 1
    columns, rows = (int(n) for n in high - low)
    marks = np.zeros((rows * tile_cells, columns * tile_cells), np.uint8)
    ended = np.where(hits >= 0.0, hits / resolution, -1.0)
    corner = low * tile
    _trace(
        marks,
        (x - corner[0]) / resolution,
        (y - corner[1]) / resolution,
        angles,
        free / resolution,
        ended,
        BAND / resolution,
    )
    tiles = marks.reshape(rows, tile_cells, columns, tile_cells).swapaxes(1, 2)
    iy, ix = np.nonzero(tiles.any((2, 3)))
    keys = np.stack([ix + low[0], iy + low[1]], -1).astype(np.int32)
    return keys, tiles[iy, ix]


def count_marks(parts: list[tuple[Keys, Marks]]) -> tuple[Keys, npt.NDArray[np.uint16]]:
    """Count the marks of several scans: keys (n, 2) of tiles, counts (n, KINDS, S, S)."""
    keys, where = np.unique(np.concatenate([k for k, _ in parts]), axis=0, return_inverse=True)
    counts = np.zeros((len(keys), KINDS, *parts[0][1].shape[1:]), np.uint16)
    bits = np.arange(KINDS, dtype=np.uint8)[:, None, None]
    begin = 0
    for part, marks in parts:  # the keys of one scan are unique, so += is safe
        counts[where[begin : begin + len(part)]] += marks[:, None] >> bits & 1
        begin += len(part)
    return keys, counts
