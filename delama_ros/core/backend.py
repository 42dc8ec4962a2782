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

PANEL = 16  # most rows solved at once; 8 and 32 were slower at K = 32


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

    L: Array  # lower Cholesky factors, (..., K, K)
    # numpy: inverses of the triangles on the diagonal of L, (..., q, P, P);
    # torch: what stands for B in the gradient graph, and the list its gradient is collected in.
    panels: Array
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
        return Factor(xp(A).linalg.cholesky(B), token, pairs)
    B = np.array(A)
    np.einsum('...kk->...k', B)[...] += ridge
    L = np.linalg.cholesky(B)
    size = L.shape[-1]
    panel = next(p for p in range(min(PANEL, size), 0, -1) if size % p == 0)
    grid = L.reshape(*L.shape[:-2], size // panel, panel, size // panel, panel)
    triangles = np.ascontiguousarray(np.einsum('...iaib->...iab', grid))
    return Factor(L, _invert_triangles(triangles), [])


def solve(factored: Factor, b: Array) -> Array:
    """Solve B x = b for right-hand sides b (..., K, C)."""
    L, panels, pairs = factored
    if is_torch(b):
        from delama_ros.core.autograd import Solve

        return Solve.apply(panels, L, b, pairs)  # type: ignore[no-untyped-call]
    return _substitute(L, panels, b)


def _substitute(L: Array, panels: Array, b: Array) -> Array:
    """Forward and backward substitution by panels of rows, vectorised over all blocks.

    numpy has no batched triangular solve; row by row it would spend its time between calls.
    """
    x = np.array(b)  # (..., K, C)
    count, size = panels.shape[-3:-1]
    for q in range(count):
        i, below = q * size, (q + 1) * size
        rest = x[..., i:below, :] - L[..., i:below, :i] @ x[..., :i, :]
        x[..., i:below, :] = panels[..., q, :, :] @ rest
    for q in reversed(range(count)):
        i, below = q * size, (q + 1) * size
        column = np.swapaxes(L[..., below:, i:below], -1, -2)
        rest = x[..., i:below, :] - column @ x[..., below:, :]
        x[..., i:below, :] = np.swapaxes(panels[..., q, :, :], -1, -2) @ rest
    return x


def _invert_triangles(L: Array) -> Array:
    """Return the inverses of small lower triangles (..., P, P)."""
    out = np.zeros(L.shape)
    for k in range(L.shape[-1]):
        out[..., k, :k] = -(L[..., k, None, :k] @ out[..., :k, :k])[..., 0, :]
        out[..., k, k] = 1
        out[..., k, : k + 1] /= L[..., k, k, None]
    return out
