"""The agent's messages as ROS messages, here and between two processes over DDS."""

import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest
import rclpy
from rclpy.serialization import deserialize_message, serialize_message

from delama_ros.core.agent.messages import Dual, ModelLabel, Params, Phase, label_of
from delama_ros.core.blocks import Model, encode
from delama_ros.msg import DualVar, Links, ModelParams
from delama_ros.ros.wire import dual_from_ros, dual_to_ros, packet_from_ros, packet_to_ros
from delama_ros.transport.port import Encoding, Packet, Port

PARAMS = Params(
    robot='alice',
    step=3,
    phase=Phase.UPDATE,
    round=2,
    fingerprint=2**64 - 5,
    model=Model(
        encode(np.array([[-1, 2], [3, -4]], np.int32)),
        np.random.default_rng(0).normal(size=(2, 32, 1)),
        np.random.default_rng(1).random((2, 36)),
        {'alice': 3, 'bob': 0},
    ),
)
DUAL = Dual(
    robot='alice',
    step=3,
    phase=Phase.DUAL,
    round=1,
    hop=2,
    fingerprint=7,
    names=('alice', 'bob'),
    x=np.array([0.25, 1e-300]),
    y=np.array([0.0, 2.0]),
)


def same(a: object, b: object) -> bool:
    if isinstance(a, (Model, Packet, Params, Dual)):
        return all(same(value, getattr(b, name)) for name, value in vars(a).items())
    return np.array_equal(a, b)


def test_interfaces_have_the_fields_that_robots_need() -> None:
    for kind in (DualVar, ModelParams):
        fields = kind.get_fields_and_field_types()
        assert next(iter(fields)) == 'header'
        assert {'robot', 'step', 'phase', 'round', 'fingerprint'} <= set(fields)
        assert fields['robot'] == 'string<64>'
        assert fields['fingerprint'] == 'uint64'
    assert DualVar.get_fields_and_field_types()['x'] == 'sequence<double, 1024>'
    assert ModelParams.get_fields_and_field_types()['data'] == 'sequence<uint8>'
    assert Links.get_fields_and_field_types()['hears'] == 'sequence<boolean>'


def test_phases_and_encodings_are_the_same_in_code_and_message() -> None:
    assert {p.name: int(p) for p in Phase if p.name in ('LOCAL', 'UPDATE')} == {
        'LOCAL': ModelParams.LOCAL,
        'UPDATE': ModelParams.UPDATE,
    }
    for name in ('DISTANCE', 'START', 'DUAL', 'FLOOD', 'WEIGHT'):
        assert int(Phase[name]) == getattr(DualVar, name)
    for encoding in Encoding:
        assert int(encoding) == getattr(ModelParams, encoding.name)


def packet(encoding: Encoding) -> Packet:
    wire = Port('alice', encoding).pack(PARAMS)
    assert isinstance(wire, Packet)
    return wire


def test_round_trip_through_bytes() -> None:
    exact = packet(Encoding.FLOAT64)
    wire = serialize_message(packet_to_ros(exact))
    back = packet_from_ros(deserialize_message(wire, ModelParams))
    assert same(back, exact)
    assert same(Port('bob', Encoding.FLOAT64).unpack(back), PARAMS)
    wire = serialize_message(dual_to_ros(DUAL))
    assert same(dual_from_ros(deserialize_message(wire, DualVar)), DUAL)


@dataclass(frozen=True)
class ListLabel(ModelLabel):
    """A label with lists, named as fields of ModelParams.msg that have their types."""

    sources: tuple[str, ...]
    epochs: tuple[int, ...]


def test_a_label_may_hold_lists() -> None:
    label = ListLabel('alice', 3, 6, 1, 7, ('alice', 'bob'), (3, 2**32 - 1), frame='a:1')
    wire = serialize_message(ModelParams(**label_of(label, ListLabel)))
    back = deserialize_message(wire, ModelParams)
    assert ListLabel(**label_of(back, ListLabel)) == label


def test_what_does_not_fit_is_refused() -> None:
    message = packet_to_ros(packet(Encoding.FLOAT64))
    message.blocks.append(1)
    with pytest.raises(ValueError, match='5 block indices'):
        packet_from_ros(message)
    message = packet_to_ros(packet(Encoding.FLOAT64))
    message.features = 31
    with pytest.raises(ValueError, match='1088 bytes for 2 blocks of 31 x 1'):
        Port('bob', Encoding.FLOAT64).unpack(packet_from_ros(message))
    message = dual_to_ros(DUAL)
    message.names = ['alice']
    with pytest.raises(ValueError, match='1 names, 2 x and 2 y'):
        dual_from_ros(message)


ECHO = """
import rclpy
from delama_ros.msg import DualVar, ModelParams
from delama_ros.ros.running import run

def make():
    node = rclpy.create_node('echo')
    for kind, name in ((DualVar, 'dual'), (ModelParams, 'params')):
        back = node.create_publisher(kind, name + '_back', 10)
        node.create_subscription(kind, name, back.publish, 10)
    return node

run('echo', make, lambda node: None)
"""


def test_round_trip_between_processes(ros_environment: dict[str, str]) -> None:
    echo = subprocess.Popen([sys.executable, '-c', ECHO], env=ros_environment)
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('asker', context=context)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    heard: dict[str, object] = {}
    sent = {'dual': dual_to_ros(DUAL), 'params': packet_to_ros(packet(Encoding.DELTA))}
    publishers = {}
    for name, message in sent.items():
        publishers[name] = node.create_publisher(type(message), name, 10)
        node.create_subscription(
            type(message), f'{name}_back', lambda m, name=name: heard.update({name: m}), 10
        )
    try:
        end = time.monotonic() + 120
        while len(heard) < 2 and time.monotonic() < end:
            for name, publisher in publishers.items():
                if name not in heard:  # the first ones may be lost: nobody is there yet
                    publisher.publish(sent[name])
            executor.spin_once(timeout_sec=0.2)
        assert heard == sent
    finally:
        echo.terminate()
        assert echo.wait(60) == 0
        node.destroy_node()
        rclpy.try_shutdown(context=context)
