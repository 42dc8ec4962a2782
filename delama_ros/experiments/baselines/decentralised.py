"""Decentralised optimisation over a mixing matrix W: DSGD, DSGT, DFedAvgM and DiNNO.

DSGD (Lian et al., NeurIPS 2017):  θ⁺ = Wθ − α g(θ).
DSGT (Pu and Nedić, Math. Programming 2021):  θ⁺ = W(θ − α y),  y⁺ = Wy + g(θ⁺) − g(θ).
DFedAvgM (Sun et al., TPAMI 2023):  K steps v ← μ v + g, θ ← θ − α v, then θ⁺ = Wθ.
DiNNO (Yu et al., RA-L 2022):  p_i += ρ Σ_j (θ_i − θ_j),
    θ_i⁺ = argmin f_i(θ) + p_iᵀθ + ρ Σ_j ‖θ − (θ_i + θ_j)/2‖², by K steps of Adam.

All rounds are synchronous; W has Metropolis weights.
"""

from __future__ import annotations

import torch
from torch import Tensor

from delama_ros.experiments.baselines.method import Adam, Method
from delama_ros.experiments.baselines.problem import Draw


def metropolis(links: Tensor) -> Tensor:
    """Return W_ij = 1/(1 + max(d_i, d_j)) on links (..., N, N), the rest on the diagonal."""
    agents = links.shape[-1]
    others = links.bool() & ~torch.eye(agents, dtype=torch.bool)
    degree = others.sum(-1)
    largest = torch.maximum(degree[..., :, None], degree[..., None, :])
    W = others / (1.0 + largest)
    return W + torch.diag_embed(1.0 - W.sum(-1))


class DSGD(Method):
    """Mix with the neighbours and take one gradient step, every round."""

    name = 'dsgd'
    every_gradient = True

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step."""
        W = metropolis(links)
        for _ in range(self.effort.rounds):
            gradient = self.problem.gradient(self.theta, draw())
            self.theta = W @ self.theta - self.effort.rate * gradient
        return self.theta


class DSGT(Method):
    """Follow an estimate y of the mean gradient of all agents."""

    name = 'dsgt'
    vectors = 2
    every_gradient = True

    def start(self) -> None:
        """Begin without gradients: mean(y) = mean(g) and, by the update, ever after."""
        self.gradient = torch.zeros_like(self.theta)
        self.tracker = torch.zeros_like(self.theta)

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step."""
        W = metropolis(links)
        for _ in range(self.effort.rounds):
            gradient = self.problem.gradient(self.theta, draw())
            self.tracker = W @ self.tracker + gradient - self.gradient
            self.gradient = gradient
            self.theta = W @ (self.theta - self.effort.rate * self.tracker)
        return self.theta


class DFedAvgM(Method):
    """Take local steps with momentum, then mix."""

    name = 'dfedavgm'
    momentum = 0.9

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step."""
        W = metropolis(links)
        for _ in range(self.effort.rounds):
            velocity = torch.zeros_like(self.theta)
            for _ in range(self.effort.local):
                gradient = self.problem.gradient(self.theta, draw())
                velocity = self.momentum * velocity + gradient
                self.theta = self.theta - self.effort.rate * velocity
            self.theta = W @ self.theta
        return self.theta


class DiNNO(Method):
    """Consensus by the alternating direction method of multipliers, solved inexactly."""

    name = 'dinno'
    strengths = (0.1, 0.01, 1.0)  # ρ
    rates = strong_rates = (0.0003, 0.001, 0.003, 0.01)  # of Adam

    def start(self) -> None:
        """Begin with duals of zero."""
        self.dual = torch.zeros_like(self.theta)

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step."""
        others = (links.bool() & ~torch.eye(links.shape[-1], dtype=torch.bool)).to(self.theta)
        degree = others.sum(-1, keepdim=True)
        rho = self.strength
        for _ in range(self.effort.rounds):
            received = others @ self.theta  # Σ_j θ_j
            self.dual = self.dual + rho * (degree * self.theta - received)
            # ∇ ρ Σ_j ‖θ − (θ_i + θ_j)/2‖² = ρ (2 d θ − d θ_i − Σ_j θ_j)
            pull = degree * self.theta + received
            theta, adam = self.theta, Adam(self.theta, self.effort.rate)
            for _ in range(self.effort.local):
                gradient = self.problem.gradient(theta, draw())
                gradient = gradient + self.dual + rho * (2 * degree * theta - pull)
                theta = adam.step(theta, gradient)
            self.theta = theta
        return self.theta
