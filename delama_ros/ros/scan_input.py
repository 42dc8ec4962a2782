"""Laser scans of a robot from its topic, with odometry and transforms; publishes map → odom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.time import Time
from sensor_msgs.msg import LaserScan

from delama_ros.geometry.grid import Pose
from delama_ros.localization.scan import Sweep
from delama_ros.robot.scan_buffer import ScanBuffer
from delama_ros.robot.timed_scan import TimedScan
from delama_ros.ros.conversions import seconds
from delama_ros.ros.poses import Poses


class ScanInput:
    """Subscribes to scans and poses; passes on each scan with the motion of the base."""

    def __init__(
        self,
        node: Node,
        options: Mapping[str, Any],
        *,
        peers: Callable[[], Iterable[str]],
        take: Callable[[TimedScan], None],
    ) -> None:
        """Subscribe; peers: names, take: receives the scans."""
        self._node = node
        self._quiet = options['quiet']
        self._tolerance = Duration(seconds=options['transform_tolerance'])
        self.correction: Pose | None = None  # of odom in the map, with slam
        self._published = -np.inf  # stamp of the odometry that map → odom was published for, s
        self._poses = Poses(
            node,
            self._on_poses,
            map_frame=options['map_frame'],
            mode=options['localization'],
            namespaced=options['namespaced_tf'],
        )
        log = node.get_logger()
        self.buffer = ScanBuffer(
            options,
            self._poses.frames,
            peers=peers,
            take=take,
            info=log.info,
            warn=lambda text: log.warning(text, throttle_duration_sec=5.0),
        )
        self._subscription = node.create_subscription(
            LaserScan, 'scan', self._on_scan, qos_profile_sensor_data
        )

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)
        self._poses.close()

    def problems(self) -> list[str]:
        """Return what is wrong at present."""
        return [
            *self.buffer.problems(self._node.resolve_topic_name('scan')),
            *self._poses.problems(self._quiet),
        ]

    def _on_poses(self) -> None:
        self.buffer.process()
        buffer, correction = self.buffer, self.correction
        if correction is None or buffer.mode != 'slam':
            return
        stamp = self._poses.frames.newest(buffer.base)
        if stamp > self._published:  # once per odometry message, however TF is split
            self._published = stamp
            later = Time(seconds=stamp) + self._tolerance
            self._poses.publish(buffer.odom, correction, later.to_msg())

    def _on_scan(self, message: LaserScan) -> None:
        try:
            sweep = read_scan(message)
        except ValueError as error:
            self.buffer.refuse(str(error))
            return
        now = self._node.get_clock().now().nanoseconds * 1e-9
        self.buffer.add(seconds(message.header.stamp), message.header.frame_id, sweep, now)


def read_scan(message: LaserScan) -> Sweep:
    """Convert a message; ValueError says why it is of no use."""
    sweep = Sweep(
        np.asarray(message.ranges, np.float64),
        message.angle_min,
        message.angle_increment,
        message.range_min,
        message.range_max,
        max(message.time_increment, 0.0),
    )
    if not (sweep.ranges >= sweep.range_min).any():
        raise ValueError(
            f'no valid range: all {sweep.ranges.size} readings are NaN or below range_min '
            f'({sweep.range_min:g} m)'
        )
    return sweep
