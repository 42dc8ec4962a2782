"""Reads files of arrays, which may be anything: one error says what is wrong with one of them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def read_arrays(path: Path) -> Arrays:
    """Return the arrays of an `.npz` file by name; reading it executes nothing.

    Raises:
        ValueError: if it is no such file, or damaged.
        OSError: if it cannot be read.
    """
    try:
        with path.open('rb') as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError:
        raise
    # numpy passes on whatever zipfile, zlib and the parser of headers raise for a damaged file.
    except Exception as error:
        reason = ' '.join(str(error).split()) or type(error).__name__
        if not zipfile.is_zipfile(path):
            reason = 'it is no complete file of arrays (.npz)'
        raise ValueError(reason) from error


def check_arrays(
    arrays: Mapping[str, NDArray[Any]],
    shapes: Mapping[str, tuple[int | str, ...]],
    *,
    whole: Iterable[str] = (),
) -> None:
    """Check those of some arrays that are there.

    Args:
        arrays: by name.
        shapes: sizes of the axes by name; a letter stands for the same number everywhere.
        whole: names of those that hold whole numbers; the others hold finite ones.

    Raises:
        ValueError: if one has another shape or holds something else.
    """
    sizes: dict[str, int] = {}
    for name, shape in shapes.items():
        if name not in arrays:
            continue
        array = arrays[name]
        wanted = tuple(sizes.get(n, n) if isinstance(n, str) else n for n in shape)
        fits = array.ndim == len(wanted) and all(
            isinstance(n, str) or n == m for n, m in zip(wanted, array.shape, strict=True)
        )
        if not fits:
            raise ValueError(f'{name} has shape {array.shape}, expected {wanted}')
        sizes |= {n: m for n, m in zip(shape, array.shape, strict=True) if isinstance(n, str)}
        if array.dtype.kind not in ('iu' if name in whole else 'iuf'):
            expected = 'whole numbers' if name in whole else 'numbers'
            raise ValueError(f'{name} holds {array.dtype}, expected {expected}')
        if not np.isfinite(array).all():
            raise ValueError(f'{name} holds NaN or infinity, expected finite numbers')
