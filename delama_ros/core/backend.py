"""The little that differs between numpy (robots) and torch (training), so the rest is written once.

An array's type chooses the library; torch is imported only for tensors, so robots run without.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, TypeAlias

import numpy as np

# A numpy array or a torch tensor; and a plain number, or a 0-d tensor while it is being learned.
Array: TypeAlias = Any
Scalar: TypeAlias = Any

PANEL = 16  # rows solved at once; 8 and 32 were slower at K = 32


def is_torch(array: Array) -> bool:
    """Tell whether the argument is a torch tensor (or parameter)."""
    return type(array).__module__.startswith('torch')


def xp(array: Array) -> Any:
    """Return the library an array belongs to."""
    return sys.modules['torch'] if is_torch(array) else np


def detach(array: Array) -> Array:
    """Return the array cut off from the gradient graph."""
    return array.detach() if is_torch(array) else array


def eye_like(array: Array, size: int) -> Array:
    """Return the identity of the given size, in the array's library and precision."""
    if is_torch(array):
        return xp(array).eye(size, dtype=array.dtype, device=array.device)
    return np.eye(size, dtype=array.dtype)


def sort(array: Array) -> Array:
    """Sort along the last axis."""
    return array.sort(-1).values if is_torch(array) else np.sort(array, -1)


class Factor(NamedTuple):
    """Positive definite blocks B (..., K, K), factored once to be solved with many times."""

    B: Array
    L: Array  # lower Cholesky factors, (..., K, K)
    panels: list[Array]  # numpy only: inverses of the small triangles on the diagonal of L


def factor(B: Array) -> Factor:
    """Return the Cholesky factors of blocks B."""
    if is_torch(B):
        return Factor(B, xp(B).linalg.cholesky(B.detach()), [])
    L = np.linalg.cholesky(B)
    starts = range(0, L.shape[-1], PANEL)
    return Factor(B, L, [_invert_triangle(L[..., i : i + PANEL, i : i + PANEL]) for i in starts])


def solve(factored: Factor, b: Array) -> Array:
    """Solve B x = b for right-hand sides b (..., K, C)."""
    if is_torch(b):
        from delama_ros.core.autograd import Solve

        return Solve.apply(factored.B, factored.L, b)
    return _substitute(factored.L, factored.panels, b)


def _substitute(L: Array, panels: list[Array], b: Array) -> Array:
    """Forward and backward substitution by panels of rows, vectorised over all blocks.

    numpy has no batched triangular solve; row by row it would spend its time between calls.
    """
    x = np.array(b)  # (..., K, C)
    starts = range(0, L.shape[-1], PANEL)
    for i, inverse in zip(starts, panels, strict=True):
        rows = np.s_[..., i : i + PANEL, :]
        x[rows] = inverse @ (x[rows] - L[..., i : i + PANEL, :i] @ x[..., :i, :])
    for i, inverse in zip(reversed(starts), reversed(panels), strict=True):
        rows, below = np.s_[..., i : i + PANEL, :], i + PANEL
        column = np.swapaxes(L[..., below:, i:below], -1, -2)
        x[rows] = np.swapaxes(inverse, -1, -2) @ (x[rows] - column @ x[..., below:, :])
    return x


def _invert_triangle(L: Array) -> Array:
    """Return the inverses of small lower triangles (..., P, P)."""
    size = L.shape[-1]
    out = np.zeros(L.shape)
    for k in range(size):
        out[..., k, :k] = -np.einsum('...j,...jc->...c', L[..., k, :k], out[..., :k, :k])
        out[..., k, k] = 1
        out[..., k, : k + 1] /= L[..., k, k, None]
    return out
