"""Gradients of a positive definite solve for torch, imported only where tensors are in use.

From B x = b follow ∂b = g and ∂B = −g xᵀ with B g = ∂x: a solve and an outer product. Going through
the Cholesky factors instead would differentiate these in every round.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Solve(torch.autograd.Function):
    """x = B⁻¹ b from the factors L of B, with first derivatives in B and b."""

    @staticmethod
    def forward(ctx: Any, B: Tensor, L: Tensor, b: Tensor) -> Tensor:
        """Solve for x (..., K, C)."""
        x = _two_triangles(L, b)
        ctx.save_for_backward(L, x)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, Tensor]:
        """Return the gradients of B, L (none of its own) and b."""
        L, x = ctx.saved_tensors
        g = _two_triangles(L, grads[0])
        # A matrix product over one column is slow.
        return (-g * x.mT if x.shape[-1] == 1 else -g @ x.mT), None, g


def _two_triangles(L: Tensor, b: Tensor) -> Tensor:
    # torch.cholesky_solve would copy L in every call.
    triangular = torch.linalg.solve_triangular
    x: Tensor = triangular(L.mT, triangular(L, b, upper=False), upper=True)
    return x
