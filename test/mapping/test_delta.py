"""Models by what changed: nothing lost within the threshold, gaps noticed, damage refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delama_ros.transport.delta import DeltaDecoder, DeltaEncoder

SHAPE = (8, 1)


def blocks(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    keys = rng.choice(400, count, replace=False)
    return np.stack([keys % 20 - 10, keys // 20], -1).astype(np.int32), rng.normal(
        size=(count, *SHAPE)
    )


def as_dict(keys: np.ndarray, values: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    return {(int(x), int(y)): v for (x, y), v in zip(keys, values, strict=True)}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 30)), min_size=1, max_size=6))
def test_receiver_holds_the_model_up_to_threshold_and_rounding(messages) -> None:
    threshold = 0.05
    encoder, decoder = DeltaEncoder(SHAPE, threshold), DeltaDecoder(SHAPE)
    for seed, count in messages:
        keys, values = blocks(seed, count)
        received = decoder.decode(encoder.encode(keys, values))
        assert received.complete
        got, wanted = as_dict(received.keys, received.values), as_dict(keys, values)
        assert got.keys() == wanted.keys()
        for key, value in wanted.items():
            rounding = np.abs(value).max() / 127
            assert np.sqrt(np.mean((got[key] - value) ** 2)) <= threshold + rounding


def test_only_what_moved_is_sent() -> None:
    keys, values = blocks(0, 50)
    encoder = DeltaEncoder(SHAPE, 0.1)
    first = encoder.encode(keys, values)
    assert len(encoder.encode(keys, values)) < 40 < len(first)
    values[3] += 1.0
    assert len(encoder.encode(keys, values)) < 60


def test_a_gap_is_noticed_and_put_right() -> None:
    keys, values = blocks(0, 10)
    encoder, decoder = DeltaEncoder(SHAPE, 0.0), DeltaDecoder(SHAPE)
    decoder.decode(encoder.encode(keys, values))
    encoder.encode(keys, values + 1)  # lost
    assert not decoder.decode(encoder.encode(keys[:5], values[:5])).complete
    assert decoder.decode(encoder.encode(keys, values, full=True)).complete


def test_a_late_message_changes_nothing() -> None:
    keys, values = blocks(0, 10)
    encoder, decoder = DeltaEncoder(SHAPE, 0.0), DeltaDecoder(SHAPE)
    decoder.decode(encoder.encode(keys, values))
    late = encoder.encode(keys, values + 5)
    now = decoder.decode(encoder.encode(keys, values - 5))
    assert np.array_equal(decoder.decode(late).values, now.values)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_is_refused_or_harmless(data) -> None:
    message = bytearray(DeltaEncoder(SHAPE, 0.0).encode(*blocks(1, 12)))
    for _ in range(data.draw(st.integers(1, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    decoder = DeltaDecoder(SHAPE)
    try:
        received = decoder.decode(bytes(message[: data.draw(st.integers(0, len(message)))]))
    except ValueError:
        return
    assert np.isfinite(received.values).all()


def test_blocks_of_another_model_are_refused() -> None:
    message = DeltaEncoder(SHAPE, 0.0).encode(*blocks(1, 3))
    with pytest.raises(ValueError, match='8 x 1'):
        DeltaDecoder((16, 1)).decode(message)
