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

PART = 64  # blocks factored at once: they stay in the cache and in memory already in use


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
    """Positive definite blocks (..., K, K), factored once to be solved with many times."""

    triangle: Array  # lower Cholesky factors L, B = L Lᵀ; numpy: their inverses, (..., K, K)
    # torch: what stands for B in the gradient graph, and the list its gradient is collected in.
    token: Array
    pairs: list[tuple[Array, Array]]


def factor(A: Array, ridge: Scalar) -> Factor:
    """Return the Cholesky factors of B = A + ridge · I for blocks A; ridge is (..., 1) or ()."""
    if is_torch(A):
        from delama_ros.core.autograd import Collect

        ridge = xp(A).as_tensor(ridge, dtype=A.dtype)
        pairs: list[tuple[Array, Array]] = []
        token = Collect.apply(A, ridge, pairs)  # type: ignore[no-untyped-call]
        B = A.detach().clone()
        B.diagonal(dim1=-2, dim2=-1).add_(ridge.detach())
        L = B.mT  # B is symmetric; in this layout it is factored where it is
        xp(A).linalg.cholesky(L, out=L)
        return Factor(L, token, pairs)
    size = A.shape[-1]
    blocks = A.reshape(-1, size, size)
    ridge = np.broadcast_to(ridge, A.shape[:-1]).reshape(-1, size)
    inverted = np.empty(blocks.shape)
    for start in range(0, len(blocks), PART):
        part = slice(start, start + PART)
        inverted[part] = _inverted_triangles(blocks[part], ridge[part])
    return Factor(inverted.reshape(A.shape), None, [])


def solve(factored: Factor, b: Array) -> Array:
    """Solve B x = b for right-hand sides b (..., K, C)."""
    triangle, token, pairs = factored
    if is_torch(b):
        from delama_ros.core.autograd import Solve

        return Solve.apply(token, triangle, b, pairs)  # type: ignore[no-untyped-call]
    return np.swapaxes(triangle, -1, -2) @ (triangle @ b)


def _inverted_triangles(A: Array, ridge: Array) -> Array:
    """Return L⁻¹ (n, K, K) with L Lᵀ = A + diag(ridge).

    numpy has no batched triangular solve, and row by row it would spend its time between calls.
    Inverted blocks on the diagonal of L, at first its numbers, are joined in pairs to blocks twice
    as large: the inverse of (P 0; Q R) is (P⁻¹ 0; −R⁻¹ Q P⁻¹ R⁻¹).
    """
    count, size = ridge.shape
    L = np.array(A)
    np.einsum('nkk->nk', L)[...] += ridge
    L = np.linalg.cholesky(L)
    whole = 1 << (size - 1).bit_length()
    if whole > size:  # bordered by the identity to a power of two
        L, inner = np.tile(np.eye(whole), (count, 1, 1)), L
        L[:, :size, :size] = inner
    diagonal = np.einsum('nkk->nk', L)
    np.reciprocal(diagonal, out=diagonal)
    half = 1
    while half < whole:
        grid = L.reshape(count, whole // (2 * half), 2 * half, whole // (2 * half), 2 * half)
        pairs = np.einsum('niaib->niab', grid)
        P, Q, R = pairs[..., :half, :half], pairs[..., half:, :half], pairs[..., half:, half:]
        Q[...] = R @ -(Q @ P)
        half *= 2
    return L[:, :size, :size]
