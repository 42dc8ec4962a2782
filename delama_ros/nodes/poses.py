"""Where sensors and neighbours are: TF, or odometry from a known start, kept by time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from tf2_msgs.msg import TFMessage

from delama_ros.nodes.frames import Frames
from delama_ros.nodes.maps import yaw_of
from delama_sim.grid import Pose

TF = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
TF_FIXED = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

LEVEL = 0.9  # cosine of the tilt beyond which a sensor is not level


class Poses:
    """Fills a tree of frames from a node's topics; `changed` is called when poses have arrived."""

    def __init__(
        self,
        node: Node,
        changed: Callable[[], None],
        *,
        map_frame: str,
        odometry: bool,
        start: Pose | None,
        namespaced: bool,
    ) -> None:
        """Subscribe; with odometry, base poses come from `odom`, which begins at `start`."""
        self.frames = Frames()
        self.last = time.monotonic()  # arrival of the newest pose
        self._changed = changed
        self._warn = node.get_logger().warning
        self._tilted: set[str] = set()  # frames about which that was said
        self._map_frame = map_frame
        self._start = start
        tf = 'tf' if namespaced else '/tf'
        self.topic = node.resolve_topic_name('odom' if odometry else tf)
        self._subscriptions = [
            node.create_subscription(TFMessage, f'{tf}_static', self._on_tf_fixed, TF_FIXED),
            node.create_subscription(Odometry, 'odom', self._on_odometry, 50)
            if odometry
            else node.create_subscription(TFMessage, tf, self._on_tf, TF),
        ]

    def close(self, node: Node) -> None:
        """Stop listening."""
        for subscription in self._subscriptions:
            node.destroy_subscription(subscription)

    def _on_tf_fixed(self, message: TFMessage) -> None:
        for link in message.transforms:
            child, turn = link.child_frame_id, link.transform.rotation
            pose = self._checked(child, link.transform.translation, turn)
            if pose is not None:
                self.frames.set_fixed(link.header.frame_id, child, pose, hangs=_hangs(turn))
        self._changed()

    def _on_tf(self, message: TFMessage) -> None:
        for link in message.transforms:
            place, turn = link.transform.translation, link.transform.rotation
            self._add(link.header, link.child_frame_id, place, turn)
        self._changed()

    def _on_odometry(self, message: Odometry) -> None:
        if self._start is not None:
            self.frames.set_fixed(self._map_frame, message.header.frame_id, self._start)
        place, turn = message.pose.pose.position, message.pose.pose.orientation
        self._add(message.header, message.child_frame_id, place, turn)
        self._changed()

    def _add(self, header: Any, child: str, place: Any, turn: Any) -> None:
        pose, stamp = self._checked(child, place, turn), seconds(header.stamp)
        if pose is None:
            return
        self.last = time.monotonic()
        if not self.frames.add(header.frame_id, child, stamp, pose, hangs=_hangs(turn)):
            self._warn(
                f'the clock has jumped back to {stamp:.1f} s: poses of {child!r} before are dropped'
            )

    def _checked(self, child: str, place: Any, turn: Any) -> Pose | None:
        """Read a pose; None, and a warning, if it is none."""
        numbers = (place.x, place.y, turn.x, turn.y, turn.z, turn.w)
        length = math.hypot(*numbers[2:])
        if not (all(map(math.isfinite, numbers)) and abs(length - 1.0) < 0.1):
            self._warn(
                f'pose of {child!r} refused: position {numbers[:2]}, quaternion {numbers[2:]}, '
                'expected finite numbers and a quaternion of length 1',
                throttle_duration_sec=5.0,
            )
            return None
        up = 1.0 - 2.0 * (turn.x**2 + turn.y**2)  # cosine of the angle to the vertical
        if abs(up) < LEVEL and child not in self._tilted:
            self._tilted.add(child)
            self._warn(f'{child!r} is tilted by {math.degrees(math.acos(up)):.0f} degrees: '
                       'a laser there would not see the plane of the map')
        return place.x, place.y, yaw_of(turn.x, turn.y, turn.z, turn.w)


def seconds(stamp: Any) -> float:
    """ROS time stamp in seconds."""
    return float(Time.from_msg(stamp).nanoseconds) * 1e-9


def _hangs(turn: Any) -> bool:
    """Whether a quaternion turns things upside down."""
    return bool(turn.x**2 + turn.y**2 > 0.5)
