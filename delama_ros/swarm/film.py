"""What an animation shows of each step: every robot's map, in which frame, where and how good."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from delama_ros.geometry.grid import UNKNOWN, OccupancyMap, Pose
from delama_ros.swarm.record import Record

MARGIN = 0.15  # m around the building that belong to it


@dataclass(frozen=True, eq=False)
class Shot:
    """One robot after one step; poses are in the building."""

    robot: str
    frame: str  # id of the frame that it maps in; '': that of the building
    place: Pose  # of that frame
    occupancy: OccupancyMap  # its map, where it is in the building
    pose: Pose  # of the robot


@dataclass
class Film:
    """Shots of a run, step by step, beside its figures."""

    record: Record
    shots: dict[int, list[Shot]] = field(default_factory=dict)

    def add(self, step: int, shots: Iterable[Shot]) -> None:
        """Add what all robots have after a step, without what they see of the street."""
        inside = (replace(shot, occupancy=self._indoors(shot.occupancy)) for shot in shots)
        self.shots[step] = sorted(inside, key=lambda shot: shot.robot)

    def _indoors(self, occupancy: OccupancyMap) -> OccupancyMap:
        truth = self.record.truth
        if truth is None:
            return occupancy
        known = truth.centre_of(*np.nonzero(truth.cells != UNKNOWN))
        rows, columns = np.indices(occupancy.shape)
        points = occupancy.centre_of(rows, columns)
        inside = (points > known.min(0) - MARGIN) & (points < known.max(0) + MARGIN)
        cells = np.where(inside.all(-1), occupancy.cells, UNKNOWN)
        return OccupancyMap(cells, occupancy.resolution, occupancy.origin)

    def f1(self, step: int, robot: str | None = None) -> float:
        """Return the F1 of one robot's map, or the mean over robots, in per cent."""
        scores = self.record.f1[step]
        return 100 * (scores[robot] if robot else sum(scores.values()) / len(scores))

    def sent(self, step: int) -> float:
        """Return the bytes that a robot has sent up to a step, mean over robots."""
        return sum(
            sum(row.values()) / len(row) for t, row in self.record.bytes.items() if t <= step
        )
