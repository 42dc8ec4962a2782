"""How late scans are stamped: the delay with which they draw the sharpest map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from delama_ros.logs.log import Reading
from delama_ros.mapping.evidence import HIT, scan_evidence

# s; drivers stamp scans when they have come in whole, odometry may lag behind them
DELAYS = np.round(np.arange(-0.1, 0.301, 0.02), 2)
SCANS = 60  # taken from all over the log
GAIN = 0.03  # share of cells that must be saved for a delay to be believed
CELL, TILE = 0.05, 24  # m, cells


def find_delay(readings_at: Callable[[float], Sequence[Reading]]) -> float:
    """Delay in s with which scans end in the fewest cells; 0 if none is clearly better.

    readings_at gives the same scans with poses of so many seconds before their stamps. With wrong
    times a wall appears in another place whenever the robot turns.
    """
    cells = {delay: _cells(readings_at(delay)) for delay in DELAYS.tolist()}
    best = min(cells, key=lambda delay: (cells[delay], abs(delay)))
    return float(best) if cells[best] < (1 - GAIN) * cells[0.0] else 0.0


def _cells(readings: Sequence[Reading]) -> float:
    """Count the cells in which beams end, per scan."""
    hit: set[tuple[int, int, int]] = set()
    for reading in readings:
        keys, marks = scan_evidence(reading.scan, reading.pose, resolution=CELL, tile_cells=TILE)
        tile, row, column = np.nonzero(marks & HIT)
        at = np.column_stack([keys[tile], row * TILE + column])
        hit.update(map(tuple, at.tolist()))
    return len(hit) / len(readings) if readings else math.inf
