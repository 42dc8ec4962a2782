"""A recording in memory: laser scans, each with the pose of its sensor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.mapping.scan import Scan


class LogError(ValueError):
    """A recording that cannot be used: the text names file, line or topic, and the remedy."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One laser scan and the pose of its sensor."""

    stamp: float  # s, increasing within a log
    scan: Scan
    pose: Pose  # of the sensor, in the same frame throughout the log
    key: float | None = None  # stamp by which relations name the scan; None: `stamp`
    sweep: tuple[Pose, Pose] | None = None  # sensor poses at its first beam and after its last

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.stamp, *self.pose))):
            raise ValueError(f'stamp {self.stamp} and pose {self.pose}, expected finite numbers')


@dataclass(frozen=True, eq=False)
class Log:
    """A recording of one robot."""

    name: str
    readings: tuple[Reading, ...]
    truth: OccupancyMap | None = None  # the true map, if the recording contains one
    notes: tuple[str, ...] = ()  # what was skipped or assumed while reading

    @property
    def duration(self) -> float:
        """Seconds from the first scan to the last."""
        return self.readings[-1].stamp - self.readings[0].stamp if self.readings else 0.0


def in_order(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """Sort by time; of readings with the same stamp keep the first."""
    by_stamp: dict[float, Reading] = {}
    for reading in readings:
        by_stamp.setdefault(reading.stamp, reading)
    return tuple(by_stamp[stamp] for stamp in sorted(by_stamp))
