"""Estimates how late scans are stamped: the delay that gives the sharpest map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from delama_ros.data.log import Reading
from delama_ros.mapping.scan import HIT, scan_marks

# s; drivers stamp scans when they are complete, and odometry may lag behind
DELAYS = np.round(np.arange(-0.1, 0.301, 0.02), 2)
SCANS = 60  # spread over the log
GAIN = 0.03  # share of cells that a delay must save to be used
CELL, TILE = 0.05, 24  # m, cells


def find_delay(readings_at: Callable[[float], Sequence[Reading]]) -> float:
    """Return the delay in s with which scans hit the fewest cells; 0 if none is clearly better.

    With wrong times a wall appears in another place whenever the robot turns.

    Args:
        readings_at: returns the same scans, with poses so many seconds before their stamps.
    """
    cells = {delay: _cells(readings_at(delay)) for delay in DELAYS.tolist()}
    best = min(cells, key=lambda delay: (cells[delay], abs(delay)))
    return float(best) if cells[best] < (1 - GAIN) * cells[0.0] else 0.0


def _cells(readings: Sequence[Reading]) -> float:
    """Count the cells in which beams end, per scan."""
    hit: set[tuple[int, int, int]] = set()
    for reading in readings:
        keys, marks = scan_marks(reading.scan, reading.pose, resolution=CELL, tile_cells=TILE)
        tile, row, column = np.nonzero(marks & HIT)
        at = np.column_stack([keys[tile], row * TILE + column])
        hit.update(map(tuple, at.tolist()))
    return len(hit) / len(readings) if readings else math.inf
