"""The little that differs between numpy (robots) and torch (training), so the rest is written once.

An array's type chooses the library; torch is never imported here, so a robot runs without it.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

# A numpy array or a torch tensor; and a plain number, or a 0-d tensor while it is being learned.
Array: TypeAlias = Any
Scalar: TypeAlias = Any


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


def cholesky(A: Array) -> Array:
    """Return the lower Cholesky factors of positive definite blocks (..., K, K)."""
    return xp(A).linalg.cholesky(A)


def cholesky_solve(L: Array, b: Array) -> Array:
    """Solve (L Lᵀ) x = b for blocks L (..., K, K) and right-hand sides b (..., K, C)."""
    if is_torch(b):
        return xp(b).cholesky_solve(b, L)
    return _sweep(L, b)


def _sweep(L: Array, b: Array) -> Array:
    """Forward and backward substitution, row by row, vectorised over all blocks.

    numpy has no batched triangular solve. Both sweeps read L by rows, which lie together in memory.
    """
    x = np.array(b)  # (..., K, C)
    size = L.shape[-1]
    for k in range(size):
        x[..., k, :] -= np.einsum('...j,...jc->...c', L[..., k, :k], x[..., :k, :])
        x[..., k, :] /= L[..., k, k, None]
    for k in reversed(range(size)):
        x[..., k, :] /= L[..., k, k, None]
        x[..., :k, :] -= L[..., k, :k, None] * x[..., k, None, :]
    return x
