"""One robot's end of the air."""

from dataclasses import replace

import numpy as np
import pytest

from delama_ros.core.blocks import Shape
from delama_ros.core.messages import Dual, Params, Phase
from delama_ros.transport.port import Encoding, Packet, Port

KEYS = np.array([[0, 0], [2, -3]], np.int32)


def model(value: float, step: int = 1, number: int = 0, robot: str = 'a') -> Params:
    values = value * np.ones((2, 4, 1))
    return Params(robot, step, Phase.UPDATE, number, 7, KEYS, values, np.ones((2, 3)))


def packet(port: Port, message: Params) -> Packet:
    wire = port.pack(message)
    assert isinstance(wire, Packet)
    return wire


def test_float64_is_exact() -> None:
    message = replace(model(1.0), values=np.random.default_rng(0).normal(size=(2, 4, 1)))
    back = Port('b', Encoding.FLOAT64).unpack(Port('a', Encoding.FLOAT64).pack(message))
    assert all(np.array_equal(vars(back)[key], vars(message)[key]) for key in vars(message))


def test_deltas_are_close_and_small() -> None:
    a, b = Port('a', Encoding.DELTA), Port('b', Encoding.DELTA)
    for number, value in enumerate((1.0, 5.0, 5.1)):
        wire = packet(a, model(value, number=number))
        back = b.unpack(wire)
        assert np.allclose(back.values, value, atol=0.5)
    assert len(wire.data) < 40  # nothing moved: no block in it


def test_dual_rows_pass_as_they_are() -> None:
    dual = Dual('a', 1, Phase.DUAL, 0, 0, 7, ('a',), np.ones(1), np.ones(1))
    assert Port('b', Encoding.DELTA).unpack(Port('a', Encoding.DELTA).pack(dual)) is dual


def test_what_was_missed_is_asked_for_and_sent_again() -> None:
    a, b = Port('a', Encoding.DELTA), Port('b', Encoding.DELTA)
    b.unpack(a.pack(model(1.0, number=0)))
    only_first = np.array([5.0, 1.0])[:, None, None] * np.ones((1, 4, 1))
    a.pack(replace(model(1.0, number=1), values=only_first))  # lost on the air
    changed = np.array([5.0, 9.0])[:, None, None] * np.ones((1, 4, 1))
    stale = b.unpack(a.pack(replace(model(1.0, number=2), values=changed)))
    assert stale.values[:, 0, 0] == pytest.approx([1.0, 9.0], rel=0.04)
    question = packet(b, model(0.0, robot='b'))
    assert question.resync == ('a',)
    a.unpack(question)
    cured = b.unpack(a.pack(replace(model(1.0, number=3), values=changed)))
    assert cured.values[:, 0, 0] == pytest.approx([5.0, 9.0], rel=0.04)
    assert packet(b, model(0.0, number=1, robot='b')).resync == ()


def test_newcomers_are_told_everything() -> None:
    a, c = Port('a', Encoding.DELTA), Port('c', Encoding.DELTA)
    a.meet(frozenset(['b']))
    a.pack(model(1.0))
    a.meet(frozenset(['b', 'c']))
    assert np.allclose(c.unpack(a.pack(model(1.0, step=2))).values, 1.0, rtol=0.04)


def test_a_replay_or_a_late_message_does_not_bring_the_past_back() -> None:
    a, b = Port('a', Encoding.DELTA), Port('b', Encoding.DELTA)
    packets = [packet(a, model(value, number=n)) for n, value in enumerate((1.0, 2.0))]
    for wire in packets:
        b.unpack(wire)
    for wire in packets:
        assert np.allclose(b.unpack(wire).values, 2.0, rtol=0.04)
    assert np.allclose(b.unpack(a.pack(model(2.0, number=2))).values, 2.0, rtol=0.04)


def test_a_sender_that_has_restarted_is_heard_again() -> None:
    b = Port('b', Encoding.DELTA)
    b.unpack(Port('a', Encoding.DELTA).pack(model(1.0)))
    again = b.unpack(Port('a', Encoding.DELTA).pack(model(3.0, step=2)))
    assert np.allclose(again.values, 3.0, rtol=0.04)


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'encoding': 9}, 'encoding 9 is not known'),
        ({'data': b'123'}, '3 bytes for 2 blocks of 4 x 1 numbers and 3 parts, expected 112'),
        ({'shape': Shape(5, 1, 3)}, 'expected 128'),
        ({'encoding': 1}, 'message'),
    ],
)
def test_what_cannot_be_read_is_named(changes: dict[str, object], words: str) -> None:
    wire = packet(Port('a', Encoding.FLOAT64), model(1.0))
    with pytest.raises(ValueError, match=words):
        Port('b', Encoding.FLOAT64).unpack(replace(wire, **changes))
