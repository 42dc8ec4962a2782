"""Branch and bound: the best pose of a scan in a map within a large window."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.localization.local_map import Bytes, LocalMap, channel
from delama_ros.localization.se2 import Floats, Ints, compiled
from delama_ros.localization.surfels import Surfels

AVOID = 1.0  # m and ...
AVOID_YAW = math.radians(9.0)  # ... rad around a pose whose rivals are looked for
LEVELS = 7  # blocks of 1, 2, 4 ... 64 cells


@dataclass(frozen=True, eq=False)
class Pyramid:
    """Maxima of a map's field over growing blocks, level after level in one array."""

    local: LocalMap
    values: Bytes  # all levels, flat
    starts: Ints  # (LEVELS,) where each begins
    shapes: Ints  # (LEVELS, 2) rows, columns


def make_pyramid(local: LocalMap) -> Pyramid:
    """Build the pyramid of a map's field.

    Entry i of level k bounds the cells [i 2ᵏ, (i + 2) 2ᵏ) per axis, so any 2ᵏ neighbouring cells
    are bounded by one entry.
    """
    shapes, parts = [], []
    level = local.field
    for k in range(LEVELS):
        if k:
            pooled = _halve(level)
            level = pooled
        bound = level if k == 0 else _windows(level)
        shapes.append(bound.shape[1:])
        parts.append(bound.ravel())
    starts = np.cumsum([0] + [len(p) for p in parts[:-1]])
    return Pyramid(
        local, np.concatenate(parts), starts.astype(np.int64), np.array(shapes, np.int64)
    )


@compiled
def _halve(level: Bytes) -> Bytes:
    channels, ny, nx = level.shape
    out = np.zeros((channels, (ny + 1) // 2, (nx + 1) // 2), np.uint8)
    for c in range(channels):
        for y in range(ny):
            for x in range(nx):
                if level[c, y, x] > out[c, y >> 1, x >> 1]:
                    out[c, y >> 1, x >> 1] = level[c, y, x]
    return out


@compiled
def _windows(level: Bytes) -> Bytes:
    channels, ny, nx = level.shape
    out = np.empty_like(level)
    for c in range(channels):
        for y in range(ny):
            for x in range(nx):
                most = level[c, y, x]
                if x + 1 < nx:
                    most = max(most, level[c, y, x + 1])
                if y + 1 < ny:
                    most = max(most, level[c, y + 1, x])
                    if x + 1 < nx:
                        most = max(most, level[c, y + 1, x + 1])
                out[c, y, x] = most
    return out


def search(
    pyramid: Pyramid,
    scan: Surfels,
    centre: Floats,
    window: float,
    window_yaw: float,
    least: float,
    step_yaw: float = math.radians(1.5),
    avoid: Floats | None = None,
) -> tuple[Floats, float] | None:
    """Find the best pose in a window.

    Args:
        pyramid: of the map.
        scan: surfels in the base frame.
        centre: (3,) pose in the middle of the window.
        window: m, half width.
        window_yaw: rad, half width.
        least: score 0..1 below which nothing is returned.
        step_yaw: rad, step of the search.
        avoid: (3,) pose around which (1 m, 9°) nothing is looked for, to find a rival.

    Returns:
        Pose (3,) and score, or None. The translation is exact to a cell of the field.

    """
    turns = min(math.ceil(window_yaw / step_yaw), math.floor(math.pi / step_yaw))
    r = pyramid.local.resolution
    steps = math.ceil(window / r)
    shunned = np.full(3, np.inf)
    if avoid is not None:
        yaw = math.remainder(avoid[2] - centre[2], 2 * math.pi)
        shunned = np.array([*((avoid - centre)[:2] / r), yaw / step_yaw])
    x, y, t, score = _search(
        pyramid.values,
        pyramid.starts,
        pyramid.shapes,
        pyramid.local.low,
        pyramid.local.resolution,
        scan.points,
        scan.normals,
        centre,
        steps,
        turns,
        step_yaw,
        least,
        shunned,
        np.array([AVOID / r, AVOID_YAW / step_yaw]),
    )
    if score < least:
        return None
    return np.array([centre[0] + x * r, centre[1] + y * r, centre[2] + t * step_yaw]), score


@compiled
def _bound(
    values: Bytes,
    start: int,
    ny: int,
    nx: int,
    level: int,
    ix: Ints,
    iy: Ints,
    ic: Ints,
    dx: int,
    dy: int,
) -> float:
    total = 0
    n = len(ix)
    for i in range(n):
        jx, jy = (ix[i] + dx) >> level, (iy[i] + dy) >> level
        # Entry -1 would bound cells of which the first 2ᵏ lie outside: entry 0 bounds the rest.
        if level > 0 and jx == -1:
            jx = 0
        if level > 0 and jy == -1:
            jy = 0
        if 0 <= jx < nx and 0 <= jy < ny:
            total += values[start + (ic[i] * ny + jy) * nx + jx]
    return total / (255.0 * max(n, 1))


@compiled
def _search(
    values: Bytes,
    starts: Ints,
    shapes: Ints,
    low: Floats,
    resolution: float,
    scan: Floats,
    facing: Floats,
    centre: Floats,
    steps: int,
    turns: int,
    step_yaw: float,
    least: float,
    shunned: Floats,
    shun: Floats,
) -> tuple[int, int, int, float]:
    n = len(scan)
    yaws = 2 * turns + 1
    ix = np.empty((yaws, n), np.int64)
    iy = np.empty((yaws, n), np.int64)
    ic = np.empty((yaws, n), np.int64)
    for k in range(yaws):
        yaw = centre[2] + (k - turns) * step_yaw
        c, s = math.cos(yaw), math.sin(yaw)
        for i in range(n):
            x = centre[0] + c * scan[i, 0] - s * scan[i, 1] - low[0]
            y = centre[1] + s * scan[i, 0] + c * scan[i, 1] - low[1]
            ix[k, i] = math.floor(x / resolution)
            iy[k, i] = math.floor(y / resolution)
            ic[k, i] = channel(
                c * facing[i, 0] - s * facing[i, 1], s * facing[i, 0] + c * facing[i, 1]
            )
    top = len(starts) - 1
    while top > 0 and (1 << top) > steps:
        top -= 1
    block = 1 << top
    per = (2 * steps) // block + 1
    scores = np.empty(yaws * per * per)
    for k in range(yaws):
        for a in range(per):
            for b in range(per):
                scores[(k * per + a) * per + b] = _bound(
                    values,
                    starts[top],
                    shapes[top, 0],
                    shapes[top, 1],
                    top,
                    ix[k],
                    iy[k],
                    ic[k],
                    b * block - steps,
                    a * block - steps,
                )
    order = np.argsort(-scores, kind='mergesort')
    best, bx, by, bk = least, 0, 0, -1
    stack_x, stack_y = np.empty(4 * (top + 1), np.int64), np.empty(4 * (top + 1), np.int64)
    stack_l, stack_s = np.empty(4 * (top + 1), np.int64), np.empty(4 * (top + 1))
    for o in order:
        if scores[o] <= best:
            break
        k, a, b = o // (per * per), (o // per) % per, o % per
        depth = 1
        stack_x[0], stack_y[0] = b * block - steps, a * block - steps
        stack_l[0], stack_s[0] = top, scores[o]
        while depth > 0:
            depth -= 1
            x, y, level, score = stack_x[depth], stack_y[depth], stack_l[depth], stack_s[depth]
            if score <= best:
                continue
            if level == 0:
                near = (x - shunned[0]) ** 2 + (y - shunned[1]) ** 2 < shun[0] ** 2
                if near and abs(k - turns - shunned[2]) < shun[1]:
                    continue
                best, bx, by, bk = score, x, y, k
                continue
            half = 1 << (level - 1)
            base = depth
            for q in range(4):
                cx, cy = x + half * (q & 1), y + half * (q >> 1)
                value = _bound(
                    values,
                    starts[level - 1],
                    shapes[level - 1, 0],
                    shapes[level - 1, 1],
                    level - 1,
                    ix[k],
                    iy[k],
                    ic[k],
                    cx,
                    cy,
                )
                if value <= best:
                    continue
                slot = depth  # insertion keeps the best child on top
                while slot > base and stack_s[slot - 1] > value:
                    stack_x[slot], stack_y[slot] = stack_x[slot - 1], stack_y[slot - 1]
                    stack_l[slot], stack_s[slot] = stack_l[slot - 1], stack_s[slot - 1]
                    slot -= 1
                stack_x[slot], stack_y[slot] = cx, cy
                stack_l[slot], stack_s[slot] = level - 1, value
                depth += 1
    if bk < 0:
        return 0, 0, 0, -1.0
    return bx, by, bk - turns, best
