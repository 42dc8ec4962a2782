"""Whether a match holds: what fits speaks for it, known free space against it."""

from __future__ import annotations

from delama_ros.localization.align import Alignment
from delama_ros.localization.estimate import Status
from delama_ros.localization.matcher import Motion
from delama_ros.localization.own_map import OwnMap
from delama_ros.localization.se2 import Floats
from delama_ros.localization.surfels import Surfels
from delama_ros.localization.view import contradiction

FEW = 0.3  # share of points with partners below which a match says nothing
LESS = 0.5  # of the contradictions of odometry, below which such a match is taken all the same
CLEAR = 0.65  # share above which no further doubt is needed


def judge(
    own: OwnMap, found: Alignment, prediction: Floats, scan: Surfels, step: Motion
) -> tuple[Floats, Status]:
    """Place a scan by its match, or by odometry where it shows an unknown area.

    Args:
        own: the robot's map.
        found: the match.
        prediction: (3,) pose by odometry.
        scan: surfels in the base frame.
        step: odometry since the last scan.

    Returns:
        The pose (3,) and what it rests on; `Status.FAILED` if neither place can be right.

    """
    s = own.settings
    # The farther apart scans are taken, the less of them can agree.
    ease = min(step.distance + step.turn, 1.0)
    close = found.residual <= s.residual * (1.0 + 0.5 * ease)
    if not (close and found.quality > max(CLEAR, s.inliers)):
        some = close and found.quality > FEW
        doubt = _doubt(own, scan, found.pose if some else prediction)
        unlikely = doubt > s.contradiction and not some
        if close and unlikely and own.matcher.likely(found, prediction, step):
            # Little speaks for the match, but known free space speaks against odometry.
            other = _doubt(own, scan, found.pose)
            if other < LESS * doubt:
                some, doubt = True, other
        if doubt > s.contradiction * (1.0 + ease):
            return prediction, Status.FAILED
        if not some:
            return prediction, Status.WEAK
    return found.pose, Status.TRACKING if found.weak is None else Status.WEAK


def _doubt(own: OwnMap, scan: Surfels, pose: Floats) -> float:
    return contradiction(own.keyframes, scan, pose, own.local_rows(pose))
