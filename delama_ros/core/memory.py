"""Learning memory (eq. 12, Algorithm 1): A and b, of one size whatever t, and the local solve.

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
    """What is kept of all data seen in t steps: the quadratic ½ θᵀAθ − bᵀθ."""

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
    """Take the statistics of one step, H and r = H α − g of the blocks `at`, into A and b.

    evidence (n, P): of the blocks so far; forgetting leaves some of it. A and b are changed where
    they are: a map is large, and few of its blocks are touched in a step.
    """
    keep, gain = fading(memory.t + 1, settings, evidence)
    for kept, new in ((memory.A, H), (memory.b, r)):
        add(kept, new, keep, gain, at)
    return Memory(memory.A, memory.b, memory.t + 1)


def fading(t: int, settings: Settings, evidence: Array | None = None) -> tuple[Array, float]:
    """Return the factors of what is kept, one or one per block, and of what is new in step t."""
    if settings.accumulate == 'mean':
        return (t - 1) / t, 1 / t
    if settings.accumulate == 'sum':
        return 1.0, 1.0
    if evidence is None or not evidence.shape[-1]:
        return settings.forget, 1.0
    # What is old counts less and less but is not lost: it fades to a floor.
    most = np.maximum(evidence.max(-1), 1e-12)
    return np.clip(settings.forget_floor / most, settings.forget, 1.0), 1.0


def add(kept: Array, new: Array, keep: Array, gain: float, at: Any = slice(None)) -> None:
    """Let `kept` fade and add what is new of the blocks `at`, in place."""
    if np.ndim(keep) == 1:
        kept *= keep.reshape(-1, *(1,) * (kept.ndim - 1))
    elif keep != 1:
        kept *= keep
    kept[at] += new if gain == 1 else gain * new


def remember_all(H: Array, r: Array, settings: Settings) -> tuple[Array, Array]:
    """Return A and b after each of T steps at once, for H (..., T, N, n, K, K) and r alike."""
    share = _shares(H, H.shape[-5], settings)
    A, b = (share @ steps.reshape(*steps.shape[:-4], -1) for steps in (H, r))
    return A.reshape(H.shape), b.reshape(r.shape)


def remembered(steps: Array, settings: Settings, at: Array | None = None) -> Array:
    """Return what is kept of parts (B, T, ...) after each of T steps, or only after those in at."""
    share = _shares(steps, steps.shape[1], settings)
    kept = (share if at is None else share[at]) @ steps.reshape(*steps.shape[:2], -1)
    return kept.reshape(steps.shape[0], -1, *steps.shape[2:])


def local_solve(A: Array, b: Array, lambda1: Scalar) -> Array:
    """Return θ = (A + 2 λ1 I)⁻¹ b, the end of Algorithm 1."""
    return solve(factor(A, 2 * lambda1), b)


def _shares(like: Array, steps: int, settings: Settings) -> Array:
    """Return the share (t, s) that step s has in the memory after step t."""
    lib = xp(like)
    t = lib.arange(steps, dtype=like.dtype)
    past = t[:, None] - t[None, :]  # how many steps ago, negative for the future
    if settings.accumulate == 'mean':
        value = 1 / (t[:, None] + 1) + 0 * past
    else:
        keep = settings.forget if settings.accumulate == 'forget' else 1.0
        value = keep ** lib.where(past > 0, past, 0 * past)
    return lib.where(past >= 0, value, 0 * past)
