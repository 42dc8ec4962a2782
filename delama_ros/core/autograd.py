"""Gradients of positive definite solves for torch, imported only where tensors are in use.

From B x = b follow ∂b = g and ∂B = −g xᵀ with B g = ∂x. Many solves share one B: their parts of ∂B
are collected and added up by one matrix product. Going through the Cholesky factors instead would
differentiate these in every round.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Pairs = list[tuple[Tensor, Tensor]]


class Collect(torch.autograd.Function):
    """Stands for B = A + ridge · I in the gradient graph: its turn comes after all solves'."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, ridge: Tensor, pairs: Pairs) -> Tensor:
        """Return a token that solves depend on."""
        ctx.pairs = pairs
        ctx.ridge_shape = ridge.shape
        return A.new_zeros(())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return ∂A = ∂B = −Σ g xᵀ and the ridge's part of it."""
        g = torch.cat([g for g, _ in ctx.pairs], -1)
        x = torch.cat([x for _, x in ctx.pairs], -1)
        ctx.pairs.clear()
        ridge = -(g * x).sum(-1).sum_to_size(ctx.ridge_shape)
        return -g @ x.mT, ridge, None


class Solve(torch.autograd.Function):
    """x = B⁻¹ b from the Cholesky factors L of B."""

    @staticmethod
    def forward(ctx: Any, token: Tensor, L: Tensor, b: Tensor, pairs: Pairs) -> Tensor:
        """Solve for x (..., K, C)."""
        x = _two_triangles(L, b)
        ctx.save_for_backward(L, x)
        ctx.pairs = pairs
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, Tensor, None]:
        """Return ∂b and leave the part of ∂B for `Collect`."""
        L, x = ctx.saved_tensors
        g = _two_triangles(L, grads[0])
        ctx.pairs.append((g, x))
        return g.new_zeros(()), None, g, None


def _two_triangles(L: Tensor, b: Tensor) -> Tensor:
    # torch.cholesky_solve would copy L in every call.
    triangular = torch.linalg.solve_triangular
    x: Tensor = triangular(L.mT, triangular(L, b, upper=False), upper=True)
    return x
