"""Models by what changed: nothing lost within the threshold, gaps noticed, damage refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delama_ros.core.blocks import Model, Shape, decode, encode
from delama_ros.transport.delta import FACTOR, FAINT, DeltaDecoder, DeltaEncoder

SHAPE = Shape(8, 1, 4)


def blocks(seed: int, count: int) -> Model:
    rng = np.random.default_rng(seed)
    keys = rng.choice(400, count, replace=False)
    keys = np.stack([keys % 20 - 10, keys // 20], -1).astype(np.int32)
    evidence = rng.lognormal(0.0, 2.0, (count, SHAPE.parts)) * (rng.random((count, 4)) < 0.7)
    return Model.of(encode(keys), rng.normal(size=(count, 8, 1)), evidence)


def moved(model: Model, by: float | np.ndarray) -> Model:
    return replace(model, theta=model.theta + by)


def some(model: Model, count: int) -> Model:
    return model.take(np.arange(len(model.codes)) < count)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 30)), min_size=1, max_size=6))
def test_receiver_holds_the_model_up_to_threshold_and_rounding(messages) -> None:
    threshold = 0.05
    encoder, decoder = DeltaEncoder(SHAPE, threshold), DeltaDecoder(SHAPE)
    for seed, count in messages:
        model = blocks(seed, count)
        received = decoder.decode(encoder.encode(model))
        assert received.complete
        got = received.model
        assert np.array_equal(got.codes, model.codes)
        error = got.theta - model.theta
        rounding = np.abs(model.theta).max((1, 2)) / 127
        assert (np.sqrt(np.mean(error**2, (1, 2))) <= threshold + rounding).all()
        # evidence is right to two orders, and none is made up or forgotten
        seen = model.evidence > FAINT
        assert (got.evidence[seen] > 0).all()
        assert (got.evidence[model.evidence == 0] == 0).all()
        ratio = got.evidence[seen] / model.evidence[seen]
        assert (np.abs(np.log(ratio)) <= 1.51 * np.log(FACTOR)).all()


def test_only_what_moved_is_sent() -> None:
    model = blocks(0, 50)
    encoder = DeltaEncoder(SHAPE, 0.1)
    first = encoder.encode(model)
    assert len(encoder.encode(model)) < 40 < len(first)
    one = np.zeros((50, 1, 1))
    one[3] = 1.0
    assert len(encoder.encode(moved(model, one))) < 70


def test_more_evidence_is_sent_even_if_nothing_moved() -> None:
    model = blocks(0, 50)
    encoder, decoder = DeltaEncoder(SHAPE, 0.1), DeltaDecoder(SHAPE)
    decoder.decode(encoder.encode(model))
    more = model.evidence.copy()
    more[7] = 10 * more[7] + 1.0
    got = decoder.decode(encoder.encode(replace(model, evidence=more))).model
    assert (np.abs(np.log(got.evidence[7] / more[7])) < np.log(FACTOR)).all()


def test_small_moves_wait_until_they_add_up() -> None:
    encoder, decoder = DeltaEncoder(SHAPE, 0.5), DeltaDecoder(SHAPE)
    for value, seen in ((1.0, 1.0), (1.3, 1.0), (1.6, 1.6), (1.2, 1.6)):
        still = moved(some(blocks(0, 5), 1), 0.0)
        model = replace(still, theta=np.full((1, 8, 1), value))
        received = decoder.decode(encoder.encode(model))
        assert received.model.theta[0, 0, 0] == pytest.approx(seen, rel=0.01)


def test_a_gap_is_noticed_and_closed() -> None:
    model = blocks(0, 10)
    encoder, decoder = DeltaEncoder(SHAPE, 0.0), DeltaDecoder(SHAPE)
    decoder.decode(encoder.encode(model))
    encoder.encode(moved(model, 1.0))  # lost
    assert not decoder.decode(encoder.encode(some(model, 5))).complete
    received = decoder.decode(encoder.encode(model, repair=0))
    assert received.complete
    assert np.allclose(received.model.theta, model.theta, atol=0.03)


def test_a_late_message_changes_nothing() -> None:
    model = blocks(0, 10)
    encoder, decoder = DeltaEncoder(SHAPE, 0.0), DeltaDecoder(SHAPE)
    decoder.decode(encoder.encode(model))
    late = encoder.encode(moved(model, 5.0))
    now = decoder.decode(encoder.encode(moved(model, -5.0)))
    again = decoder.decode(late)
    assert np.array_equal(again.model.theta, now.model.theta)


@pytest.mark.parametrize('cut', [0, 5, 20, 23, 27])
def test_a_damaged_message_changes_nothing(cut: int) -> None:
    model = blocks(0, 3)
    encoder, decoder = DeltaEncoder(SHAPE, 0.0), DeltaDecoder(SHAPE)
    before = decoder.decode(encoder.encode(model)).model
    message = encoder.encode(moved(model, 3.0))
    with pytest.raises(ValueError, match='message'):
        decoder.decode(message[:cut])
    after = decoder.decode(encoder.encode(moved(model, 3.0))).model
    assert np.array_equal(decode(after.codes), decode(before.codes))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_is_refused_or_harmless(data) -> None:
    message = bytearray(DeltaEncoder(SHAPE, 0.0).encode(blocks(1, 12)))
    for _ in range(data.draw(st.integers(1, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    decoder = DeltaDecoder(SHAPE)
    try:
        received = decoder.decode(bytes(message[: data.draw(st.integers(0, len(message)))]))
    except ValueError:
        return
    assert np.isfinite(received.model.theta).all()
    assert np.isfinite(received.model.evidence).all()


def test_blocks_of_another_model_are_refused() -> None:
    message = DeltaEncoder(SHAPE, 0.0).encode(blocks(1, 3))
    with pytest.raises(ValueError, match='8 x 1'):
        DeltaDecoder(Shape(16, 1, 4)).decode(message)
