"""One robot's network port: packing, unpacking, gaps and restarts."""

from dataclasses import replace

import numpy as np
import pytest

from delama_ros.core.agent.messages import Dual, Params, Phase, label_of
from delama_ros.core.blocks import Model, Shape, encode
from delama_ros.transport.port import Encoding, Packet, Port

KEYS = np.array([[0, 0], [2, -3]], np.int32)


def model(
    value: float | np.ndarray, step: int = 1, number: int = 0, robot: str = 'a'
) -> Params:
    theta = np.reshape(value, (-1, 1, 1)) * np.ones((2, 4, 1))
    content = Model(encode(KEYS), theta, np.ones((2, 3)), {robot: 0})
    return Params(robot, step, Phase.UPDATE, number, 7, content)


def received(port: Port, wire: Packet) -> np.ndarray:
    message = port.unpack(wire)
    assert isinstance(message, Params)
    return message.model.theta


def packet(port: Port, message: Params) -> Packet:
    wire = port.pack(message)
    assert isinstance(wire, Packet)
    return wire


def test_float64_is_exact() -> None:
    message = model(np.random.default_rng(0).normal(size=2))
    back = Port('b', Encoding.FLOAT64).unpack(Port('a', Encoding.FLOAT64).pack(message))
    assert label_of(back) == label_of(message)
    for name, value in vars(message.model).items():
        assert np.array_equal(getattr(back.model, name), value)


@pytest.mark.parametrize('epochs', [{'a': 0}, {'a': 2}, {'a': 0, 'b': 1}])
def test_epochs_arrive_as_they_were_sent(epochs: dict[str, int]) -> None:
    message = model(1.0)
    message = replace(message, model=replace(message.model, epochs=epochs))
    wire = packet(Port('a', Encoding.DELTA), message)
    assert bool(wire.sources) == (epochs != {'a': 0})
    back = Port('b', Encoding.DELTA).unpack(wire)
    assert isinstance(back, Params)
    assert back.model.epochs == epochs


def test_deltas_are_close_and_small() -> None:
    a, b = Port('a', Encoding.DELTA), Port('b', Encoding.DELTA)
    for number, value in enumerate((1.0, 5.0, 5.1)):
        wire = packet(a, model(value, number=number))
        assert np.allclose(received(b, wire), value, atol=0.5)
    assert len(wire.data) < 40  # nothing moved: no block in it


def test_dual_rows_pass_as_they_are() -> None:
    dual = Dual('a', 1, Phase.DUAL, 0, 7, 0, ('a',), np.ones(1), np.ones(1))
    assert Port('b', Encoding.DELTA).unpack(Port('a', Encoding.DELTA).pack(dual)) is dual


def test_blocks_of_an_old_frame_never_pass_for_those_of_a_new_one() -> None:
    a, b = Port('a', Encoding.DELTA), Port('b', Encoding.DELTA)
    first, moved = model(1.0, step=1), model(np.array([1.0, 5.0]), step=2)
    b.unpack(a.pack(replace(first, frame='a:0')))
    a.pack(replace(moved, frame='c:0'))  # lost
    back = b.unpack(a.pack(replace(model(np.array([5.0, 5.0]), step=3), frame='c:0')))
    assert isinstance(back, Params)
    assert back.frame == 'c:0'
    assert back.model.codes.tolist() == encode(KEYS[:1]).tolist()  # what came since, and no more
    a.unpack(b.pack(model(0.0, step=3, robot='b')))  # asks for the rest
    back = b.unpack(a.pack(replace(model(np.array([5.0, 5.0]), step=4), frame='c:0')))
    assert isinstance(back, Params)
    assert np.allclose(back.model.theta, 5.0, atol=0.5)


def test_what_was_missed_is_asked_for_and_sent_again() -> None:
    a, b = Port('a', Encoding.DELTA), Port('b', Encoding.DELTA)
    b.unpack(a.pack(model(1.0, number=0)))
    a.pack(model(np.array([5.0, 1.0]), number=1))  # lost
    changed = np.array([5.0, 9.0])
    stale = received(b, a.pack(model(changed, number=2)))
    assert stale[:, 0, 0] == pytest.approx([1.0, 9.0], rel=0.04)
    question = packet(b, model(0.0, robot='b'))
    assert question.resync == ('a',)
    a.unpack(question)
    cured = received(b, a.pack(model(changed, number=3)))
    assert cured[:, 0, 0] == pytest.approx([5.0, 9.0], rel=0.04)
    assert packet(b, model(0.0, number=1, robot='b')).resync == ()


def test_newcomers_are_sent_everything() -> None:
    a, c = Port('a', Encoding.DELTA), Port('c', Encoding.DELTA)
    a.meet(1, frozenset(['b']))
    a.pack(model(1.0))
    a.meet(2, frozenset(['b', 'c']))
    assert np.allclose(received(c, a.pack(model(1.0, step=2))), 1.0, rtol=0.04)


def test_a_replay_or_a_late_message_does_not_bring_the_past_back() -> None:
    a, b = Port('a', Encoding.DELTA), Port('b', Encoding.DELTA)
    packets = [packet(a, model(value, number=n)) for n, value in enumerate((1.0, 2.0))]
    for wire in packets:
        b.unpack(wire)
    for wire in packets:
        assert np.allclose(received(b, wire), 2.0, rtol=0.04)
    assert np.allclose(received(b, a.pack(model(2.0, number=2))), 2.0, rtol=0.04)


def test_a_sender_that_has_restarted_is_received_again() -> None:
    b = Port('b', Encoding.DELTA)
    b.unpack(Port('a', Encoding.DELTA).pack(model(1.0)))
    again = received(b, Port('a', Encoding.DELTA).pack(model(3.0, step=2)))
    assert np.allclose(again, 3.0, rtol=0.04)


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'encoding': 9}, 'encoding is 9, expected 0 or 1'),
        ({'data': b'123'}, '3 bytes for 2 blocks of 4 x 1 numbers and 3 parts, expected 112'),
        ({'shape': Shape(5, 1, 3)}, 'expected 128'),
        ({'encoding': 1}, 'expected 4 x 1 and 3'),
        ({'resync': ('b',)}, '1 robots and 0 messages'),
        ({'sources': ('c',)}, '1 sources and 0 epochs'),
    ],
)
def test_what_cannot_be_read_is_named(changes: dict[str, object], words: str) -> None:
    wire = packet(Port('a', Encoding.FLOAT64), model(1.0))
    with pytest.raises(ValueError, match=words):
        Port('b', Encoding.FLOAT64).unpack(replace(wire, **changes))
