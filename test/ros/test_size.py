"""Counted bytes are the bytes that ROS serialises."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import serialize_message

from delama_ros.core.agent.messages import Dual, Phase
from delama_ros.core.blocks import Shape
from delama_ros.ros.wire import dual_to_ros, packet_to_ros
from delama_ros.transport.port import Packet
from delama_ros.transport.size import wire_bytes

NAMES = st.lists(st.text('abcä_1', max_size=9), max_size=4)


def serialised(message: object, frame: str) -> int:
    message.header.frame_id = frame
    return len(serialize_message(message))


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.text('xyz', max_size=6), NAMES, st.integers(0, 5), st.binary(max_size=20))
def test_packets(frame: str, names: list[str], blocks: int, data: bytes) -> None:
    keys = np.zeros((blocks, 2), np.int32)
    packet = Packet(
        'robot' + frame, 3, 6, 1, 2**60, tuple(names), 1, Shape(32, 1, 36), keys, data,
        tuple(names), tuple(range(len(names))), frame=frame,
    )
    assert wire_bytes(packet, frame) == serialised(packet_to_ros(packet), frame)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.text('xyz', max_size=6), NAMES)
def test_duals(frame: str, names: list[str]) -> None:
    rows = np.zeros(len(names))
    dual = Dual('robot' + frame, 3, Phase.DUAL, 1, 2**60, 0, tuple(names), rows, rows)
    assert wire_bytes(dual, frame) == serialised(dual_to_ros(dual), frame)
