"""In which order a laser measures its beams: as they are numbered, or the other way round.

LaserScan says that beam i is measured i · time_increment after the stamp. Drivers of lasers that
turn clockwise number the beams counter-clockwise, so that the first one is measured last. Undoing
the motion of the base in the wrong order doubles the error instead of removing it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from delama_ros.geometry.poses import compose, relative
from delama_ros.localization.localizer import Localizer
from delama_ros.localization.matcher import Motion
from delama_ros.localization.no_return import NoReturnFilter
from delama_ros.localization.scan import Sweep, prepare
from delama_ros.localization.surfels import make_surfels
from delama_ros.robot.timed_scan import TimedScan

ORDERS = ('forward', 'reversed', 'none')
TURN = np.radians(1.0)  # rad in a sweep from which on the order makes a difference


def ordered(timed: TimedScan, order: str) -> TimedScan:
    """Return a scan whose beams are numbered in the order in which they were measured."""
    if order == 'none' or timed.end is None:
        return replace(timed, end=None)
    return replace(timed, sweep=backwards(timed.sweep)) if order == 'reversed' else timed


def backwards(sweep: Sweep) -> Sweep:
    """Return the same beams numbered the other way round."""
    last = sweep.angle_min + sweep.angle_increment * (sweep.ranges.size - 1)
    return replace(
        sweep,
        ranges=sweep.ranges[::-1],
        angle_min=last,
        angle_increment=-sweep.angle_increment,
    )


class SweepOrder:
    """Finds the order with which scans of a turning robot fit the map best."""

    def __init__(self, order: str) -> None:
        """Use an order, or with auto find it."""
        self._auto = order == 'auto'
        self.order = 'forward' if self._auto else order
        self._misfit = dict.fromkeys(ORDERS, 0.0)  # m, sum over scans
        self._silent = NoReturnFilter('unknown')

    def choose(self, timed: TimedScan, localizer: Localizer) -> str:
        """Return the order to use for a scan, after comparing all of them on it."""
        if not self._auto or timed.end is None or localizer.map is None or localizer.lost:
            return self.order
        turn = abs(float(relative(timed.begin, timed.end)[2]))
        if turn < TURN or localizer.odometry is None:
            return self.order
        motion = Motion(relative(localizer.odometry, timed.begin))
        prediction = compose(localizer.pose, motion.step)
        settings = localizer.settings
        for order in ORDERS:
            tried = ordered(timed, order)
            scan = prepare(
                tried.sweep, self._silent, begin=tried.begin, end=tried.end, mount=tried.mount
            )
            points = scan.points[scan.valid]
            surfels = make_surfels(points, scan.origin, settings.reach, settings.spacing)
            found = localizer.matcher.track(localizer.map, surfels, prediction, motion, [])
            misfit = found.inliers * found.residual + (1.0 - found.inliers) * settings.cutoff
            self._misfit[order] += misfit
        self.order = min(ORDERS, key=lambda order: self._misfit[order])
        return self.order
