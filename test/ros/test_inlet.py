"""What the inlet receives: the bytes of the message, and the publisher that the graph names."""

import time
from collections.abc import Iterator

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message

from delama_ros.msg import DualVar
from delama_ros.ros.exchange import QOS
from delama_ros.ros.inlet import Inlet, gid_of
from delama_ros.transport.envelope import SEAL, SwarmKey, read_envelope


@pytest.fixture
def nodes(ros_environment: dict[str, str]) -> Iterator[tuple[Node, Node, SingleThreadedExecutor]]:
    context = rclpy.Context()
    rclpy.init(context=context)
    nodes = [rclpy.create_node(name, context=context) for name in ('here', 'there')]
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(nodes[0])
    yield nodes[0], nodes[1], executor
    for node in nodes:
        node.destroy_node()
    rclpy.try_shutdown(context=context)


def test_bytes_and_publishers(nodes: tuple[Node, Node, SingleThreadedExecutor]) -> None:
    here, there, executor = nodes
    got: list[tuple[bytes | int, bytes]] = []
    inlet = Inlet(here, DualVar, '/dual', QOS, lambda *given: got.append(given), longest=5000)
    publishers = [there.create_publisher(DualVar, '/dual', QOS) for _ in range(2)]
    end = time.monotonic() + 30
    while any(p.get_subscription_count() == 0 for p in publishers):
        assert time.monotonic() < end
        time.sleep(0.05)
    label = {'robot': 'bob', 'step': 7, 'phase': 5, 'round': 3, 'fingerprint': 2**63}
    sent = DualVar(**label, names=['a'], x=[1.0], y=[1.0])
    sent.header.stamp.sec, sent.header.frame_id = 12, 'map'
    large = DualVar(robot='eve', names=['x' * 60] * 100, x=[0.0], y=[0.0])
    publishers[0].publish(sent)
    publishers[1].publish(large)
    while len(got) < 2:
        assert time.monotonic() < end
        executor.spin_once(timeout_sec=0.1)
    by_publisher = {gid: data for data, gid in got}
    gids = [gid_of(publisher) for publisher in publishers]
    assert set(by_publisher) == set(gids)
    known = {bytes(p.endpoint_gid) for p in here.get_publishers_info_by_topic('/dual')}
    assert known == set(gids)
    data = by_publisher[gids[0]]
    assert isinstance(data, bytes)
    assert deserialize_message(data, DualVar) == sent
    label = read_envelope(data).label
    assert (label.robot, label.step, label.phase, label.round) == ('bob', 7, 5, 3)
    assert (label.fingerprint, read_envelope(data).stamp) == (2**63, 12.0)
    assert by_publisher[gids[1]] == len(serialize_message(large))  # too long to be taken
    inlet.close()
    publishers[0].publish(sent)
    executor.spin_once(timeout_sec=0.2)
    assert len(got) == 2


def test_a_seal_does_not_disturb_those_who_have_no_key() -> None:
    key = SwarmKey(bytes(range(32)))
    message = DualVar(robot='bob', step=7, names=['a'], x=[1.0], y=[2.0])
    data = serialize_message(message)
    sealed = key.seal(data)
    assert len(sealed) == len(data) + SEAL
    assert key.sealed(sealed)
    assert deserialize_message(sealed, DualVar) == message
    assert not key.sealed(data)
    assert not SwarmKey(bytes(32)).sealed(sealed)
