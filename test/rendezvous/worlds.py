"""Synthetic models: walls drawn straight into tiles, as any robot with exact poses has them."""

from __future__ import annotations

import math

import numpy as np

from delama_ros.rendezvous.se2 import Floats, apply, inverse
from delama_ros.rendezvous.surface import Surface, Tiles, surface_of

TILE, CELLS, STEP = 1.2, 24, 0.05
Box = tuple[float, float, float, float]  # x0, y0, x1, y1 of free space, m

FLAT: list[Box] = [
    (0.0, 0.0, 4.1, 3.3), (4.3, 0.0, 7.9, 2.2), (4.3, 2.4, 7.9, 5.7), (0.0, 3.5, 2.6, 5.7),
    (2.8, 3.5, 4.1, 5.7), (4.0, 0.7, 4.4, 1.6), (5.0, 2.1, 5.9, 2.5), (1.1, 3.2, 2.0, 3.6),
    (3.0, 3.2, 3.8, 3.6), (0.0, 5.9, 7.9, 8.8), (6.0, 5.6, 6.9, 6.0),
]  # fmt: skip


def bent(points: Floats, bend: float) -> Floats:
    """Return points (..., 2) of a straight map as they lie on one whose x axis turns, rad/m."""
    if bend == 0.0:
        return points
    turn, y = bend * points[..., 0], points[..., 1]
    return np.stack([(1 / bend - y) * np.sin(turn), 1 / bend - (1 / bend - y) * np.cos(turn)], -1)


def model(
    free: list[Box], frame: Floats, seen: Box = (-1.0, -1.0, 30.0, 30.0), bend: float = 0.0
) -> Tiles:
    """Return what a robot knows that has seen all of a part, in a frame at a pose in the world.

    Free cells, and wall up to 0.3 m behind a surface, are known. The map is bent by `bend` rad/m
    along x.
    """
    corners = np.array([[seen[0], seen[1]], [seen[2], seen[1]], [seen[2], seen[3]],
                        [seen[0], seen[3]]])  # fmt: skip
    local = apply(inverse(frame), corners)
    low = np.floor(local.min(0) / TILE).astype(int)
    margin = round(0.5 * abs(bend) * float((high := local.max(0))[0] ** 2) / TILE)
    low, high = low - margin, np.ceil(high / TILE).astype(int) + margin
    keys = np.array([(x, y) for x in range(low[0], high[0]) for y in range(low[1], high[1])])
    inside = (np.arange(CELLS) + 0.5) * STEP
    x = keys[:, 0, None, None] * TILE + inside[None, None, :] + 0 * inside[None, :, None]
    y = keys[:, 1, None, None] * TILE + inside[None, :, None] + 0 * inside[None, None, :]
    world = apply(frame, bent(np.stack([x, y], -1), bend))
    # signed distance to the free space: negative inside
    gap = np.full(x.shape, 9.0)
    for x0, y0, x1, y1 in free:
        across = np.maximum(x0 - world[..., 0], world[..., 0] - x1)
        along = np.maximum(y0 - world[..., 1], world[..., 1] - y1)
        outside = np.hypot(np.maximum(across, 0.0), np.maximum(along, 0.0))
        gap = np.minimum(gap, outside + np.minimum(np.maximum(across, along), 0.0))
    looked = (gap < 0.3) & (world[..., 0] > seen[0]) & (world[..., 0] < seen[2])
    looked &= (world[..., 1] > seen[1]) & (world[..., 1] < seen[3])
    logits = np.clip(gap / 0.05, -3.0, 3.0) + 1.1
    logits[gap > 0.3] = -3.0
    parts = looked.reshape(-1, 6, 4, 6, 4).mean((2, 4)).reshape(-1, 36)
    used = parts.max(1) > 0
    return Tiles(
        keys[used].astype(np.int32), logits[used].astype(np.float32),
        np.where(parts > 0.5, 1.0, 0.0)[used].astype(np.float32), STEP,
    )  # fmt: skip


def ordered(tiles: Tiles) -> Tiles:
    """Return the tiles in the order surfaces want them."""
    order = np.lexsort((tiles.keys[:, 1], tiles.keys[:, 0]))
    return Tiles(tiles.keys[order], tiles.logits[order], tiles.evidence[order], tiles.resolution)


def surface(
    free: list[Box], frame: Floats, seen: Box = (-1.0, -1.0, 30.0, 30.0), bend: float = 0.0
) -> Surface:
    return surface_of(ordered(model(free, frame, seen, bend)))


def pose(x: float, y: float, degrees: float) -> Floats:
    return np.array([x, y, math.radians(degrees)])


def rows_of_rooms(below: int, above: int, change: float) -> list[tuple[float, float, float, float]]:
    """Return a building of 27 m: rows of rooms by one seed up to y = `change`, then by another."""
    lower, upper = np.random.default_rng(below), np.random.default_rng(above)
    rooms: list[tuple[float, float, float, float]] = []
    y = 0.0
    while y < 27.0:
        rng = lower if y < change else upper
        high, x = rng.uniform(2.6, 4.4), 0.0
        while x < 27.0:
            wide = rng.uniform(2.4, 5.0)
            door = x + rng.uniform(0.3, wide - 1.3)
            rooms.append((x, y, x + wide, y + high))
            rooms.append((door, y + high - 0.1, door + 0.9, y + high + 0.3))
            x += wide + 0.2
        y += high + 0.2
    return rooms
