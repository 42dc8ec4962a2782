"""The direction of the walls around a robot: maps whose axes follow it are drawn more sharply.

Most walls of a building run in two directions at right angles. A map frame may be chosen freely
when a robot starts; one along the walls lets straight walls fill whole rows of cells.
"""

from __future__ import annotations

import math

import numpy as np

from delama_ros.localization.se2 import Floats

GAP = 0.3  # m between neighbouring points that lie on one surface at most


def wall_direction(points: Floats) -> float:
    """Return the main direction of walls, rad from the x axis of the points, -π/4 .. π/4.

    Directions θ that differ by a right angle count as one: it is a quarter of the phase of
    Σ l exp(4 i θ) over segments of length l between neighbouring points.

    Args:
        points: (N, 2), in the order of the beams.
    """
    steps = np.diff(points, axis=0)
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    close = (lengths > 1e-6) & (lengths < GAP)
    # Noise across the wall turns short segments; over a few points it averages out.
    wide = points[4:] - points[:-4] if len(points) > 4 else steps[:0]
    joined = np.convolve(close, np.ones(4), 'valid')[: len(wide)] == 4
    angles = np.arctan2(wide[joined, 1], wide[joined, 0])
    total = (np.hypot(wide[joined, 0], wide[joined, 1]) * np.exp(4j * angles)).sum()
    return math.atan2(total.imag, total.real) / 4 if total != 0 else 0.0
