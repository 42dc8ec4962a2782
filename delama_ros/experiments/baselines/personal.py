"""Personalised federated learning: every agent ends with a model of its own.

Ditto (Li et al., ICML 2021):  θ_g as in FedAvg; v ← v − η (∇f_i(v) + λ (v − θ_g)).
FedRep (Collins et al., ICML 2021):  the head stays with the agent, the body is averaged; in a round
    the head is fitted first, then the body below it.
pFedGraph (Ye et al., ICML 2023):  w_i = argmin_{w ∈ simplex} α ‖w − p‖² − Σ_j w_j cos(Δ_i, Δ_j)
    with p_j = n_j/n and Δ the change since the start: the projection of p + cos/(2α). Agents go on
    from θ̄_i = Σ_j w_ij θ_j, on f_i(θ) − λ cos(θ, θ̄_i).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from delama_ros.experiments.baselines.federated import FedAvg, shares
from delama_ros.experiments.baselines.method import Method
from delama_ros.experiments.baselines.problem import Draw


class Ditto(FedAvg):
    """A personal model beside the server's, held near it by λ."""

    name = 'ditto'
    strengths = (0.1, 0.01, 1.0)  # λ

    def start(self) -> None:
        """Begin with the server's model."""
        self.own = self.theta.clone()

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step."""
        for _ in range(self.effort.rounds):
            for _ in range(self.effort.local):
                gradient = self.problem.gradient(self.own, draw())
                gradient = gradient + self.strength * (self.own - self.theta)
                self.own = self.own - self.effort.rate * gradient
            theta = self.local(draw)
            self.theta = (shares(draw()) @ theta).expand_as(theta)
        return self.own


class FedRep(Method):
    """Bodies are averaged, heads stay."""

    name, family = 'fedrep', 'federated'
    vectors = 2

    @property
    def bytes_per_step(self) -> int:
        """Only the body travels."""
        body = 1.0 - float(self.problem.networks.head.mean())
        return round(super().bytes_per_step * body)

    @property
    def rounds(self) -> int:
        """Rounds of communication in a step, none where there is no body."""
        return super().rounds if self.bytes_per_step else 0

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step."""
        head = self.problem.networks.head
        parts = [part for part in (head, 1.0 - head) if part.any()]
        for _ in range(self.effort.rounds):
            for part in parts:
                for _ in range(self.effort.local):
                    gradient = self.problem.gradient(self.theta, draw()) * part
                    self.theta = self.theta - self.effort.rate * gradient
            mean = shares(draw()) @ self.theta
            self.theta = torch.where(head > 0, self.theta, mean)
        return self.theta


class PFedGraph(Method):
    """A collaboration graph from how alike the agents' changes are."""

    name, family = 'pfedgraph', 'federated'
    vectors = 2
    strengths = (0.8, 0.2, 0.05)  # α; large: everybody alike
    align = 0.01  # λ

    def start(self) -> None:
        """Keep the first models."""
        self.first = self.theta.clone()

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step; agents answer with what they learned last."""
        for _ in range(self.effort.rounds):
            batch = draw()
            change = self.theta - self.first
            alike = cosine_similarity(change.unsqueeze(-2), change.unsqueeze(-3), dim=-1, eps=1e-12)
            weights = onto_simplex(shares(batch) + alike / (2 * self.strength))
            mean = weights @ self.theta
            self.theta = mean
            for _ in range(self.effort.local):
                gradient = self.problem.gradient(self.theta, draw())
                gradient = gradient - self.align * cosine_gradient(self.theta, mean)
                self.theta = self.theta - self.effort.rate * gradient
        return self.theta


def cosine_gradient(theta: Tensor, goal: Tensor) -> Tensor:
    """Return ∇_θ cos(θ, γ) = (γ/‖γ‖ − cos(θ, γ) θ/‖θ‖)/‖θ‖ for a goal γ."""
    length = _norm(theta)
    aim = goal / _norm(goal)
    cosine = (aim * theta).sum(-1, keepdim=True) / length
    return (aim - cosine * theta / length) / length


def _norm(theta: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(theta, dim=-1, keepdim=True)
    return length.clamp(min=1e-12)


def onto_simplex(v: Tensor) -> Tensor:
    """Return the nearest point of {w ≥ 0, Σw = 1} to each row (..., N)."""
    falling = v.sort(-1, descending=True).values
    count = torch.arange(1, v.shape[-1] + 1, dtype=v.dtype)
    lines = (falling.cumsum(-1) - 1) / count
    used = (falling > lines).sum(-1, keepdim=True).clamp(min=1)  # 0 only for NaN
    return (v - lines.gather(-1, used - 1)).clamp(min=0)
