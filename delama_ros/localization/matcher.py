"""The scan matcher: predict by odometry, search by correlation, refine point to line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from delama_ros.localization.align import Alignment, align
from delama_ros.localization.correlate import correlate, score
from delama_ros.localization.local_map import LocalMap
from delama_ros.localization.se2 import Floats, inverse_spd, relative, rotation
from delama_ros.localization.settings import LocalizationSettings
from delama_ros.localization.surfels import Surfels

WIDER = 2.5  # by which the window grows when the first search fails ...
WIDER_YAW = math.radians(8.0)  # ... with this much more yaw
ODD = 4.0  # standard deviations from odometry beyond which a match of few points is an accident
BETTER = 0.1  # score by which another prediction must beat that of odometry


@dataclass(frozen=True, eq=False)
class Motion:
    """What odometry says about the way since the last scan."""

    step: Floats  # (3,) pose of the base seen from the last one
    doubt: float = 0.0  # rad², variance of the turn by systematic errors

    @property
    def distance(self) -> float:
        """Metres driven."""
        return math.hypot(self.step[0], self.step[1])

    @property
    def turn(self) -> float:
        """Radians turned."""
        return abs(float(self.step[2]))


class Matcher:
    """Matches scans with maps; holds nothing but settings."""

    def __init__(self, settings: LocalizationSettings) -> None:
        self.settings = settings

    def prior_covariance(self, motion: Motion) -> Floats:
        """Covariance (3, 3) of an odometry step in the frame of its end."""
        s = self.settings
        along = s.prior + s.prior_per_metre * motion.distance
        yaw = s.prior_yaw + s.prior_yaw_per_turn * motion.turn
        return np.diag([along**2, along**2, yaw**2 + motion.doubt])

    def track(
        self,
        local: LocalMap,
        scan: Surfels,
        prediction: Floats,
        motion: Motion,
        others: Sequence[Floats] = (),
    ) -> Alignment:
        """Match a scan near the pose that odometry predicts.

        Args:
            local: map of the surroundings.
            scan: surfels in the base frame.
            prediction: (3,) pose in the map frame.
            motion: odometry since the last scan.
            others: further predictions (3,), used where they fit the map clearly better; late
                odometry, that stops and catches up with a jump, needs them.

        Returns:
            The alignment; the caller judges it.

        """
        s = self.settings
        window = s.window + s.window_per_metre * motion.distance
        window_yaw = (
            s.window_yaw
            + s.window_yaw_per_metre * motion.distance
            + s.window_yaw_per_turn * motion.turn
        )
        if others:
            best = max(others, key=lambda pose: score(local, scan, pose))
            if score(local, scan, best) > score(local, scan, prediction) + BETTER:
                prediction = best
        r = rotation(float(prediction[2]))
        information = r @ inverse_spd(self.prior_covariance(motion)) @ r.T
        start, _, rim = correlate(local, scan, prediction, window, window_yaw)
        found = self.refine(local, scan, start, prediction, information)
        if not rim and self.good(found):
            return found
        wide, _, _ = correlate(local, scan, prediction, WIDER * window, 2 * window_yaw + WIDER_YAW)
        other = self.refine(local, scan, wide, prediction, information)
        # Far from odometry, a few walls of another room always fit somewhere: only many count.
        possible = self.good(other) or self.likely(other, prediction, motion)
        return other if possible and fit(other) > fit(found) + 0.03 else found

    def refine(
        self,
        local: LocalMap,
        scan: Surfels,
        start: Floats,
        prior: Floats | None = None,
        information: Floats | None = None,
    ) -> Alignment:
        """Align point to line from a start pose, with or without a prior."""
        s = self.settings
        return align(
            local,
            scan,
            start,
            start if prior is None else prior,
            np.zeros((3, 3)) if information is None else information,
            kernel=s.kernel,
            cutoff=s.cutoff,
            weak=s.weak,
        )

    def good(self, found: Alignment) -> bool:
        """Whether enough points found partners, close enough."""
        s = self.settings
        return found.quality >= s.inliers and found.residual <= s.residual

    def likely(self, found: Alignment, prediction: Floats, motion: Motion) -> bool:
        """Whether odometry may well have erred by as much as a match says."""
        off = relative(prediction, found.pose)
        return float(off @ inverse_spd(self.prior_covariance(motion)) @ off) < ODD**2

    def edge_information(self, found: Alignment, prior_covariance: Floats) -> Floats:
        """Information (3, 3) of a match as an edge, in the frame of the matched pose.

        What the scan leaves open the odometry prior (3, 3) fills; no edge is believed beyond the
        floor in the settings.
        """
        s = self.settings
        r = rotation(float(found.pose[2]))
        own = r.T @ found.information @ r + inverse_spd(prior_covariance)
        floor = np.diag([s.edge**2, s.edge**2, s.edge_yaw**2])
        return inverse_spd(inverse_spd(own) + floor)


def fit(found: Alignment) -> float:
    """One figure to compare two alignments of the same scan: inliers that lie close."""
    return found.inliers * (1.0 - min(found.residual / 0.2, 1.0))
