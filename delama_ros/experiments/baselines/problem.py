"""What every comparison method works on: networks as rows of one tensor, data, and a loss.

A team of N agents has models θ (N, P), one flat row of parameters per agent; B independent teams
that are run at once have (B, N, P). All methods are formulas on such tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap


class Networks:
    """Any number of networks of one architecture, each a row of parameters."""

    def __init__(self, module: nn.Module, head: str | None = None) -> None:
        """Take the architecture and first parameters of a module; `head` names its last layer."""
        self._module = module
        self._parts = [(name, p.shape, p.numel()) for name, p in module.named_parameters()]
        self.size = sum(count for _, _, count in self._parts)
        self.first = torch.cat([p.detach().flatten() for p in module.parameters()])  # (P,)
        # 1 for parameters of the head, 0 for those of the body below it, (P,)
        inside = [
            torch.full((count,), float(head is not None and name.startswith(head)))
            for name, _, count in self._parts
        ]
        self.head = torch.cat(inside)

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Return outputs (..., S, C) of models θ (..., P) for inputs (..., S, *shape)."""
        lead = theta.shape[:-1]
        rows = theta.reshape(-1, self.size)
        out: Tensor = vmap(self._one)(rows, x.flatten(0, len(lead) - 1))
        return out.reshape(*lead, *out.shape[1:])

    def _one(self, row: Tensor, x: Tensor) -> Tensor:
        pieces = torch.split(row, [count for _, _, count in self._parts])
        named = {
            name: piece.reshape(shape)
            for (name, shape, _), piece in zip(self._parts, pieces, strict=True)
        }
        out: Tensor = functional_call(self._module, named, (x,))
        return out


@dataclass(frozen=True)
class Batch:
    """Samples of every agent; those of weight 0 are padding."""

    x: Tensor  # (..., N, S, *shape)
    y: Tensor  # (..., N, S, C)
    weight: Tensor  # (..., N, S)


# Gives samples of the data an agent may use in this step; each call may draw others.
Draw = Callable[[], Batch]


@dataclass(frozen=True)
class Problem:
    """A network and the loss of a sample, (..., S, C) outputs and labels → (..., S)."""

    networks: Networks
    loss: Callable[[Tensor, Tensor], Tensor]
    clip: float = math.inf  # largest norm of an agent's gradient

    def value(self, theta: Tensor, batch: Batch) -> Tensor:
        """Return each agent's mean loss, (..., N)."""
        losses = self.loss(self.networks(theta, batch.x), batch.y)
        return (losses * batch.weight).sum(-1) / batch.weight.sum(-1).clamp(min=1e-12)

    def gradient(self, theta: Tensor, batch: Batch) -> Tensor:
        """Return ∇f_i(θ_i) of every agent, (..., N, P)."""
        return self.clipped(self.gradient_of(lambda point: self.value(point, batch), theta))

    def clipped(self, gradient: Tensor) -> Tensor:
        """Return gradients (..., N, P) no longer than allowed."""
        if math.isinf(self.clip):
            return gradient
        norm: Tensor = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
        return gradient * (self.clip / norm.clamp(min=1e-12)).clamp(max=1.0)

    @staticmethod
    def gradient_of(function: Callable[[Tensor], Tensor], theta: Tensor) -> Tensor:
        """Return the gradient of any function with one value per agent."""
        point = theta.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(function(point).sum(), point)
        return gradient


def squared_error(out: Tensor, y: Tensor) -> Tensor:
    """Return ½ ‖out − y‖² of each sample."""
    return 0.5 * ((out - y) ** 2).sum(-1)


def cross_entropy(out: Tensor, y: Tensor) -> Tensor:
    """Return the softmax cross-entropy of each sample; y is one-hot."""
    return -(y * torch.log_softmax(out, -1)).sum(-1)


def binary_cross_entropy(out: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each sample for one logit; y is 0 or 1."""
    return nn.functional.binary_cross_entropy_with_logits(out, y, reduction='none').sum(-1)
