"""A laser scan with the motion of the robot's base while it was taken."""

from __future__ import annotations

from dataclasses import dataclass

from delama_ros.geometry.grid import Pose
from delama_ros.localization.scan import Sweep


@dataclass(frozen=True, eq=False)
class TimedScan:
    """A scan with the motion of the base while it was taken.

    The fixed frame is the map with mode tf, odom otherwise.
    """

    stamp: float  # s, of the first beam
    sweep: Sweep
    begin: Pose  # of the base in the fixed frame, at the stamp
    end: Pose | None  # at the end of the sweep; None if that is not known
    mount: Pose  # of the laser, in the base frame
    mode: str  # slam, tf or odometry
    peers: list[tuple[float, float]]  # positions of peers in the map
