"""Drawing polygons on cells by their centres."""

from __future__ import annotations

import numpy as np

from delama_ros.geometry.grid import Bools, Floats


def fill_polygon(mask: Bools, corners: Floats) -> None:
    """Set the cells of mask (rows, cols) whose centres lie inside (n, 2) (column, row) corners."""
    low = np.maximum(np.ceil(corners.min(0) - 0.5).astype(int), 0)
    high = np.minimum(np.floor(corners.max(0) - 0.5).astype(int) + 1, mask.shape[::-1])
    if (high <= low).any():
        return
    x = np.arange(low[0], high[0]) + 0.5
    y = (np.arange(low[1], high[1]) + 0.5)[:, None]
    inside = np.zeros((len(y), len(x)), np.bool_)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, 0), strict=True):
        if ay == by:
            continue
        crosses = (ay > y) != (by > y)  # even-odd rule, edge by edge
        inside ^= crosses & (x < ax + (y - ay) * (bx - ax) / (by - ay))
    mask[low[1] : high[1], low[0] : high[0]] |= inside
