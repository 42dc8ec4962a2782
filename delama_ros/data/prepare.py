"""Selects what to map from a log: scans some distance apart, beams within reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from delama_ros.data.log import Reading
from delama_ros.mapping.scan import Scan


def thinned(
    readings: Sequence[Reading], *, distance: float = 0.2, turn: float = 0.2
) -> list[Reading]:
    """Return readings at least `distance` m or `turn` rad from the previous one returned."""
    kept: list[Reading] = []
    for reading in readings:
        if kept:
            (x, y, yaw), (x0, y0, yaw0) = reading.pose, kept[-1].pose
            turned = abs(math.remainder(yaw - yaw0, 2 * math.pi))
            if math.hypot(x - x0, y - y0) < distance and turned < turn:
                continue
        kept.append(reading)
    return kept


def limited(scan: Scan, reach: float) -> Scan:
    """Return a scan that reaches `reach` metres at most.

    A surface farther away means free space up to the reach. No return at all carries no
    information: glass, black cloth and sunlight cause it, too.
    """
    reach = min(reach, scan.range_max)
    far = (scan.ranges >= reach) & (scan.ranges <= scan.range_max)
    no_return = np.isposinf(scan.ranges) | (scan.ranges == scan.range_max)
    ranges = np.where(no_return, np.nan, np.where(far, np.inf, scan.ranges))
    return replace(scan, ranges=ranges, range_max=reach)


def split(readings: Sequence[Reading], robots: int) -> list[list[Reading]]:
    """Divide a log in time into one part per robot, with equally many scans each."""
    cuts = np.linspace(0, len(readings), robots + 1).round().astype(int).tolist()
    return [list(readings[a:b]) for a, b in pairwise(cuts)]
