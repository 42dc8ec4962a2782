"""The last few poses: other predictions than the newest odometry step, for odometry that lags."""

from __future__ import annotations

import numpy as np

from delama_ros.localization.se2 import Floats, compose, inverse, relative

LENGTH = 6  # scans


class History:
    """Stamps, odometry and poses of the last scans."""

    def __init__(self) -> None:
        self.rows: list[Floats] = []  # (7,) stamp, odometry, pose

    def add(self, stamp: float, odometry: Floats, pose: Floats) -> None:
        """Remember a scan and forget the oldest."""
        self.rows.append(np.concatenate([[stamp], odometry, pose]))
        del self.rows[:-LENGTH]

    def clear(self) -> None:
        """Forget everything, since the robot is somewhere else."""
        self.rows.clear()

    def move(self, before: Floats, after: Floats) -> None:
        """Follow a correction of the map that took the pose `before` to `after`."""
        shift = compose(after, inverse(before))
        for row in self.rows:
            row[4:] = compose(shift, row[4:])

    def predictions(self, stamp: float, odometry: Floats) -> list[Floats]:
        """Poses (3,) at a stamp by constant velocity, and by odometry since older scans."""
        if len(self.rows) < 2:
            return []
        last, previous = self.rows[-1], self.rows[-2]
        step = relative(previous[4:], last[4:])
        elapsed = last[0] - previous[0]
        share = float(np.clip((stamp - last[0]) / elapsed, 0.0, 3.0)) if elapsed > 0 else 1.0
        out = [compose(last[4:], share * step)]
        for row in (self.rows[max(-3, -len(self.rows))], self.rows[0]):
            out.append(compose(row[4:], relative(row[1:4], odometry)))
        return out
