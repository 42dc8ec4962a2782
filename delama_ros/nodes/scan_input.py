"""Laser scans of a robot, each with the pose it was taken from and where neighbours stood."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import LaserScan

from delama_ros.mapping.evidence import Scan, within
from delama_ros.nodes.frames import JUMP, FrameError
from delama_ros.nodes.poses import Poses, seconds
from delama_sim.grid import Pose

PEER_AGE = 0.5  # s that a neighbour's pose may be old when its body is masked
PATIENCE = 1.0  # s of wall time that a scan waits for its transform
AHEAD = 60.0  # s that a scan's stamp may be ahead of the clock
FAR = 1_000.0  # m from the map's origin beyond which neighbours would refuse tiles (max_index)

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
        self._quiet = options['quiet']
        self._neighbours = neighbours
        self._take = take
        self._waiting: deque[tuple[float, LaserScan]] = deque(maxlen=1000)  # with time of arrival
        self._last = time.monotonic()  # arrival of the newest scan
        self._stamp = -np.inf  # of it, s
        self._fault = (-np.inf, '')  # when a scan was of no use last, and why
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

    def problems(self) -> list[str]:
        """Say what is wrong at present."""
        now, quiet = time.monotonic(), self._quiet
        silent = [
            f'no {what} for {quiet:g} s on {topic}'
            for what, last, topic in (
                ('scan', self._last, self._node.resolve_topic_name('scan')),
                ('pose', self._poses.last, self._poses.topic),
            )
            if now - last > quiet
        ]
        when, fault = self._fault
        return [*silent, *([fault] if now - when < quiet else [])]

    def _on_scan(self, message: LaserScan) -> None:
        self._last = time.monotonic()
        stamp, now = seconds(message.header.stamp), self._node.get_clock().now().nanoseconds * 1e-9
        if now and stamp - now > AHEAD:  # a simulated clock says 0 as long as nobody has set it
            self._warn(f'scan dropped: its stamp is {stamp - now:.0f} s ahead of the clock')
            return
        if stamp < self._stamp - JUMP:
            self._warn(f'the clock has jumped back to {stamp:.1f} s: scans before are dropped')
            self._waiting.clear()
            self._poses.frames.forget(stamp)
        self._stamp = stamp
        self._waiting.append((self._last, message))
        self._work_off()

    def _work_off(self) -> None:
        while self._waiting:
            arrived, message = self._waiting[0]
            stamp, frame = seconds(message.header.stamp), message.header.frame_id
            try:
                pose = self._poses.frames.lookup(self._frame, frame, stamp)
            except FrameError as error:
                if time.monotonic() - arrived < PATIENCE:
                    return
                self._waiting.popleft()
                self._warn(f'scan dropped: {error}')
                continue
            self._waiting.popleft()
            try:
                scan = read_scan(message, hangs=self._poses.frames.hangs(self._frame, frame))
                if max(abs(pose[0]), abs(pose[1])) > FAR:
                    raise ValueError(f'its pose is {pose[:2]}, expected less than {FAR:g} m')
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
        self._fault = time.monotonic(), text
        self._node.get_logger().warning(text, throttle_duration_sec=5.0)


def read_scan(message: LaserScan, *, hangs: bool = False) -> Scan:
    """Read a scan, from the underside if the laser hangs; ValueError says why it is of no use."""
    scan = Scan(
        np.asarray(message.ranges, np.float64),
        message.angle_min,
        message.angle_increment,
        message.range_min,
        message.range_max,
    )
    if not (scan.ranges >= scan.range_min).any():
        raise ValueError(
            f'none of its {scan.ranges.size} ranges is a number from {scan.range_min:g} m on'
        )
    if hangs:
        return replace(scan, angle_min=-scan.angle_min, angle_increment=-scan.angle_increment)
    return scan
