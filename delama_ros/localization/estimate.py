"""What the localizer says about one scan."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from delama_ros.localization.se2 import Floats


class Status(Enum):
    """How a scan was localised."""

    TRACKING = 'tracking'  # matched, all directions constrained
    WEAK = 'weak'  # matched, but a direction (or all) is left to odometry
    FAILED = 'failed'  # did not match; the pose is odometry's, nothing is kept
    LOST = 'lost'  # did not match several times; nothing is kept until found again
    RELOCALISED = 'relocalised'  # found again with this scan

    @property
    def trusted(self) -> bool:
        """Whether evidence may be mapped at the pose."""
        return self not in (Status.FAILED, Status.LOST)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Pose of one scan and what else the caller has to know."""

    stamp: float  # s
    pose: Floats  # (3,) x, y (m), yaw (rad) in the map frame
    covariance: Floats  # (3, 3) of that pose in map axes
    status: Status
    quality: float  # 0..1, share of points with a partner in the map; lower if they are few
    residual: float  # m, mean distance of these points from their partners' lines
    weak: Floats | None  # (3,) unit direction (x, y, yaw) in which scans say nothing, or None
    drift: float  # m, standard deviation of the position accumulated since the last loop
    keyframe: int | None = None  # id of the keyframe made of this scan
    loops: tuple[tuple[int, int], ...] = ()  # (old, new) keyframes joined by loops just closed
    moved: dict[int, Floats] = field(default_factory=dict)  # poses of keyframes that moved
    removed: tuple[int, ...] = ()  # keyframes forgotten; what was mapped from them stays
