"""Conversions between our types and ROS messages: stamps, poses, maps, status."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import Pose as RosPose
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import OccupancyGrid
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from std_msgs.msg import Header

from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.geometry.poses import yaw_of
from delama_ros.msg import PeerStatus, RobotStatus
from delama_ros.robot.status import Status

# Late subscribers receive the last message.
LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


def seconds(stamp: Stamp) -> float:
    """Return a time stamp in seconds."""
    return float(Time.from_msg(stamp).nanoseconds) * 1e-9


def pose_to_ros(pose: Pose) -> RosPose:
    """Convert a pose in the plane."""
    message = RosPose()
    message.position.x, message.position.y, yaw = pose
    message.orientation.z, message.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return message


def pose_from_ros(message: RosPose) -> Pose:
    """Convert a message to a pose in the plane."""
    place, turn = message.position, message.orientation
    return place.x, place.y, yaw_of(turn.x, turn.y, turn.z, turn.w)


def transform(parent: str, child: str, pose: Iterable[float], stamp: Stamp) -> TransformStamped:
    """Return a transform: the pose (x, y, yaw) of a frame in its parent."""
    link = TransformStamped(child_frame_id=child)
    link.header.frame_id, link.header.stamp = parent, stamp
    x, y, yaw = (float(value) for value in pose)
    link.transform.translation.x, link.transform.translation.y = x, y
    link.transform.rotation.z, link.transform.rotation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return link


def occupancy_to_ros(occupancy: OccupancyMap) -> OccupancyGrid:
    """Convert a map; the sender fills in the header."""
    grid = OccupancyGrid()
    grid.info.resolution = occupancy.resolution
    grid.info.height, grid.info.width = occupancy.shape
    grid.info.origin = pose_to_ros(occupancy.origin)
    grid.data.frombytes(occupancy.cells.tobytes())
    return grid


def occupancy_from_ros(grid: OccupancyGrid) -> OccupancyMap:
    """Convert a message to a map."""
    return OccupancyMap(
        np.asarray(grid.data, np.int8).reshape(grid.info.height, grid.info.width),
        grid.info.resolution,
        pose_from_ros(grid.info.origin),
    )


def status_to_ros(status: Status, header: Header) -> RobotStatus:
    """Convert a robot's status."""
    values = {**vars(status)}
    peers, refused, here = (values.pop(name) for name in ('peers', 'refused', 'localization'))
    values['problems'] = [text[:256] for text in values['problems'][:64]]
    return RobotStatus(
        header=header,
        **values,
        refusals=list(refused),
        refused=list(refused.values()),
        localization_state=int(here.state),
        match_quality=here.match_quality,
        drift=here.drift,
        loops=here.loops,
        keyframes=here.keyframes,
        peers=[
            PeerStatus(**{**vars(peer), 'state': int(peer.state), 'frame': int(peer.frame)})
            for peer in peers
        ],
    )
