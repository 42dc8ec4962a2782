"""Laser scans of a robot, each with the pose it was taken from and where neighbours stood."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import LaserScan

from delama_ros.mapping.evidence import Scan, within
from delama_ros.nodes.frames import FrameError
from delama_ros.nodes.poses import Poses, seconds
from delama_sim.grid import Pose

PEER_AGE = 0.5  # s that a neighbour's pose may be old when its body is masked
PATIENCE = 1.0  # s that a scan waits for its transform while newer ones arrive

# Stamp in s, the scan, sensor pose in the map frame, positions of neighbours (P, 2).
Take = Callable[[float, Scan, Pose, list[tuple[float, float]]], None]


class ScanInput:
    """Buffers scans until their transform is known and hands them over in order."""

    def __init__(
        self,
        node: Node,
        options: Mapping[str, Any],
        start: Pose | None,
        neighbours: Callable[[], set[str]],
        take: Take,
    ) -> None:
        self._node = node
        self._frame = options['map_frame']
        self._peer_frame = options['peer_frame']
        self._reach = options['reach']
        self._neighbours = neighbours
        self._take = take
        self._waiting: deque[LaserScan] = deque()
        self.last = time.monotonic()  # arrival of the newest scan
        self.pose: Pose | None = None  # of the sensor at the newest scan taken
        self.peers: dict[str, Pose] = {}  # neighbours then, as far as TF knows
        self._poses = Poses(
            node,
            self._work_off,
            map_frame=self._frame,
            odometry=options['odometry'],
            start=start,
            namespaced=options['namespaced_tf'],
        )
        self._subscription = node.create_subscription(
            LaserScan, 'scan', self._on_scan, qos_profile_sensor_data
        )

    def close(self) -> None:
        """Stop listening."""
        self._node.destroy_subscription(self._subscription)
        self._poses.close(self._node)

    @property
    def waiting(self) -> int:
        """Scans whose transform is not known yet."""
        return len(self._waiting)

    def _on_scan(self, message: LaserScan) -> None:
        self.last = time.monotonic()
        self._waiting.append(message)
        self._work_off()

    def _work_off(self) -> None:
        while self._waiting:
            message = self._waiting[0]
            stamp = seconds(message.header.stamp)
            try:
                pose = self._poses.frames.lookup(self._frame, message.header.frame_id, stamp)
            except FrameError as error:
                if seconds(self._waiting[-1].header.stamp) - stamp < PATIENCE:
                    return
                self._waiting.popleft()
                self._warn(f'scan dropped: {error}')
                continue
            self._waiting.popleft()
            try:
                scan = Scan(
                    np.asarray(message.ranges, np.float64),
                    message.angle_min,
                    message.angle_increment,
                    message.range_min,
                    message.range_max,
                )
            except ValueError as error:
                self._warn(f'scan refused: {error}')
                continue
            self.pose, self.peers = pose, self._peers_at(stamp)
            peers = [peer[:2] for peer in self.peers.values()]
            self._take(stamp, within(scan, self._reach), pose, peers)

    def _peers_at(self, stamp: float) -> dict[str, Pose]:
        known = {}
        for name in self._neighbours():
            frame = self._peer_frame.format(robot=name)
            try:
                known[name] = self._poses.frames.lookup_near(self._frame, frame, stamp, PEER_AGE)
            except FrameError:
                continue
        return known

    def _warn(self, text: str) -> None:
        self._node.get_logger().warning(text, throttle_duration_sec=5.0)
