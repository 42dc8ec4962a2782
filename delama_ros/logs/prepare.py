"""What of a log is worth mapping: scans a little apart, readings within a sensible range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from delama_ros.logs.log import Reading
from delama_ros.mapping.evidence import Scan


def thinned(
    readings: Sequence[Reading], *, distance: float = 0.2, turn: float = 0.2
) -> list[Reading]:
    """Return the readings at least `distance` m or `turn` rad from the last one kept."""
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

    A surface further away says that all is free up to the reach. No return at all says nothing:
    glass, black cloth and sunlight give none either.
    """
    reach = min(reach, scan.range_max)
    far = (scan.ranges >= reach) & (scan.ranges <= scan.range_max)
    silent = np.isposinf(scan.ranges) | (scan.ranges == scan.range_max)
    ranges = np.where(silent, np.nan, np.where(far, np.inf, scan.ranges))
    return replace(scan, ranges=ranges, range_max=reach)


def split(readings: Sequence[Reading], robots: int) -> list[list[Reading]]:
    """Cut a log into one stretch of time per robot, with equally many scans."""
    cuts = np.linspace(0, len(readings), robots + 1).round().astype(int).tolist()
    return [list(readings[a:b]) for a, b in pairwise(cuts)]
