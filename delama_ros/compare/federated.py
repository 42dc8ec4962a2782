"""Federated learning: a server averages what agents learned from its model.

FedAvg (McMahan et al., AISTATS 2017):  K local steps from θ_g, then θ_g = Σ (n_i/n) θ_i.
FedProx (Li et al., MLSys 2020):  the same on f_i(θ) + μ/2 ‖θ − θ_g‖².
SCAFFOLD (Karimireddy et al., ICML 2020):  steps g_i − c_i + c;
    c_i⁺ = c_i − c + (θ_g − θ_i)/(K η),  c = mean c_i⁺.
FedAvg-FT, FedProx-FT:  each agent ends with local steps from θ_g on f_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from delama_ros.compare.method import Effort, Method
from delama_ros.compare.problem import Batch, Draw, Problem


def shares(batch: Batch) -> Tensor:
    """Return n_i/n, (..., 1, N)."""
    count = batch.weight.sum(-1)
    return (count / count.sum(-1, keepdim=True)).unsqueeze(-2)


class FedAvg(Method):
    """One model for all; `prox` is the μ of FedProx."""

    vectors = 2

    def __init__(
        self, problem: Problem, effort: Effort, shape: tuple[int, ...], *, prox: float = 0.0
    ) -> None:
        super().__init__(problem, effort, shape)
        self.prox = prox

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step; a server hears everybody, whatever the links."""
        for _ in range(self.effort.rounds):
            theta = self.local(draw)
            self.theta = (shares(draw()) @ theta).expand_as(theta)
        return self.theta

    def local(self, draw: Draw) -> Tensor:
        """Return what agents make of the server's model in a round."""
        theta = self.theta
        for _ in range(self.effort.local):
            gradient = self.problem.gradient(theta, draw()) + self.prox * (theta - self.theta)
            theta = theta - self.effort.rate * gradient
        return theta


class Scaffold(FedAvg):
    """Control variates take the agents' drift out of their steps."""

    vectors = 4

    def __init__(self, problem: Problem, effort: Effort, shape: tuple[int, ...]) -> None:
        super().__init__(problem, effort, shape)
        self.control = torch.zeros_like(self.theta)  # c_i; c is their mean

    def local(self, draw: Draw) -> Tensor:
        """Return what agents make of the server's model in a round."""
        theta, mean = self.theta, self.control.mean(-2, keepdim=True)
        for _ in range(self.effort.local):
            gradient = self.problem.gradient(theta, draw()) - self.control + mean
            theta = theta - self.effort.rate * gradient
        moved = (self.theta - theta) / (self.effort.local * self.effort.rate)
        self.control = self.control - mean + moved
        return theta


@dataclass(frozen=True)
class FineTuned:
    """FedAvg-FT and FedProx-FT: local steps from the server's model, which they do not change."""

    server: FedAvg
    steps: int

    @property
    def bytes_per_step(self) -> int:
        """What an agent sends and is sent in a step."""
        return self.server.bytes_per_step

    @property
    def rounds(self) -> int:
        """Rounds of communication in a step."""
        return self.server.rounds

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the server's rounds, then fine-tune."""
        return self.server.descend(self.server.step(draw, links), draw, self.steps)
