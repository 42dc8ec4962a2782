"""What happens to a robot does not stop the others: real processes, killed, restarted, lied to."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import LiveSwarm
from rclpy.qos import QoSProfile

from delama_ros.core.agent.messages import Params, Phase
from delama_ros.core.blocks import Model, Shape, encode
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.tiles import PARTS
from delama_ros.msg import ModelParams
from delama_ros.ros.wire import packet_to_ros
from delama_ros.swarm.description import from_mapping
from delama_ros.transport.port import Encoding, Packet, Port

DEADLINE = 0.7  # s
ROBOTS = ['ann', 'bob', 'cid', 'dot', 'rogue']


@pytest.fixture
def swarm(tmp_path: Path, ros_environment: dict[str, str]) -> Iterator[LiveSwarm]:
    description = from_mapping(
        {
            'robots': ROBOTS,
            'steps': 1000,
            'seed': 5,
            'period': 2.0,
            'deadline': DEADLINE,
            'localization': 'tf',
            'simulator': {'thicken_walls': 0.05, 'scan_rate': 2.0},
        }
    )
    with LiveSwarm(description, tmp_path, ros_environment) as running:
        yield running


def lies(step: int) -> dict[str, Packet]:
    """Return packets that a broken or malicious robot might send, by what is wrong with them."""
    agent = default_mapper('rogue').agent
    size = agent.theta[1].shape[1]
    honest = Params(
        'rogue',
        step,
        Phase.LOCAL,
        0,
        agent.fingerprint,
        Model(encode(np.zeros((1, 2))), np.ones((1, size, 1)), np.ones((1, PARTS**2))),
    )
    packet = Port('rogue', Encoding.FLOAT64).pack(honest)
    assert isinstance(packet, Packet)
    half = packet.data[: len(packet.data) // 2]
    numbers = len(packet.data) // 8
    nan = np.full(numbers, np.nan).astype('<f8').tobytes()
    huge = np.full(numbers, 1e300).astype('<f8').tobytes()
    return {
        'not finite': replace(packet, data=nan),
        'absurd value': replace(packet, data=huge),
        'foreign fingerprint': replace(packet, fingerprint=12345),
        'future step': replace(packet, step=step + 50),
        'past step': replace(packet, step=max(0, step - 1)),
        'wrong shape': replace(packet, shape=Shape(size // 2, 1, PARTS**2 // 2), data=half),
        'unknown phase': replace(packet, phase=77),
        'malformed': replace(packet, keys=np.zeros((1, 1), np.int32)),
        'unknown block': replace(packet, keys=np.array([[0, 2**30]], np.int32)),
    }


def first_step(swarm: LiveSwarm, robot: str, after: int, peers: set[str]) -> int:
    """Wait for a robot's first step with all these peers, and return it.

    Until then DDS discovers its topics, which takes a second or two whatever the robots do.
    """

    def steps() -> list[int]:
        rows = swarm.record.weights.items()
        return [t for t, row in rows if t > after and peers <= set(row.get(robot, {}))]

    swarm.until(lambda: bool(steps()))
    return min(steps())


def test_death_return_late_joiner_and_lies(swarm: LiveSwarm, tmp_path: Path) -> None:
    memory = str(tmp_path / 'cid.npz')
    record = swarm.record
    for name in ('ann', 'bob'):
        swarm.start_robot(name)
    swarm.start_robot('cid', memory_file=memory, memory_period=0.5)
    swarm.start_simulator()
    swarm.until(lambda: swarm.peers('ann') == {'bob', 'cid'} and swarm.step_of('ann') >= 3)

    # kill -9 in mid-round, when it has sent its local map: each peer waits one deadline, once. Its
    # last message may still reach one peer and not the other. They then notice one step apart, and
    # the first waits for the second too.
    alive = swarm.f1('ann')
    died = swarm.kill_in_step('cid')
    after = range(died, died + 5)
    swarm.until(lambda: all({'ann', 'bob'} <= set(record.rounds.get(t, {})) for t in after))
    for name in ('ann', 'bob'):
        assert sum(record.rounds[t][name].incomplete > 0 for t in after) == 1
        assert all(record.rounds[t][name].seconds < 1.5 * DEADLINE for t in after)
    noticed = {t for t in after if any(r.incomplete for r in record.rounds[t].values())}
    waited = {t for t in after if any(r.seconds >= DEADLINE for r in record.rounds[t].values())}
    assert waited == noticed <= {died, died + 1}
    # nothing of the map went with it
    assert swarm.peers('ann') == {'bob'}
    assert swarm.peers('bob') == {'ann'}
    assert min(swarm.f1('ann'), swarm.f1('bob')) > alive - 0.01

    # a restart goes on with its memory, and is back in the swarm within two steps
    gone = swarm.step_of('ann')
    swarm.start_robot('cid', memory_file=memory, memory_period=0.5)
    back = first_step(swarm, 'cid', gone, {'ann', 'bob'})
    swarm.until(lambda: min(swarm.step_of(name) for name in ('ann', 'bob', 'cid')) >= back + 2)
    assert 'resumed with' in swarm.log('cid')
    assert all('cid' in record.weights[back + 2][name] for name in ('ann', 'bob'))

    # a late joiner has the others' map after two steps
    swarm.start_robot('dot')
    joined = first_step(swarm, 'dot', 0, {'ann', 'bob', 'cid'})
    swarm.until(lambda: len(record.f1.get(joined + 2, {})) == 4)
    others = dict(record.f1[joined + 2])
    assert others.pop('dot') > max(others.values()) - 0.02
    swarm.until(lambda: swarm.peers('dot') == {'ann', 'bob', 'cid'})

    # lies are refused, counted and named; maps are unharmed
    publisher = swarm.node.create_publisher(ModelParams, '/delama/params', QoSProfile(depth=10))
    swarm.until(lambda: publisher.get_subscription_count() >= 4)
    before, start = swarm.f1('ann'), swarm.step_of('ann')

    def lie() -> bool:
        for packet in lies(swarm.step_of('ann') + 1).values():
            publisher.publish(packet_to_ros(packet))
        told = swarm.diagnostics['ann']
        named = all(int(told.get(f'refused, {reason}', 0)) > 0 for reason in lies(1))
        return named and swarm.step_of('ann') >= start + 4

    swarm.until(lie)
    swarm.until(lambda: swarm.peers('ann') == {'bob', 'cid', 'dot'})
    swarm.until(lambda: swarm.f1('ann') > before - 0.02)
    for name in ('ann', 'bob', 'cid', 'dot'):
        assert 'Traceback' not in swarm.log(name)
        assert 'worker failed' not in swarm.log(name)
