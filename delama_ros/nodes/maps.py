"""Maps as nav_msgs/OccupancyGrid, and the QoS that lets late subscribers have the last one."""

from __future__ import annotations

import math

import numpy as np
from geometry_msgs.msg import Pose as RosPose
from nav_msgs.msg import OccupancyGrid
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from delama_sim.grid import OccupancyMap, Pose

LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


def yaw_of(x: float, y: float, z: float, w: float) -> float:
    """Heading of a quaternion, rad."""
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def pose_to_ros(pose: Pose) -> RosPose:
    """Write a pose in the plane."""
    message = RosPose()
    message.position.x, message.position.y, yaw = pose
    message.orientation.z, message.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return message


def occupancy_to_ros(occupancy: OccupancyMap) -> OccupancyGrid:
    """Write a map; the header is left to the sender."""
    grid = OccupancyGrid()
    grid.info.resolution = occupancy.resolution
    grid.info.height, grid.info.width = occupancy.shape
    grid.info.origin = pose_to_ros(occupancy.origin)
    grid.data.frombytes(occupancy.cells.tobytes())
    return grid


def occupancy_from_ros(grid: OccupancyGrid) -> OccupancyMap:
    """Read a map."""
    origin = grid.info.origin
    rotation = origin.orientation
    return OccupancyMap(
        np.asarray(grid.data, np.int8).reshape(grid.info.height, grid.info.width),
        grid.info.resolution,
        (
            origin.position.x,
            origin.position.y,
            yaw_of(rotation.x, rotation.y, rotation.z, rotation.w),
        ),
    )
