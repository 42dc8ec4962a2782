"""What differs between numpy (robots) and torch (training), so that all else is written once.

The type of an array selects the library; torch is imported only for tensors, so robots run without.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, TypeAlias

import numpy as np

# A numpy array or a torch tensor; and a plain number, or a 0-d tensor while it is being learned.
Array: TypeAlias = Any
Scalar: TypeAlias = Any


def is_torch(array: Array) -> bool:
    """Return whether the argument is a torch tensor (or parameter)."""
    return type(array).__module__.startswith('torch')


def xp(array: Array) -> Any:
    """Return the library an array belongs to."""
    return sys.modules['torch'] if is_torch(array) else np


def detach(array: Array) -> Array:
    """Return the array cut off from the gradient graph."""
    return array.detach() if is_torch(array) else array


def single(array: Array) -> Array:
    """Return a numpy array in single precision; a tensor keeps the precision of the training."""
    return array if is_torch(array) else array.astype(np.float32)


def double(array: Array) -> Array:
    """Return a numpy array in double precision; a tensor keeps the precision of the training."""
    return array if is_torch(array) else array.astype(np.float64)


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

    triangle: Array  # lower Cholesky factors L, B = L Lᵀ, (..., K, K)
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
    from delama_ros.core.triangular import factor_blocks  # numba: not for a command's --help

    return Factor(factor_blocks(A, ridge), None, [])


def solve(factored: Factor, b: Array) -> Array:
    """Solve B x = b for right-hand sides b (..., K, C)."""
    triangle, token, pairs = factored
    if is_torch(b):
        from delama_ros.core.autograd import Solve

        return Solve.apply(token, triangle, b, pairs)  # type: ignore[no-untyped-call]
    from delama_ros.core.triangular import solve_blocks

    return solve_blocks(triangle, b)
