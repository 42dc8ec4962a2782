"""Lifelong learning of one agent by itself: what was learned before must not be forgotten.

LwF (Li and Hoiem, TPAMI 2018):  f(θ) + λ τ² KL(p_old ‖ p_new) on the new inputs, at temperature τ.
EWC (Kirkpatrick et al., PNAS 2017):  f(θ) + λ/2 Σ_k Σ F_k (θ − θ*_k)², F the diagonal of the Fisher
    information, E_x E_{y ~ p(y|x)} (∂ log p / ∂θ)².
MAS (Aljundi et al., ECCV 2018):  f(θ) + λ/2 Σ Ω (θ − θ*)², Ω the sum of E_x |∂ ‖f(x)‖² / ∂θ| over
    past steps, θ* the last of their models.
GEM (Lopez-Paz and Ranzato, NeurIPS 2017):  the step nearest to g that increases no past loss:
    g + Gᵀv, v = argmin_{v ≥ 0} ‖Gᵀv + g‖², G the gradients on what is remembered of past steps.
A-GEM (Chaudhry et al., ICLR 2019):  r the gradient on samples drawn from all that is remembered; if
    gᵀr < 0, g − (gᵀr / rᵀr) r.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from delama_ros.experiments.baselines.method import Method
from delama_ros.experiments.baselines.problem import Batch, Draw, Problem, cross_entropy

TEMPERATURE = 2.0  # as in the LwF paper


class Alone(Method):
    """Gradient steps on own data; nothing is sent. The base of all methods here."""

    family = 'lifelong'
    vectors = 0

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Take as many gradient steps as methods with rounds do."""
        for _ in range(self.effort.rounds * self.effort.local):
            gradient = self.direction(self.theta, draw())
            self.theta = self.theta - self.effort.rate * gradient
        self.remember(draw())
        return self.theta

    def direction(self, theta: Tensor, batch: Batch) -> Tensor:
        """Return the direction to go against."""
        return self.problem.gradient(theta, batch)

    def remember(self, batch: Batch) -> None:
        """Keep what is needed of a step when it ends."""


class LwF(Alone):
    """The old model's answers to new inputs are kept."""

    name = 'lwf'
    strengths = (1.0, 0.1, 10.0)  # λ
    old: Tensor | None = None

    def direction(self, theta: Tensor, batch: Batch) -> Tensor:
        """Return the gradient of the loss and the distillation term."""
        if self.old is None:
            return super().direction(theta, batch)
        old, networks = self.old, self.problem.networks
        target = (networks(old, batch.x) / TEMPERATURE).softmax(-1).detach()
        count = batch.weight.sum(-1).clamp(min=1e-12)

        def value(point: Tensor) -> Tensor:
            out = networks(point, batch.x)
            loss = self.problem.loss(out, batch.y)
            distance = cross_entropy(out / TEMPERATURE, target)  # KL up to a constant
            loss = loss + self.strength * TEMPERATURE**2 * distance
            return (loss * batch.weight).sum(-1) / count

        return self.problem.clipped(self.problem.gradient_of(value, theta))

    def remember(self, batch: Batch) -> None:
        """Keep the model."""
        self.old = self.theta.clone()


class EWC(Alone):
    """Parameters that mattered are held where they were."""

    name = 'ewc'
    strengths = (10.0, 1.0, 100.0)  # λ

    def start(self) -> None:
        """Begin with nothing that mattered."""
        self.importance = torch.zeros_like(self.theta)  # Σ_k F_k
        self.anchor = torch.zeros_like(self.theta)  # Σ_k F_k θ*_k

    def direction(self, theta: Tensor, batch: Batch) -> Tensor:
        """Return the gradient of loss and penalty, the latter bounded so that steps stay stable."""
        pull = self.strength * (self.importance * theta - self.anchor)
        stiff = (self.effort.rate * self.strength * self.importance).clamp(min=1.0)
        return super().direction(theta, batch) + pull / stiff

    def remember(self, batch: Batch) -> None:
        """Add the importance of parameters for this step."""
        weight = self.measured(batch)
        self.importance = self.importance + weight
        self.anchor = self.anchor + weight * self.theta

    def measured(self, batch: Batch) -> Tensor:
        """Return the importance of parameters (..., N, P) for a batch."""
        return fisher(self.problem, self.theta, batch)


class MAS(EWC):
    """All that mattered is held where it was last."""

    name = 'mas'
    strengths = (1.0, 0.1, 10.0)

    def measured(self, batch: Batch) -> Tensor:
        """Return how sensitive the outputs are to each parameter."""
        return sensitivity(self.problem, self.theta, batch)

    def remember(self, batch: Batch) -> None:
        """Add the importance of parameters for this step and let go of older anchors."""
        super().remember(batch)
        self.anchor = self.importance * self.theta


def fisher(problem: Problem, theta: Tensor, batch: Batch, *, softmax: bool = True) -> Tensor:
    """Return the diagonal of the Fisher information (..., N, P), by a gradient per output.

    With softmax=False outputs are means of unit Gaussians: F = E_x Σ_c (∂ f_c / ∂θ)².
    """
    total = torch.zeros_like(theta)
    for s, outputs in _samples(problem, theta, batch):
        share = outputs.softmax(-1).detach() if softmax else torch.ones_like(outputs)
        values = outputs.log_softmax(-1) if softmax else outputs
        for c in range(values.shape[-1]):
            (g,) = torch.autograd.grad(values[..., c].sum(), s, retain_graph=True)
            total = total + share[..., c, None] * g**2
    return total / batch.x.shape[theta.ndim - 1]


def sensitivity(problem: Problem, theta: Tensor, batch: Batch) -> Tensor:
    """Return E_x |∂ ‖f(x)‖² / ∂θ| (..., N, P), the importance of MAS."""
    total = torch.zeros_like(theta)
    for s, outputs in _samples(problem, theta, batch):
        (g,) = torch.autograd.grad((outputs**2).sum(), s)
        total = total + g.abs()
    return total / batch.x.shape[theta.ndim - 1]


def _samples(problem: Problem, theta: Tensor, batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
    """Give, sample by sample, a point to differentiate at and all agents' outputs (..., N, C)."""
    axis = theta.ndim - 1
    for s in range(batch.x.shape[axis]):
        point = theta.detach().requires_grad_()
        yield point, problem.networks(point, batch.x.narrow(axis, s, 1)).squeeze(-2)


class GEM(Alone):
    """Steps increase no past step's loss."""

    name = 'gem'
    strengths = (0.0, 0.5)  # lower bound on v, which helps past steps; 0.5 in the paper

    def start(self) -> None:
        """Begin without past steps."""
        self.past: list[Batch] = []

    def direction(self, theta: Tensor, batch: Batch) -> Tensor:
        """Return the projected gradient."""
        g = super().direction(theta, batch)
        if not self.past:
            return g
        G = torch.stack([super(GEM, self).direction(theta, old) for old in self.past], -2)
        return project(g, G, self.strength)

    def remember(self, batch: Batch) -> None:
        """Keep the data."""
        self.past.append(batch)


def project(g: Tensor, G: Tensor, margin: float = 0.0) -> Tensor:
    """Return g + Gᵀv for g (..., P), G (..., k, P), v = argmin_{v ≥ margin} ‖Gᵀv + g‖²."""
    start = g + margin * G.sum(-2)  # of v − margin ≥ 0
    gram, product = (
        values.flatten(0, -3).double().nan_to_num(0.0, 0.0, 0.0).numpy()  # of runs that diverged
        for values in (G @ G.mT, G @ start.unsqueeze(-1))
    )  # (rows, k, k), (rows, k, 1)
    # ‖Gᵀu + s‖² is ‖Lᵀu + L⁻¹Gs‖² up to a constant, LLᵀ = GGᵀ: k unknowns, whatever P.
    ridge = 100 * torch.finfo(G.dtype).eps * gram.max((-1, -2), keepdims=True) + 1e-30
    L = np.linalg.cholesky(gram + ridge * np.eye(gram.shape[-1]))
    goals = -np.linalg.solve(L, product)[..., 0]
    u = np.stack([nnls(root.T, goal)[0] for root, goal in zip(L, goals, strict=True)])
    v = torch.from_numpy(u).to(G).reshape(*G.shape[:-2], 1, -1)
    violated = ((G @ g.unsqueeze(-1)).squeeze(-1) < 0).any(-1, keepdim=True)
    return torch.where(violated, start + (v @ G).squeeze(-2), g)


class AGEM(Alone):
    """One constraint: the loss on what is drawn from memory does not increase."""

    name = 'agem'

    def start(self) -> None:
        """Begin without past steps."""
        self.past: Batch | None = None
        self.random = torch.Generator().manual_seed(0)

    def direction(self, theta: Tensor, batch: Batch) -> Tensor:
        """Return the projected gradient."""
        g = super().direction(theta, batch)
        if self.past is None:
            return g
        r = super().direction(theta, self.drawn(self.past, batch.weight.shape[-1]))
        inner = (g * r).sum(-1, keepdim=True)
        excess = inner / (r * r).sum(-1, keepdim=True).clamp(min=1e-20)
        return torch.where(inner < 0, g - excess * r, g)

    def drawn(self, past: Batch, size: int) -> Batch:
        """Draw some of what each agent remembers, none twice."""
        order = torch.rand(past.weight.shape, generator=self.random).argsort(-1)[..., :size]

        def part(values: Tensor) -> Tensor:
            places = order.reshape(*order.shape, *(1,) * (values.ndim - order.ndim))
            return torch.take_along_dim(values, places, order.ndim - 1)

        return Batch(part(past.x), part(past.y), part(past.weight))

    def remember(self, batch: Batch) -> None:
        """Keep the data."""
        axis = self.theta.ndim - 1
        old = [] if self.past is None else [self.past]
        self.past = Batch(
            *(torch.cat([getattr(b, name) for b in [*old, batch]], axis)
              for name in ('x', 'y', 'weight'))
        )
