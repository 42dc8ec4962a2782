"""Learning memory (16) and local solution (17) of Algorithm 1: A and b, whose size is constant.

A is block-diagonal, (..., n, K, K), and b holds C right-hand sides, (..., n, K, C). Ordinary heads
have n = 1; a map of tiles has a block per tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from delama_ros.core.backend import Array, Scalar, factor, solve, xp
from delama_ros.core.settings import Settings


@dataclass(frozen=True)
class Memory:
    """All that is remembered of the data of t steps: the quadratic ½ θᵀAθ − bᵀθ."""

    A: Array  # (..., n, K, K)
    b: Array  # (..., n, K, C)
    t: int = 0


def remember(
    memory: Memory,
    H: Array,
    r: Array,
    settings: Settings,
    at: Any = slice(None),
    evidence: Array | None = None,
) -> Memory:
    """Add the statistics of one step to A and b, in place: few blocks of a map change in a step.

    Args:
        memory: after the last step.
        H: Hessians of the blocks `at`.
        r: H α − g of the same blocks.
        settings: which say how the memory accumulates.
        at: index of the blocks with new data.
        evidence: (n, P) of all blocks so far, down to a floor of which forgetting goes.

    Returns:
        The memory after this step.
    """
    share, gain = fading(memory.t + 1, settings, evidence)
    for old, new in ((memory.A, H), (memory.b, r)):
        add(old, new, share, gain, at)
    return Memory(memory.A, memory.b, memory.t + 1)


def fading(t: int, settings: Settings, evidence: Array | None = None) -> tuple[Array, float]:
    """Return the factors of the old memory, one or one per block, and of the new data in step t."""
    if settings.accumulate == 'mean':
        return (t - 1) / t, 1 / t
    if settings.accumulate == 'sum':
        return 1.0, 1.0
    if evidence is None or not evidence.shape[-1]:
        return settings.forget, 1.0
    # Old data count less and less but are not lost: they fade to a floor.
    most = np.maximum(evidence.max(-1), 1e-12)
    return np.clip(settings.forget_floor / most, settings.forget, 1.0), 1.0


def add(old: Array, new: Array, share: Array, gain: float, at: Any = slice(None)) -> None:
    """Scale the old values by their share and add new ones of the blocks `at`, in place."""
    if np.ndim(share) == 1:
        old *= share.reshape(-1, *(1,) * (old.ndim - 1))
    elif share != 1:
        old *= share
    old[at] += new if gain == 1 else gain * new


def remember_all(H: Array, r: Array, settings: Settings) -> tuple[Array, Array]:
    """Return A and b after each of T steps at once, shaped as H and r.

    Args:
        H: (..., T, N, n, K, K), Hessians of each step.
        r: (..., T, N, n, K, C), H α − g of each step.
        settings: which say how the memory accumulates.
    """
    share = _shares(H, H.shape[-5], settings)
    A, b = (share @ steps.reshape(*steps.shape[:-4], -1) for steps in (H, r))
    return A.reshape(H.shape), b.reshape(r.shape)


def remembered(steps: Array, settings: Settings, at: Array | None = None) -> Array:
    """Return what is remembered of (B, T, ...) after each of T steps, or only after those in at."""
    share = _shares(steps, steps.shape[1], settings)
    total = (share if at is None else share[at]) @ steps.reshape(*steps.shape[:2], -1)
    return total.reshape(steps.shape[0], -1, *steps.shape[2:])


def local_solve(A: Array, b: Array, lambda1: Scalar) -> Array:
    """Return θ = (A + 2 λ1 I)⁻¹ b (..., n, K, C), the local solution (17).

    Args:
        A: (..., n, K, K), symmetric and positive semidefinite.
        b: (..., n, K, C).
        lambda1: weight λ1 of ‖θ‖², above 0.
    """
    return solve(factor(A, 2 * lambda1), b)


def _shares(like: Array, steps: int, settings: Settings) -> Array:
    """Return the share (t, s) that step s has in the memory after step t."""
    lib = xp(like)
    t = lib.arange(steps, dtype=like.dtype)
    past = t[:, None] - t[None, :]  # how many steps ago, negative for the future
    if settings.accumulate == 'mean':
        value = 1 / (t[:, None] + 1) + 0 * past
    else:
        rate = settings.forget if settings.accumulate == 'forget' else 1.0
        value = rate ** lib.where(past > 0, past, 0 * past)
    return lib.where(past >= 0, value, 0 * past)
