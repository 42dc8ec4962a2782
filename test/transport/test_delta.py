"""Models on the air as what has changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delama_ros.transport.delta import DeltaDecoder, DeltaEncoder

SHAPE = (4, 1)
KEYS = np.array([[-4, 9], [0, 0], [0, 1]], np.int32)


def blocks(*values: float) -> np.ndarray:
    return np.array(values)[:, None, None] * np.ones((1, *SHAPE))


def test_only_what_moved_is_sent_and_the_rest_is_kept() -> None:
    encoder, decoder = DeltaEncoder(SHAPE, 0.01), DeltaDecoder(SHAPE)
    first = encoder.encode(KEYS, blocks(1.0, 2.0, 3.0))
    assert decoder.decode(first).complete
    second = encoder.encode(KEYS, blocks(1.0, 2.5, 3.0))
    assert len(second) < len(first)
    received = decoder.decode(second)
    assert received.complete
    assert np.array_equal(received.keys, KEYS)
    assert np.allclose(received.values, blocks(1.0, 2.5, 3.0), atol=0.02)


def test_small_moves_wait_until_they_add_up() -> None:
    encoder, decoder = DeltaEncoder(SHAPE, 0.5), DeltaDecoder(SHAPE)
    for value, seen in ((1.0, 1.0), (1.3, 1.0), (1.6, 1.6), (1.2, 1.6)):
        received = decoder.decode(encoder.encode(KEYS[:1], blocks(value)))
        assert received.values[0, 0, 0] == pytest.approx(seen, rel=0.01)


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.lists(st.floats(-100, 100), min_size=3, max_size=3), min_size=1, max_size=8))
def test_errors_do_not_add_up(steps: list[list[float]]) -> None:
    encoder, decoder = DeltaEncoder(SHAPE, 0.1), DeltaDecoder(SHAPE)
    for values in steps:
        received = decoder.decode(encoder.encode(KEYS, blocks(*values)))
        seen = {tuple(k): v[0, 0] for k, v in zip(received.keys, received.values, strict=True)}
        for key, value in zip(KEYS, values, strict=True):
            # never sent because it never moved, or sent with half a level of rounding
            assert abs(seen.get(tuple(key), 0.0) - value) <= 0.1 + abs(value) / 200


def test_a_lost_message_is_noticed_and_a_full_one_cures_it() -> None:
    encoder, decoder = DeltaEncoder(SHAPE, 0.01), DeltaDecoder(SHAPE)
    decoder.decode(encoder.encode(KEYS, blocks(1.0, 1.0, 1.0)))
    encoder.encode(KEYS, blocks(2.0, 1.0, 1.0))  # lost
    received = decoder.decode(encoder.encode(KEYS, blocks(2.0, 3.0, 1.0)))
    assert not received.complete
    assert received.values[:, 0, 0] == pytest.approx([1.0, 3.0, 1.0], rel=0.01)
    received = decoder.decode(encoder.encode(KEYS, blocks(2.0, 3.0, 1.0), full=True))
    assert received.complete
    assert received.values[:, 0, 0] == pytest.approx([2.0, 3.0, 1.0], rel=0.01)


@pytest.mark.parametrize('cut', [0, 5, 18, 19, 25])
def test_a_damaged_message_changes_nothing(cut: int) -> None:
    encoder, decoder = DeltaEncoder(SHAPE, 0.0), DeltaDecoder(SHAPE)
    before = decoder.decode(encoder.encode(KEYS, blocks(1.0, 2.0, 3.0)))
    message = encoder.encode(KEYS, blocks(4.0, 5.0, 6.0))
    with pytest.raises(ValueError, match='message'):
        decoder.decode(message[:cut])
    after = decoder.decode(encoder.encode(KEYS, blocks(4.0, 5.0, 6.0)))
    assert np.array_equal(after.keys, before.keys)
