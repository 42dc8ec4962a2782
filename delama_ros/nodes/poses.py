"""Where sensors and neighbours are: TF, or odometry from a known start, kept by time."""

from __future__ import annotations

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


class Poses:
    """Fills a tree of frames from a node's topics; `changed` is called when poses have arrived."""

    def __init__(
        self,
        node: Node,
        changed: Any,
        *,
        map_frame: str,
        odometry: bool,
        start: Pose | None,
        namespaced: bool,
    ) -> None:
        """Subscribe; with odometry, base poses come from `odom`, which begins at `start`."""
        self.frames = Frames()
        self._changed = changed
        self._warn = node.get_logger().warning
        self._map_frame = map_frame
        self._start = start
        self._tf_topic = 'tf' if namespaced else '/tf'
        self._subscriptions = [
            node.create_subscription(
                TFMessage, f'{self._tf_topic}_static', self._on_tf_fixed, TF_FIXED
            ),
            node.create_subscription(Odometry, 'odom', self._on_odometry, 50)
            if odometry
            else node.create_subscription(TFMessage, self._tf_topic, self._on_tf, TF),
        ]

    def close(self, node: Node) -> None:
        """Stop listening."""
        for subscription in self._subscriptions:
            node.destroy_subscription(subscription)

    def _on_tf_fixed(self, message: TFMessage) -> None:
        for link in message.transforms:
            tilt = link.transform.rotation
            if tilt.x**2 + tilt.y**2 > 0.5:
                self._warn(
                    f'{link.child_frame_id!r} hangs upside down on {link.header.frame_id!r}: its '
                    'scans would be mapped mirrored; turn the scan or the frame over'
                )
            self.frames.set_fixed(
                link.header.frame_id,
                link.child_frame_id,
                _pose(link.transform.translation, link.transform.rotation),
            )

    def _on_tf(self, message: TFMessage) -> None:
        for link in message.transforms:
            self.frames.add(
                link.header.frame_id,
                link.child_frame_id,
                seconds(link.header.stamp),
                _pose(link.transform.translation, link.transform.rotation),
            )
        self._changed()

    def _on_odometry(self, message: Odometry) -> None:
        if self._start is not None:
            self.frames.set_fixed(self._map_frame, message.header.frame_id, self._start)
        self.frames.add(
            message.header.frame_id,
            message.child_frame_id,
            seconds(message.header.stamp),
            _pose(message.pose.pose.position, message.pose.pose.orientation),
        )
        self._changed()


def seconds(stamp: Any) -> float:
    """ROS time stamp in seconds."""
    return float(Time.from_msg(stamp).nanoseconds) * 1e-9


def _pose(position: Any, rotation: Any) -> Pose:
    return position.x, position.y, yaw_of(rotation.x, rotation.y, rotation.z, rotation.w)
