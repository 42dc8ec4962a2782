"""Correlative search: the pose in a window around a prediction at which a scan fits a map best."""

from __future__ import annotations

import math

import numpy as np

from delama_ros.localization.local_map import Bytes, LocalMap, channel
from delama_ros.localization.se2 import Floats, compiled
from delama_ros.localization.surfels import Surfels

PENALTY = 0.04  # score lost at 1.3 standard deviations from the prediction
CHUNK = 16  # points added up before a pose is given up as hopeless


def correlate(
    local: LocalMap,
    scan: Surfels,
    centre: Floats,
    window: float,
    window_yaw: float,
    step_yaw: float = math.radians(1.0),
) -> tuple[Floats, float, bool]:
    """Search a window exhaustively at the resolution of the map's field.

    Args:
        local: the map.
        scan: surfels in the base frame.
        centre: (3,) predicted pose.
        window: m, half width of the window.
        window_yaw: rad, half width of the window.
        step_yaw: rad, step of the search.

    Returns:
        The best pose (3,), its score 0..1, and whether it lies on the rim of the window.

    """
    steps = max(1, math.ceil(window / local.resolution))
    turns = max(1, math.ceil(window_yaw / step_yaw))
    x, y, yaw, score, rim = _correlate(
        local.field,
        local.low,
        local.resolution,
        scan.points,
        scan.normals,
        centre,
        steps,
        turns,
        step_yaw,
    )
    return np.array([x, y, yaw]), score, rim


def score(local: LocalMap, scan: Surfels, pose: Floats) -> float:
    """Mean likelihood 0..1 of a scan at one pose (3,)."""
    return _score(local.field, local.low, local.resolution, scan.points, scan.normals, pose)


@compiled
def _score(
    field: Bytes, low: Floats, resolution: float, scan: Floats, facing: Floats, pose: Floats
) -> float:
    c, s = math.cos(pose[2]), math.sin(pose[2])
    total = 0
    for i in range(len(scan)):
        x = math.floor((pose[0] + c * scan[i, 0] - s * scan[i, 1] - low[0]) / resolution)
        y = math.floor((pose[1] + s * scan[i, 0] + c * scan[i, 1] - low[1]) / resolution)
        if 0 <= x < field.shape[2] and 0 <= y < field.shape[1]:
            k = channel(c * facing[i, 0] - s * facing[i, 1], s * facing[i, 0] + c * facing[i, 1])
            total += field[k, y, x]
    return total / (255.0 * max(len(scan), 1))


@compiled
def _correlate(
    field: Bytes,
    low: Floats,
    resolution: float,
    scan: Floats,
    facing: Floats,
    centre: Floats,
    steps: int,
    turns: int,
    step_yaw: float,
) -> tuple[float, float, float, float, bool]:
    n, (_, fy, fx) = len(scan), field.shape
    cells, whole = field.ravel(), 255.0 * max(n, 1)
    at = np.empty(n, np.int64)  # in `cells`, of points that stay on the field at every pose
    ix, iy, ic = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)  # of others
    best, bx, by, bt, plain = -1.0, 0, 0, 0, 0.0
    least = _score(field, low, resolution, scan, facing, centre)  # the best is no worse than this
    for t in range(-turns, turns + 1):
        yaw = centre[2] + t * step_yaw
        c, s = math.cos(yaw), math.sin(yaw)
        inside, rim_points = 0, 0
        for i in range(n):
            x = centre[0] + c * scan[i, 0] - s * scan[i, 1] - low[0]
            y = centre[1] + s * scan[i, 0] + c * scan[i, 1] - low[1]
            jx, jy = math.floor(x / resolution), math.floor(y / resolution)
            k = channel(c * facing[i, 0] - s * facing[i, 1], s * facing[i, 0] + c * facing[i, 1])
            if steps <= jx < fx - steps and steps <= jy < fy - steps:
                at[inside] = (k * fy + jy) * fx + jx
                inside += 1
            else:
                ix[rim_points], iy[rim_points], ic[rim_points] = jx, jy, k
                rim_points += 1
        for dy in range(-steps, steps + 1):
            for dx in range(-steps, steps + 1):
                off = (dx * dx + dy * dy) / (0.25 * steps * steps) + t * t / (0.25 * turns * turns)
                penalty = PENALTY * math.log(1.0 + off)
                total, shift, seen = 0, dy * fx + dx, 0
                for i in range(rim_points):
                    jx, jy = ix[i] + dx, iy[i] + dy
                    if 0 <= jx < fx and 0 <= jy < fy:
                        total += field[ic[i], jy, jx]
                while seen < inside:
                    # Even if all further points fitted, would this pose win?
                    if (total + 255.0 * (inside - seen)) / whole - penalty < max(best, least):
                        break
                    end = min(seen + CHUNK, inside)
                    for i in range(seen, end):
                        total += cells[at[i] + shift]
                    seen = end
                if seen < inside:
                    continue
                score = total / whole
                if score - penalty > best:
                    best, bx, by, bt, plain = score - penalty, dx, dy, t, score
    rim = max(abs(bx), abs(by)) == steps or abs(bt) == turns
    return (
        centre[0] + bx * resolution,
        centre[1] + by * resolution,
        centre[2] + bt * step_yaw,
        plain,
        rim,
    )
