"""Messages between robots over ROS 2: the topics that all robots share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

from delama_ros.msg import DualVar, Links, ModelParams
from delama_ros.robot.runtime import Runtime
from delama_ros.ros.conversions import LATCHED, seconds
from delama_ros.ros.wire import dual_from_ros, dual_to_ros, packet_from_ros, packet_to_ros
from delama_ros.transport.port import Packet, Wire
from delama_ros.transport.size import wire_bytes

# Deep enough for all rounds of a step with twenty neighbours.
QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=500, reliability=ReliabilityPolicy.RELIABLE
)


class Exchange:
    """Publishes the robot's messages and passes those of peers to its runtime."""

    def __init__(
        self,
        node: Node,
        main: Node,
        options: Mapping[str, Any],
        runtime: Runtime,
        do: Callable[..., None],
    ) -> None:
        """Open the topics.

        Args:
            node: the node that publishes and subscribes.
            main: the robot's main node, whose namespace, remappings and clock apply.
            options: values of the parameters in `parameters.ROBOT`.
            runtime: receives what peers send.
            do: calls a function of the runtime on the robot's worker.
        """
        self._clock = main.get_clock()
        self._frame = options['map_frame']
        self._runtime, self._do = runtime, do
        # Every event that is watched costs time per message; the main node reports QoS mismatches.
        no_out = PublisherEventCallbacks(use_default_callbacks=False)
        no_in = SubscriptionEventCallbacks(use_default_callbacks=False)
        dual, params, links = (
            main.resolve_topic_name(f'{options["swarm"]}/{name}')
            for name in ('dual', 'params', 'links')
        )
        self._duals = node.create_publisher(DualVar, dual, QOS, event_callbacks=no_out)
        self._params = node.create_publisher(ModelParams, params, QOS, event_callbacks=no_out)
        for kind, topic, callback, qos in (
            (DualVar, dual, self._on_message, QOS),
            (ModelParams, params, self._on_message, QOS),
            (Links, links, self._on_links, LATCHED),
        ):
            node.create_subscription(kind, topic, callback, qos, event_callbacks=no_in)

    def send(self, wire: Wire) -> int:
        """Publish a message to all peers; returns its size in bytes."""
        if isinstance(wire, Packet):
            message, publisher = packet_to_ros(wire), self._params
        else:
            message, publisher = dual_to_ros(wire), self._duals
        message.header.stamp = self._clock.now().to_msg()
        message.header.frame_id = self._frame
        data = serialize_message(message)
        publisher.publish(data)
        return len(data)

    def _on_links(self, message: Links) -> None:
        name = self._runtime.name
        if name not in message.robots:
            return
        row = message.robots.index(name) * len(message.robots)
        pairs = zip(message.robots, message.hears[row:], strict=False)
        received = frozenset(peer for peer, hears in pairs if hears) - {name}
        known = frozenset(message.robots) - {name}
        self._do(self._runtime.set_links, seconds(message.header.stamp), received, known)

    def _on_message(self, message: DualVar | ModelParams) -> None:
        runtime, sender = self._runtime, message.robot
        if not runtime.accepts(sender, message.step):
            return
        now = self._clock.now().nanoseconds * 1e-9
        clock_offset = now - seconds(message.header.stamp)
        read = dual_from_ros if isinstance(message, DualVar) else packet_from_ros
        try:
            content: Wire = read(message)
        except ValueError as error:
            self._do(runtime.add_malformed, sender, str(error), clock_offset)
            return
        size = wire_bytes(content, message.header.frame_id)
        self._do(runtime.add_message, content, size, clock_offset)
