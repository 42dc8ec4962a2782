"""Messages between robots over ROS 2: the topics that all robots share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message

from delama_ros.msg import DualVar, Links, ModelParams
from delama_ros.robot.runtime import Runtime
from delama_ros.ros.conversions import LATCHED, seconds
from delama_ros.ros.inlet import Inlet, gid_of
from delama_ros.ros.wire import dual_from_ros, dual_to_ros, packet_from_ros, packet_to_ros
from delama_ros.transport.port import Packet, Wire

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
        runtime.border.own = {gid_of(publisher) for publisher in (self._duals, self._params)}
        self._inlets = [
            Inlet(
                node, kind, topic, QOS, partial(self._on_data, kind, topic),
                longest=runtime.border.longest,
            )
            for kind, topic in ((DualVar, dual), (ModelParams, params))
        ]
        if options['simulated_radio']:
            node.create_subscription(
                Links, links, self._on_links, LATCHED, event_callbacks=no_in
            )

    def close(self) -> None:
        """Stop receiving."""
        for inlet in self._inlets:
            inlet.close()

    def send(self, wire: Wire) -> int:
        """Publish a message to all peers; returns its size in bytes."""
        if isinstance(wire, Packet):
            message, publisher = packet_to_ros(wire), self._params
        else:
            message, publisher = dual_to_ros(wire), self._duals
        message.header.stamp = self._clock.now().to_msg()
        message.header.frame_id = self._frame
        key = self._runtime.key
        data = serialize_message(message)
        if key is not None:
            data = key.seal(data)
        publisher.publish(data)
        return len(data)

    def _on_links(self, message: Links) -> None:
        name, count = self._runtime.name, len(message.robots)
        if name not in message.robots or len(message.hears) != count**2:
            return
        row = message.robots.index(name) * count
        pairs = zip(message.robots, message.hears[row:], strict=False)
        received = frozenset(peer for peer, hears in pairs if hears) - {name}
        known = frozenset(message.robots) - {name}
        self._do(self._runtime.set_links, seconds(message.header.stamp), received, known)

    def _on_data(self, kind: Any, topic: str, data: bytes | int, publisher: bytes) -> None:
        self._do(self._take, kind, topic, data, publisher)

    def _take(self, kind: Any, topic: str, data: bytes | int, publisher: bytes) -> None:
        runtime = self._runtime
        now = self._clock.now().nanoseconds * 1e-9
        if not runtime.admit(data, topic, publisher, now) or isinstance(data, int):
            return
        name = ''
        try:
            message = deserialize_message(data, kind)
            name = message.robot
            read = dual_from_ros if kind is DualVar else packet_from_ros
            content: Wire = read(message)
        except Exception as error:  # rclpy raises errors of several kinds for bytes of no message
            runtime.add_malformed(name, str(error))
            return
        runtime.add_message(content)
