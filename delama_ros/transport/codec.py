"""Numbers as bytes for the air: exact (float64) or one byte each with a scale per block."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Encoding(IntEnum):
    """How the numbers of a model are written; the values are those of ModelParams.msg."""

    FLOAT64 = 0
    INT8 = 1


def encode(values: Floats, encoding: Encoding) -> tuple[npt.NDArray[np.float32], bytes]:
    """Scales (n,) (none for FLOAT64) and bytes of values (n, K, C)."""
    if encoding is Encoding.FLOAT64:
        return np.empty(0, np.float32), values.astype('<f8').tobytes()
    peak = np.abs(values).max((1, 2), initial=0.0)
    # a block of zeros, or one too small for float32, still needs a scale that is above 0
    scale = np.maximum(peak / 127.0, np.finfo(np.float32).tiny).astype(np.float32)
    return scale, np.rint(values / scale[:, None, None]).clip(-127, 127).astype(np.int8).tobytes()


def decode(
    encoding: int, scale: npt.NDArray[np.float32], data: bytes, shape: tuple[int, int, int]
) -> Floats:
    """Values (n, K, C); ValueError if the sizes do not fit."""
    known = {int(e): e for e in Encoding}
    if encoding not in known:
        raise ValueError(f'encoding {encoding} is not known, expected one of {sorted(known)}')
    n, features, outputs = shape
    eight_bit = known[encoding] is Encoding.INT8
    expected = (n if eight_bit else 0, n * features * outputs * (1 if eight_bit else 8))
    if (len(scale), len(data)) != expected:
        raise ValueError(
            f'{len(scale)} scales and {len(data)} bytes for {n} blocks of {features} x {outputs}, '
            f'expected {expected[0]} and {expected[1]}'
        )
    if not eight_bit:
        return np.frombuffer(data, '<f8').reshape(shape).astype(np.float64)
    if not (np.isfinite(scale) & (scale > 0)).all():
        raise ValueError('a scale is not a finite number above 0')
    levels = np.frombuffer(data, np.int8).reshape(shape)
    return levels * scale.astype(np.float64)[:, None, None]
