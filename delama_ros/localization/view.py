"""What a scan saw through: the test for surfaces where another scan saw free space."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from delama_ros.localization.keyframes import Keyframes
from delama_ros.localization.se2 import Floats, Ints, compiled, relative, transform
from delama_ros.localization.surfels import Surfels

BINS = 360
CLEAR = 0.3  # m in front of the seen surface from which on a point contradicts
CLEAR_SHARE = 0.05  # and at least this share of the range, since poses are not exact

WITNESSES = 3  # keyframes asked about one scan


def make_profile(points: npt.NDArray[np.floating], origin: Floats) -> Floats:
    """Free range per degree of bearing around the sensor.

    Args:
        points: (N, 2) in the base frame.
        origin: (2,) of the sensor in the base frame.

    Returns:
        (360,) m, the least range in a degree, 0 where nothing was measured.

    """
    offset = np.asarray(points, np.float64) - origin
    ranges = np.hypot(offset[:, 0], offset[:, 1])
    bearings = np.arctan2(offset[:, 1], offset[:, 0])
    bins = np.floor((bearings + math.pi) / (2 * math.pi) * BINS).astype(np.int64) % BINS
    profile = np.full(BINS, np.inf)
    np.minimum.at(profile, bins, ranges)
    return np.where(np.isfinite(profile), profile, 0.0)


@compiled
def seen_through(profile: Floats, origin: Floats, pose: Floats, points: Floats) -> tuple[int, int]:
    """Count points (N, 2) that a scan should have seen, and those it saw through.

    Args:
        profile: (360,) of the scan.
        origin: (2,) of its sensor in the base frame.
        pose: (3,) of its base.
        points: (N, 2) in the frame of the pose.

    Returns:
        Number of points at or in front of the surface seen, and of those clearly in front.

    """
    c, s = math.cos(pose[2]), math.sin(pose[2])
    judged, through = 0, 0
    for i in range(len(points)):
        dx, dy = points[i, 0] - pose[0], points[i, 1] - pose[1]
        x, y = c * dx + s * dy - origin[0], c * dy - s * dx - origin[1]
        r = math.sqrt(x * x + y * y)
        b = int((math.atan2(y, x) + math.pi) / (2.0 * math.pi) * BINS) % BINS
        free = min(profile[b], profile[(b + 1) % BINS], profile[b - 1])
        clear = max(CLEAR, CLEAR_SHARE * r)
        if free <= 0.0 or r > free + clear:
            continue
        judged += 1
        if r < free - clear:
            through += 1
    return judged, through


def both_ways(
    keyframes: Keyframes, rows: Ints, scan: Surfels, profile: Floats, origin: Floats, pose: Floats
) -> tuple[int, int]:
    """Count points seen through, of a scan by keyframes and of keyframes by the scan.

    Args:
        keyframes: the map.
        rows: keyframes to ask.
        scan: surfels in the base frame.
        profile: (360,) of the scan.
        origin: (2,) of its sensor in the base frame.
        pose: (3,) of the base in the map frame.

    Returns:
        Number of points that should have been seen, and of those seen through.

    """
    judged, through = 0, 0
    for row in rows:
        old = keyframes.items[row]
        back = relative(keyframes.poses[row], pose)
        j, t = seen_through(old.profile, old.origin, np.zeros(3), transform(back, scan.points))
        judged, through = judged + j, through + t
        j, t = seen_through(profile, origin, back, old.surfels.points)
        judged, through = judged + j, through + t
    return judged, through


def contradiction(keyframes: Keyframes, scan: Surfels, pose: Floats, rows: Ints) -> float:
    """Share of a scan's points that the nearest keyframes saw through.

    Args:
        keyframes: the map.
        scan: surfels in the base frame.
        pose: (3,) of the base in the map frame.
        rows: keyframes to ask, nearest first; their poses must be known well relative to each
            other, or walls seen from an old and badly known place contradict those seen now.

    Returns:
        0..1, and 0 where no keyframe can tell.

    """
    judged, through = 0, 0
    for row in rows[:WITNESSES]:
        old = keyframes.items[row]
        points = transform(relative(keyframes.poses[row], pose), scan.points)
        j, t = seen_through(old.profile, old.origin, np.zeros(3), points)
        judged, through = judged + j, through + t
    return through / judged if judged else 0.0
