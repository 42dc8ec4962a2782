"""Compiled Cholesky factors and solves of many small blocks, which numpy lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Function = TypeVar('Function', bound=Callable[..., object])


def _compiled(function: Function) -> Function:
    """Compile; sums may be taken in any order, which lets vector instructions be used."""
    compile_it = numba.njit(cache=True, nogil=True, fastmath={'reassoc', 'contract'})
    return cast(Function, compile_it(function))


@_compiled
def _factor(A: Floats, ridge: Floats, L: Floats) -> int:
    """Fill L (n, K, K) row by row; returns the first block that is not positive definite, or -1."""
    n, size = ridge.shape
    for block in range(n):
        for i in range(size):
            for j in range(i + 1):
                rest = A[block, i, j]
                if i == j:
                    rest += ridge[block, i]
                for k in range(j):
                    rest -= L[block, i, k] * L[block, j, k]
                if i == j:
                    if not rest > 0.0:
                        return block
                    L[block, i, i] = np.sqrt(rest)
                else:
                    L[block, i, j] = rest / L[block, j, j]
    return -1


@_compiled
def _solve(L: Floats, x: Floats) -> None:
    """Solve L Lᵀ x = b in place for x = b (n, C, K); rows of L are read in order both times."""
    n, columns, size = x.shape
    for block in range(n):
        for c in range(columns):
            for i in range(size):
                rest = x[block, c, i]
                for k in range(i):
                    rest -= L[block, i, k] * x[block, c, k]
                x[block, c, i] = rest / L[block, i, i]
            for i in range(size - 1, -1, -1):
                x[block, c, i] /= L[block, i, i]
                value = x[block, c, i]
                for k in range(i):
                    x[block, c, k] -= L[block, i, k] * value


def factor_blocks(A: Floats, ridge: Floats) -> Floats:
    """Return L (..., K, K) with L Lᵀ = A + ridge · I; ridge is (..., 1) or ()."""
    size = A.shape[-1]
    blocks = np.ascontiguousarray(A, np.float64).reshape(-1, size, size)
    diagonal = np.broadcast_to(np.asarray(ridge, np.float64), A.shape[:-1]).reshape(-1, size)
    L = np.zeros(blocks.shape)
    wrong = _factor(blocks, np.ascontiguousarray(diagonal), L)
    if wrong >= 0:
        raise np.linalg.LinAlgError(f'block {wrong} of {len(blocks)} is not positive definite')
    return L.reshape(A.shape)


def solve_blocks(L: Floats, b: Floats) -> Floats:
    """Return x (..., K, C) with L Lᵀ x = b; leading dimensions of L and b are the same."""
    size, columns = b.shape[-2:]
    # copied: it is overwritten
    x = np.array(np.swapaxes(b, -1, -2), np.float64, order='C').reshape(-1, columns, size)
    _solve(L.reshape(-1, size, size), x)
    return np.swapaxes(x.reshape(*b.shape[:-2], columns, size), -1, -2)
