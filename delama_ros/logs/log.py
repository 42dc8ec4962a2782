"""The one in-memory form of a recording: laser scans, each with the pose of its sensor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from delama_ros.mapping.evidence import Scan
from delama_sim.grid import OccupancyMap, Pose


class LogError(ValueError):
    """A recording that cannot be used: the text names file, line or topic, and the cure."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One laser scan and where it was taken."""

    stamp: float  # s, increasing within a log
    scan: Scan
    pose: Pose  # of the sensor, in a frame that stays the same throughout the log

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.stamp, *self.pose))):
            raise ValueError(f'stamp {self.stamp} and pose {self.pose}, expected finite numbers')


@dataclass(frozen=True, eq=False)
class Log:
    """A recording of one robot."""

    name: str
    readings: tuple[Reading, ...]
    truth: OccupancyMap | None = None  # the true map, where the recording holds one
    notes: tuple[str, ...] = ()  # what had to be left out or assumed when it was read

    @property
    def duration(self) -> float:
        """Seconds from the first scan to the last."""
        return self.readings[-1].stamp - self.readings[0].stamp if self.readings else 0.0


def in_order(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """Sort by time; of readings with the same stamp the first stays."""
    by_stamp: dict[float, Reading] = {}
    for reading in readings:
        by_stamp.setdefault(reading.stamp, reading)
    return tuple(by_stamp[stamp] for stamp in sorted(by_stamp))
