"""Second-order expansion of a task loss on a linear head, (14) and (15): H and H α − g.

Losses are sums over samples of −log p: ½(xθ − y)², logistic and softmax cross-entropy. X is
(..., S, K), weights of samples are (..., S); results carry a block axis: H (..., 1, K, K) and
r = H α − g (..., 1, K, C), ready for the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from delama_ros.core.backend import Array, xp

Loss: TypeAlias = Literal['squared', 'logistic', 'softmax']
Statistics: TypeAlias = tuple[Array, Array]


def squared(X: Array, Y: Array, weight: Array | None = None) -> Statistics:
    """½ Σ (xθ − y)²: quadratic, so the expansion is exact and α does not matter.

    Args:
        X: (..., S, K), features of S samples.
        Y: (..., S, C), targets.
        weight: (..., S), of the samples; 1 by default.

    Returns:
        H (..., 1, K, K) and r = H α − g (..., 1, K, C).
    """
    weighted = _weighted(X, Y, weight)
    return _blocks(_t(weighted) @ X, _t(weighted) @ Y)


def logistic(
    X: Array, Y: Array, weight: Array | None = None, alpha: Array | None = None
) -> Statistics:
    """Binary cross-entropy, expanded at α.

    Args:
        X: (..., S, K), features of S samples.
        Y: (..., S, 1), labels in {0, 1}.
        weight: (..., S), of the samples; 1 by default.
        alpha: (..., K, 1), the expansion point; 0 by default.

    Returns:
        H (..., 1, K, K) and r = H α − g (..., 1, K, 1).
    """
    weighted = _weighted(X, Y, weight)
    if alpha is None:
        return _blocks(_t(weighted) @ X / 4, _t(weighted) @ (Y - 0.5))
    p = 0.5 * (1 + xp(X).tanh(X @ alpha / 2))  # sigmoid without overflow, (..., S, 1)
    H = _t(weighted * p * (1 - p)) @ X
    return _blocks(H, H @ alpha + _t(weighted) @ (Y - p))


def softmax(
    X: Array, Y: Array, weight: Array | None = None, alpha: Array | None = None
) -> Statistics:
    """Softmax cross-entropy, expanded at α.

    At α = 0, H = (I/C − 11ᵀ/C²) ⊗ XᵀX and Σ_c r_c = 0. All solutions stay in Σ_c θ_c = 0, where H
    acts as I/C ⊗ XᵀX: one K × K block with C right-hand sides is exactly equivalent. For another
    α that structure is lost: the result is one dense block over (k, c).

    Args:
        X: (..., S, K), features of S samples.
        Y: (..., S, C), one-hot labels.
        weight: (..., S), of the samples; 1 by default.
        alpha: (..., K, C), the expansion point; 0 by default.

    Returns:
        H (..., 1, K, K) and r = H α − g (..., 1, K, C); with alpha (..., 1, K·C, K·C) and
        (..., 1, K·C, 1).

    Raises:
        ValueError: if there are fewer than two classes.
    """
    classes = Y.shape[-1]
    if classes < 2:
        raise ValueError(f'softmax got labels of shape {tuple(Y.shape)}, expected C >= 2')
    weighted = _weighted(X, Y, weight)
    if alpha is None:
        return _blocks(_t(weighted) @ X / classes, _t(weighted) @ (Y - 1 / classes))
    lib = xp(X)
    logits = X @ alpha
    p = lib.exp(logits - lib.amax(logits, -1)[..., None])
    p = p / p.sum(-1)[..., None]  # (..., S, C)
    size = X.shape[-1] * classes
    lead = X.shape[:-2]
    # Σ_s x_k x_l (δ_cd p_c − p_c p_d)
    scaled = (weighted[..., :, None] * p[..., None, :]).reshape(*X.shape[:-1], size)
    plain = (X[..., :, None] * p[..., None, :]).reshape(*X.shape[:-1], size)
    H = -_t(scaled) @ plain
    diagonal = lib.einsum('...sk,...sc,...sl->...kcl', weighted, p, X)  # (..., K, C, K)
    same = xp(X).eye(classes, dtype=X.dtype)
    H = H + (diagonal[..., None] * same[:, None, :]).reshape(*lead, size, size)
    flat = alpha.reshape(*alpha.shape[:-2], size, 1)
    minus_g = (_t(weighted) @ (Y - p)).reshape(*lead, size, 1)
    return _blocks(H, H @ flat + minus_g)


LOSSES: dict[Loss, Callable[..., Statistics]] = {
    'squared': squared, 'logistic': logistic, 'softmax': softmax,
}


def _t(array: Array) -> Array:
    return xp(array).swapaxes(array, -1, -2)


def _blocks(H: Array, r: Array) -> Statistics:
    return H[..., None, :, :], r[..., None, :, :]


def _weighted(X: Array, Y: Array, weight: Array | None) -> Array:
    if X.ndim < 2 or Y.ndim != X.ndim or X.shape[:-1] != Y.shape[:-1]:
        raise ValueError(
            f'X has shape {tuple(X.shape)} and Y {tuple(Y.shape)}, '
            'expected (..., S, K) and (..., S, C) with the same leading shape'
        )
    if weight is not None and weight.shape != X.shape[:-1]:
        raise ValueError(f'weight has shape {tuple(weight.shape)}, expected {tuple(X.shape[:-1])}')
    # NaN and infinity survive a sum, which is one quick pass.
    total = X.sum() + Y.sum() + (0 if weight is None else weight.sum())
    if not xp(X).isfinite(total):
        raise ValueError('X, Y or weight holds NaN or infinity, expected finite numbers')
    return X if weight is None else X * weight[..., None]
