"""Replays logs side by side: scans and poses of several robots in order of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from delama_ros.data.log import Reading
from delama_ros.geometry.grid import Floats, Pose

NANO = 10**9
BEGIN = 1.0  # s of the first scan: in ROS, time 0 means no time


class Playback:
    """Steps through ticks of a steady clock and the scans between them; times in ns.

    Recordings that overlap in time keep their offsets; others all start together.
    """

    def __init__(self, robots: Mapping[str, Sequence[Reading]], *, tick: float = 0.05) -> None:
        """Prepare; tick: s between ticks, may be changed later in ns."""
        self.time = 0
        self.tick = round(tick * NANO)
        first = {name: readings[0].stamp for name, readings in robots.items()}
        if max(first.values()) < min(readings[-1].stamp for readings in robots.values()):
            first = dict.fromkeys(robots, min(first.values()))
        self._trajectories: dict[str, tuple[Floats, Floats]] = {}  # s (N,) and poses (N, 3)
        scans: list[tuple[int, str, Reading]] = []
        for name, readings in robots.items():
            times = BEGIN + np.array([reading.stamp for reading in readings]) - first[name]
            poses = np.array([reading.pose for reading in readings])
            poses[:, 2] = np.unwrap(poses[:, 2])
            self._trajectories[name] = times, poses
            scans += [(round(t * NANO), name, r) for t, r in zip(times, readings, strict=True)]
        self._scans = sorted(scans, key=lambda scan: scan[0])
        self._next = 0  # index of the next scan

    @property
    def end(self) -> float:
        """Time of the last scan, s."""
        return self._scans[-1][0] / NANO

    @property
    def ended(self) -> bool:
        """Whether all scans have been played; the clock continues."""
        return self._next == len(self._scans)

    def next_event(self) -> int:
        """Return the time of the next tick or scan."""
        tick = (self.time // self.tick + 1) * self.tick
        return tick if self.ended else min(tick, self._scans[self._next][0])

    def advance(self) -> list[tuple[str, Reading]]:
        """Advance to the next event and return its scans, by robot."""
        self.time = self.next_event()
        taken = []
        while not self.ended and self._scans[self._next][0] <= self.time:
            taken.append(self._scans[self._next][1:])
            self._next += 1
        return taken

    def pose(self, robot: str) -> Pose:
        """Return the current pose of a robot's sensor; outside its log the robot stands still."""
        times, poses = self._trajectories[robot]
        x, y, yaw = (float(np.interp(self.time / NANO, times, poses[:, k])) for k in range(3))
        return x, y, yaw
