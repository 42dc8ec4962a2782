"""What robots say to each other over ROS 2: shared topics, who may be heard, bytes, clock skew."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

from delama_ros.msg import DualVar, Links, ModelParams
from delama_ros.nodes.maps import LATCHED
from delama_ros.nodes.poses import seconds
from delama_ros.nodes.wire import dual_from_ros, dual_to_ros, packet_from_ros, packet_to_ros
from delama_ros.transport.port import Packet, Wire
from delama_ros.transport.size import wire_bytes

# Deep enough for all rounds of a step from twenty neighbours.
QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=500, reliability=ReliabilityPolicy.RELIABLE
)


class Exchange:
    """Sends the agent's messages and hands in the neighbours'."""

    def __init__(
        self,
        node: Node,
        beside: Node,
        robot: str,
        options: Mapping[str, Any],
        *,
        heard: Callable[[Wire], None],
        refused: Callable[[str, str], None],
        linked: Callable[[float, set[str]], None],
    ) -> None:
        """Open the topics on `node`, with the names and the clock of the node `beside` it.

        `linked` is called with whom a radio lets the robot hear, and when.
        """
        self._clock = beside.get_clock()
        self._robot = robot
        self._frame = options['map_frame']
        self._heard = heard
        self._refused = refused
        self._linked = linked
        self._period = options['period']
        self._links: deque[tuple[float, set[str]]] = deque(maxlen=100)  # by stamp, s
        self._known: set[str] = set()
        self.sent = 0  # bytes, serialised
        self.heard_bytes: Counter[str] = Counter()  # by sender
        self.last = time.monotonic()  # arrival of the newest message
        self.skew: dict[str, float] = {}  # s that a neighbour's stamps are behind our clock
        # Every watched event costs time with each message; the node beside shows what is wrong.
        quiet_out = PublisherEventCallbacks(use_default_callbacks=False)
        quiet_in = SubscriptionEventCallbacks(use_default_callbacks=False)
        dual, params, links = (
            beside.resolve_topic_name(f'{options["swarm"]}/{name}')
            for name in ('dual', 'params', 'links')
        )
        self._duals = node.create_publisher(DualVar, dual, QOS, event_callbacks=quiet_out)
        self._params = node.create_publisher(ModelParams, params, QOS, event_callbacks=quiet_out)
        for kind, topic, callback, qos in (
            (DualVar, dual, self._on_message, QOS),
            (ModelParams, params, self._on_message, QOS),
            (Links, links, self._on_links, LATCHED),
        ):
            node.create_subscription(kind, topic, callback, qos, event_callbacks=quiet_in)

    @property
    def known(self) -> set[str]:
        """Robots that are known to be there, heard or not."""
        return self._known

    def send(self, wire: Wire) -> None:
        """Say something to all who hear it."""
        if isinstance(wire, Packet):
            out, publisher = packet_to_ros(wire), self._params
        else:
            out, publisher = dual_to_ros(wire), self._duals
        out.header.stamp = self._clock.now().to_msg()
        out.header.frame_id = self._frame
        data = serialize_message(out)
        self.sent += len(data)
        publisher.publish(data)

    def _on_links(self, message: Links) -> None:
        if self._robot in message.robots:
            row = message.robots.index(self._robot) * len(message.robots)
            pairs = zip(message.robots, message.hears[row:], strict=False)
            names = {name for name, hears in pairs if hears} - {self._robot}
            stamp = seconds(message.header.stamp)
            self._links.append((stamp, names))
            self._known = set(message.robots) - {self._robot}
            self._linked(stamp, names)

    def _in_reach(self, sender: str, step: int) -> bool:
        """Tell whether the radio carries a sender's messages of a step; without one, always."""
        held = [names for stamp, names in self._links if stamp <= step * self._period + 1e-6]
        return not self._links or sender in (held or [self._links[0][1]])[-1]

    def _on_message(self, message: DualVar | ModelParams) -> None:
        sender = message.robot
        if sender == self._robot or not self._in_reach(sender, message.step):
            return
        self.last = time.monotonic()
        self._known = self._known | {sender}
        now = self._clock.now().nanoseconds * 1e-9
        self.skew[sender] = now - seconds(message.header.stamp)
        read = dual_from_ros if isinstance(message, DualVar) else packet_from_ros
        try:
            content: Wire = read(message)
        except ValueError as error:
            self._refused(sender, f'malformed: {error}')
            return
        self.heard_bytes[sender] += wire_bytes(content, message.header.frame_id)
        self._heard(content)
