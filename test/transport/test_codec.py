"""Models as bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from delama_ros.transport.codec import Encoding, decode, encode

VALUES = arrays(
    np.float64,
    array_shapes(min_dims=3, max_dims=3, max_side=5),
    elements=st.floats(-1e6, 1e6, allow_nan=False),
)


@given(VALUES)
def test_float64_is_exact(values: np.ndarray) -> None:
    scale, data = encode(values, Encoding.FLOAT64)
    assert np.array_equal(decode(Encoding.FLOAT64, scale, data, values.shape), values)
    assert len(data) == 8 * values.size


@given(VALUES)
def test_int8_is_within_half_a_level(values: np.ndarray) -> None:
    scale, data = encode(values, Encoding.INT8)
    error = np.abs(decode(Encoding.INT8, scale, data, values.shape) - values).max((1, 2))
    peak = np.abs(values).max((1, 2))
    assert (error <= peak / 127 * 0.51 + 1e-37).all()
    assert len(data) == values.size


def test_no_blocks() -> None:
    nothing = np.zeros((0, 32, 1))
    for encoding in Encoding:
        assert decode(encoding, *encode(nothing, encoding), nothing.shape).shape == (0, 32, 1)


@pytest.mark.parametrize(
    ('encoding', 'scale', 'data', 'words'),
    [
        (7, [], b'', 'encoding 7 is not known'),
        (0, [], b'1234567', '7 bytes for 1 blocks of 2 x 1, expected 0 and 16'),
        (0, [1.0], b'1234567812345678', '1 scales'),
        (1, [1.0], b'123', 'expected 1 and 2'),
        (1, [], b'12', '0 scales'),
        (1, [float('nan')], b'12', 'scale'),
        (1, [0.0], b'12', 'scale'),
    ],
)
def test_what_does_not_fit_is_refused(
    encoding: int, scale: list[float], data: bytes, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        decode(encoding, np.array(scale, np.float32), data, (1, 2, 1))
