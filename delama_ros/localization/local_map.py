"""The map a scan is matched against: surfels in a grid, and a likelihood field with directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.localization.se2 import Floats, compiled
from delama_ros.localization.surfels import Surfels

Bytes = npt.NDArray[np.uint8]
Links = npt.NDArray[np.int32]
CELL = 0.1  # m, of the surfel grid
CHANNELS = 4  # directions a surface can face, 90° apart
OVERLAP = math.cos(math.radians(75.0))  # a surfel shows in channels within 75° of its normal
MERGE_ACROSS = 0.05  # m, surfels of one cell that lie closer across the surface become one
MARGIN = 1.0  # m of empty cells around the surfels


@dataclass(frozen=True, eq=False)
class LocalMap:
    """Surfels (M, ·) in the map frame with their grid, and a field (4, ny, nx) for searching."""

    points: Floats  # (M, 2) m
    normals: Floats  # (M, 2)
    cosines: Floats  # (M,) mean of the angles at which beams met each
    low: Floats  # (2,) corner of both grids, m
    head: Links  # (ny, nx) first surfel of a cell or -1
    after: Links  # (M,) next surfel of the same cell or -1
    field: Bytes  # (4, fy, fx) likelihood 0..255 that a surface facing that way is here
    resolution: float  # m, of the field

    def __len__(self) -> int:
        return len(self.points)


def build_map(
    scans: Sequence[Surfels],
    poses: Floats,
    centre: Floats,
    reach: float,
    resolution: float | None = None,
) -> LocalMap:
    """Put the surfels of several scans into one map.

    Args:
        scans: surfels of K scans, each in its base frame.
        poses: (K, 3) of these scans in the map frame.
        centre: (2,) around which the map reaches `reach` metres.
        reach: m, surfels farther from the centre along x or y are left out.
        resolution: m, cell size of the likelihood field; None for a map that is never searched.

    Returns:
        The map; surfels that agree within a cell are merged.

    """
    counts = [len(s) for s in scans]
    points = np.concatenate([s.points for s in scans]) if scans else np.empty((0, 2))
    normals = np.concatenate([s.normals for s in scans]) if scans else np.empty((0, 2))
    weights = np.concatenate([s.weights for s in scans]) if scans else np.empty(0)
    cosines = np.concatenate([s.cosines for s in scans]) if scans else np.empty(0)
    each = np.repeat(poses, counts, axis=0)
    points, normals = _place(points, normals, each)
    kept = (np.abs(points - centre) < reach).all(1)
    points, normals, weights, cosines = points[kept], normals[kept], weights[kept], cosines[kept]
    if len(points):
        low, high = points.min(0) - MARGIN, points.max(0) + MARGIN
    else:
        low, high = centre - MARGIN, centre + MARGIN
    low = np.floor(low / CELL) * CELL
    nx, ny = (int(v) for v in np.ceil((high - low) / CELL))
    merged, facing, angles, head, after = _merge(points, normals, weights, cosines, low, nx, ny)
    if resolution is None:
        field, resolution = np.zeros((CHANNELS, 1, 1), np.uint8), 1.0
    else:
        field = _field(merged, facing, low, nx, ny, resolution)
    return LocalMap(merged, facing, angles, low, head, after, field, resolution)


@compiled
def _place(points: Floats, normals: Floats, poses: Floats) -> tuple[Floats, Floats]:
    out_p, out_n = np.empty_like(points), np.empty_like(normals)
    for i in range(len(points)):
        c, s = math.cos(poses[i, 2]), math.sin(poses[i, 2])
        out_p[i, 0] = poses[i, 0] + c * points[i, 0] - s * points[i, 1]
        out_p[i, 1] = poses[i, 1] + s * points[i, 0] + c * points[i, 1]
        out_n[i, 0] = c * normals[i, 0] - s * normals[i, 1]
        out_n[i, 1] = s * normals[i, 0] + c * normals[i, 1]
    return out_p, out_n


@compiled
def _merge(
    points: Floats, normals: Floats, weights: Floats, cosines: Floats, low: Floats, nx: int, ny: int
) -> tuple[Floats, Floats, Floats, Links, Links]:
    head = np.full((ny, nx), -1, np.int32)
    after = np.full(len(points), -1, np.int32)
    total_p, total_n = np.zeros((len(points), 2)), np.zeros((len(points), 2))
    total, total_c = np.zeros(len(points)), np.zeros(len(points))
    m = 0
    for i in range(len(points)):
        ix = int((points[i, 0] - low[0]) / CELL)
        iy = int((points[i, 1] - low[1]) / CELL)
        k = head[iy, ix]
        while k >= 0:
            length = math.sqrt(total_n[k, 0] ** 2 + total_n[k, 1] ** 2)
            nx_, ny_ = total_n[k, 0] / length, total_n[k, 1] / length
            same = nx_ * normals[i, 0] + ny_ * normals[i, 1]
            across = nx_ * (points[i, 0] - total_p[k, 0] / total[k]) + ny_ * (
                points[i, 1] - total_p[k, 1] / total[k]
            )
            if same > 0.8 and abs(across) < MERGE_ACROSS:
                break
            k = after[k]
        if k < 0:
            k = m
            m += 1
            after[k] = head[iy, ix]
            head[iy, ix] = k
        w = weights[i]
        total[k] += w
        total_c[k] += w * cosines[i]
        for axis in range(2):
            total_p[k, axis] += w * points[i, axis]
            total_n[k, axis] += w * normals[i, axis]
    for k in range(m):
        length = math.sqrt(total_n[k, 0] ** 2 + total_n[k, 1] ** 2)
        for axis in range(2):
            total_p[k, axis] /= total[k]
            total_n[k, axis] /= length
        total_c[k] /= total[k]
    return total_p[:m].copy(), total_n[:m].copy(), total_c[:m].copy(), head, after[:m].copy()


@compiled
def _field(
    points: Floats, normals: Floats, low: Floats, nx: int, ny: int, resolution: float
) -> Bytes:
    per = CELL / resolution
    fx, fy = math.ceil(nx * per), math.ceil(ny * per)
    field = np.zeros((CHANNELS, fy, fx), np.uint8)
    sigma = 1.2 * resolution
    for i in range(len(points)):
        cx = int((points[i, 0] - low[0]) / resolution)
        cy = int((points[i, 1] - low[1]) / resolution)
        for jy in range(max(cy - 3, 0), min(cy + 4, fy)):
            for jx in range(max(cx - 3, 0), min(cx + 4, fx)):
                dx = low[0] + (jx + 0.5) * resolution - points[i, 0]
                dy = low[1] + (jy + 0.5) * resolution - points[i, 1]
                across = dx * normals[i, 0] + dy * normals[i, 1]
                along = max(abs(dx * normals[i, 1] - dy * normals[i, 0]) - 0.5 * CELL, 0.0)
                value = np.uint8(
                    255.0 * math.exp(-0.5 * (across * across + along * along) / (sigma * sigma))
                )
                for c in range(CHANNELS):
                    facing = (normals[i, 0], normals[i, 1], -normals[i, 0], -normals[i, 1])[c]
                    if facing > OVERLAP and value > field[c, jy, jx]:
                        field[c, jy, jx] = value
    return field


@compiled
def channel(nx: float, ny: float) -> int:
    """Channel whose axis (+x, +y, -x, -y) is nearest to a normal."""
    if abs(nx) >= abs(ny):
        return 0 if nx >= 0.0 else 2
    return 1 if ny >= 0.0 else 3
