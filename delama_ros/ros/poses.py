"""Poses of sensors and peers over time: from TF, and from the topic odom."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from tf2_msgs.msg import TFMessage

from delama_ros.geometry.grid import Pose
from delama_ros.geometry.rigid import Rigid, checked
from delama_ros.ros.conversions import seconds, transform
from delama_ros.ros.tf_buffer import make_frames

TF = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
TF_FIXED = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Receives from reliable and from best-effort publishers, such as the Create 3.
ODOM = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)

SENT = 100  # own transforms remembered, to recognise those of others


class Poses:
    """Fills a transform tree from topics, and publishes map → odom for a robot with slam.

    Odometry comes from TF or, where TF has none, from the topic `odom`.
    """

    def __init__(
        self,
        node: Node,
        changed: Callable[[], None],
        *,
        map_frame: str,
        mode: str,
        namespaced: bool,
    ) -> None:
        """Subscribe.

        Args:
            node: subscribes and publishes.
            changed: called whenever poses have arrived.
            map_frame: of the map.
            mode: slam, tf, odometry or auto, see `parameters.ROBOT`.
            namespaced: whether TF is in the namespace of the robot.
        """
        self.frames = make_frames()
        self.foreign = False  # whether another node publishes map → odom although we do
        self._last = time.monotonic()  # arrival of the newest pose
        self._changed = changed
        self._node = node
        self._warn = node.get_logger().warning
        self._on_tf_frames: set[str] = set()  # frames that TF moves
        self._map_frame, self._odometry = map_frame, mode == 'odometry'
        self._sent: deque[tuple[int, int]] = deque(maxlen=SENT)  # stamps
        self._odom = ''  # frame whose pose in the map we publish, once we do
        tf = 'tf' if namespaced else '/tf'
        self._topic = node.resolve_topic_name('odom' if self._odometry else tf)
        self._out = node.create_publisher(TFMessage, tf, TF) if mode in ('slam', 'auto') else None
        self._subscriptions = [
            node.create_subscription(TFMessage, f'{tf}_static', self._on_tf_fixed, TF_FIXED)
        ]
        if not self._odometry:
            self._subscriptions.append(node.create_subscription(TFMessage, tf, self._on_tf, TF))
        if mode != 'tf':
            self._subscriptions.append(
                node.create_subscription(Odometry, 'odom', self._on_odometry, ODOM)
            )

    def close(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        if self._out is not None:
            self._node.destroy_publisher(self._out)

    def publish(self, odom: str, correction: Pose, stamp: Any) -> None:
        """Publish the pose of the odom frame in the map."""
        assert self._out is not None
        self._odom = odom
        self._sent.append((stamp.sec, stamp.nanosec))
        link = transform(self._map_frame, odom, correction, stamp)
        self._out.publish(TFMessage(transforms=[link]))

    def problems(self, quiet: float) -> list[str]:
        """Return what is wrong at present; quiet: s without poses before that is a problem."""
        silent = time.monotonic() - self._last > quiet
        return [
            *([f'no pose for {quiet:g} s on {self._topic}'] if silent else []),
            *([f'another node publishes {self._map_frame} → {self._odom} too: stop it, or set '
               'localization to tf'] if self.foreign else []),
        ]

    def _on_tf_fixed(self, message: TFMessage) -> None:
        for link in message.transforms:
            child = link.child_frame_id
            pose = self._checked(child, link.transform.translation, link.transform.rotation)
            if pose is not None:
                self.frames.set_fixed(link.header.frame_id, child, pose)
        self._changed()

    def _on_tf(self, message: TFMessage) -> None:
        new = False
        for link in message.transforms:
            child, stamp = link.child_frame_id, link.header.stamp
            if child == self._odom:  # ours comes back, or another node's
                self.foreign |= (stamp.sec, stamp.nanosec) not in self._sent
                continue
            if child not in self._on_tf_frames:
                self._on_tf_frames.add(child)
                self.frames.forget_link(child)  # TF goes before the topic odom
            self._add(link.header, child, link.transform.translation, link.transform.rotation)
            new = True
        if new:
            self._changed()

    def _on_odometry(self, message: Odometry) -> None:
        child = message.child_frame_id
        if child in self._on_tf_frames:
            return
        place, turn = message.pose.pose.position, message.pose.pose.orientation
        self._add(message.header, child, place, turn)
        self._changed()

    def _add(self, header: Any, child: str, place: Any, turn: Any) -> None:
        pose, stamp = self._checked(child, place, turn), seconds(header.stamp)
        if pose is None:
            return
        self._last = time.monotonic()
        if not self.frames.add(header.frame_id, child, stamp, pose):
            self._warn(
                f'the clock jumped back to {stamp:.1f} s: earlier poses of {child!r} are dropped'
            )

    def _checked(self, child: str, place: Any, turn: Any) -> Rigid | None:
        """Return a pose, None (and log a warning) if it is invalid."""
        shift, quaternion = (place.x, place.y, place.z), (turn.x, turn.y, turn.z, turn.w)
        pose = checked(shift, quaternion)
        if pose is None:
            self._warn(
                f'pose of {child!r} refused: position {shift}, quaternion {quaternion}, '
                'expected finite numbers and a quaternion of length 1',
                throttle_duration_sec=5.0,
            )
        return pose
