"""Ten thousand random and changed messages: nothing raises, and what is kept stays bounded."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Dual, Message, Phase
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.core.blocks import Shape
from delama_ros.core.settings import Settings
from delama_ros.transport.delta import HEADER, HELD, MOST, DeltaDecoder
from delama_ros.transport.port import STRANGERS, Encoding, Packet, Port, Wire

SHAPE = Shape(4, 1, 2)
PEERS = ['bob', 'eve', 'dan']
STEP = 7


def agent(name: str, messages: list[Message] | None = None) -> Agent:
    made = Agent(name, Settings(), fingerprint=9, shape=SHAPE)
    rng = np.random.default_rng(len(name))
    keys = np.stack([np.arange(20), np.arange(20) % 5], -1).astype(np.int32)
    made.observe(
        keys, np.tile(np.eye(4), (20, 1, 1)), rng.normal(size=(20, 4, 1)), np.ones((20, 2))
    )
    first = made.begin(STEP, PEERS)
    if messages is not None:
        messages += first
    return made


def flat(
    blocks: int, x: int = 0, flags: int = 1, shape: tuple[int, ...] = SHAPE, number: int = 0
) -> bytes:
    """Return a message of equal blocks side by side."""
    offsets = np.stack([np.arange(blocks) % 128, np.arange(blocks) // 128]).astype('<u2')
    body = offsets.tobytes() + np.ones(blocks, '<f2').tobytes()
    body += bytes(blocks * (shape[2] + shape[0] * shape[1]))
    return HEADER.pack(number, flags, blocks, 0, *shape, x, 0) + zlib.compress(body, 9)


def changed(wire: Wire, rng: np.random.Generator) -> Wire:
    """Return a message with some fields replaced by what a hostile sender might choose."""
    words = ('bob', 'eve', 'dan', 'me', '', 'x' * 64, 'ghost')
    numbers = (0, 1, 2, 6, STEP, STEP + 1, STEP - 1, 255, 2**16 - 1, 2**31)
    fields: dict[str, object] = {
        'robot': str(rng.choice(words)), 'step': int(rng.choice(numbers)),
        'phase': int(rng.choice(numbers)), 'round': int(rng.choice(numbers)),
    }
    if isinstance(wire, Packet):
        data = bytearray(wire.data)
        for at in rng.integers(0, len(data), int(rng.integers(4))):
            data[at] = int(rng.integers(256))
        fields |= {
            'data': bytes(data[: int(rng.integers(len(data) + 1))]) if rng.random() < 0.3
            else bytes(data),
            'shape': Shape(*(int(n) for n in rng.choice([1, 2, 4, 4096, 65535], 3))),
            'encoding': int(rng.integers(3)),
            'keys': rng.integers(-9, 9, (int(rng.integers(4)), 2)).astype(np.int32),
            'sources': tuple(rng.choice(words, 2).tolist()), 'epochs': (1, 2**32 - 1),
            'resync': ('me',), 'resync_from': tuple(rng.choice([0, 1, 2**32 - 1], 2).tolist()),
        }
    else:
        many = int(rng.integers(5))
        fields |= {
            'names': tuple(rng.choice(words, many).tolist()),
            'x': rng.choice([0.0, 1.0, -1.0, np.nan, np.inf, 1e300], many),
            'y': rng.choice([0.0, 1.0, 3.0, np.inf, 1e99], int(rng.integers(many, many + 2))),
            'hop': int(rng.choice(numbers)),
        }
    chosen = {name: value for name, value in fields.items() if rng.random() < 0.25}
    return replace(wire, **chosen)


def test_ten_thousand_hostile_messages() -> None:
    rng = np.random.default_rng(0)
    victim, port = agent('me'), Port('me', Encoding.DELTA)
    port.meet(STEP, frozenset(PEERS))
    port.pack(victim.begin(STEP + 1, PEERS)[0])
    victim = agent('me')
    wires: list[Wire] = []
    for name in PEERS:
        said: list[Message] = []
        agent(name, said)
        wires += [Port(name, encoding).pack(said[0]) for encoding in Encoding]
        wires.append(Dual(name, STEP, Phase.WEIGHT, 0, 9, 0, ('me',), np.ones(1), np.zeros(1)))
    outcomes: set[Refusal | None] = set()
    for _ in range(10_000):
        wire = changed(wires[rng.integers(len(wires))], rng)
        refused = port.deliver(wire, victim)
        assert refused is None or isinstance(refused, Refused)
        outcomes.add(None if refused is None else refused.reason)
        if rng.random() < 0.01:
            while not victim.done:
                victim.advance()
            victim = agent('me')
    assert len(outcomes) > 10
    while not victim.done:
        victim.advance()
    assert np.isfinite(victim.theta[1]).all()


def test_what_is_announced_is_checked_before_it_is_inflated() -> None:
    decoder = DeltaDecoder(SHAPE)
    for data, words in (
        (flat(MOST + 1), f'{MOST + 1} blocks in one message, expected at most {MOST}'),
        (flat(10, shape=(60_000, 1, 2)), 'blocks of 60000 x 1 numbers'),
    ):
        with pytest.raises(ValueError, match=words):
            decoder.decode(data)
    bomb = HEADER.pack(0, 1, 1, 0, *SHAPE, 0, 0) + zlib.compress(bytes(10_000_000), 9)
    with pytest.raises(ValueError, match='does not hold'):
        decoder.decode(bomb)
    assert decoder.held == 0


def packet(robot: str, data: bytes, step: int = STEP) -> Packet:
    return Packet(
        robot, step, int(Phase.LOCAL), 0, 9, resync=(), encoding=int(Encoding.DELTA), shape=SHAPE,
        keys=np.zeros((0, 2), np.int32), data=data,
    )


def test_strangers_share_what_is_held_of_them() -> None:
    port = Port('me', Encoding.DELTA)
    for i in range(50):
        port.unpack(packet(f'stranger{i}', flat(MOST)))
    held = [decoder.held for decoder in port._decoders.values()]
    assert sum(held) <= STRANGERS + MOST
    # a robot with little to say is heard all the same, and grows when its model is in use
    port.unpack(packet('bob', flat(100)))
    port.trust(frozenset(['bob']))
    more = HELD // MOST
    for k in range(1, more):
        port.unpack(packet('bob', flat(MOST, x=128 * k, flags=0, number=k), STEP + k))
    with pytest.raises(ValueError, match='blocks of one sender'):
        port.unpack(packet('bob', flat(MOST, x=128 * more, flags=0, number=more), STEP + more))
    (bob,) = (d.held for (robot, _), d in port._decoders.items() if robot == 'bob')
    assert HELD - MOST < bob <= HELD


def test_a_sender_may_name_so_many_robots_only() -> None:
    port = Port('me', Encoding.DELTA)
    for i in range(256):
        port.unpack(replace(packet('bob', flat(1), i), sources=(f'ghost{i}',), epochs=(0,)))
    with pytest.raises(ValueError, match='more than 256 robots'):
        port.unpack(replace(packet('bob', flat(1), 300), sources=('one more',), epochs=(0,)))


def test_what_a_sender_lacks_is_asked_for_in_bounded_lists() -> None:
    port = Port('me', Encoding.DELTA)
    for i in range(300):
        port.unpack(packet(f'ghost{i}', flat(1, flags=0, number=1000 + i)))
    asked = port.pack(agent_message())
    assert isinstance(asked, Packet)
    assert len(asked.resync) == 64
    assert len(asked.resync_from) == 128


def agent_message() -> Message:
    messages: list[Message] = []
    agent('me', messages)
    return messages[0]
