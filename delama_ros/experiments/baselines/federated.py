"""Federated learning: a server averages what agents learned from its model.

FedAvg (McMahan et al., AISTATS 2017):  K local steps from θ_g, then θ_g = Σ (n_i/n) θ_i.
FedProx (Li et al., MLSys 2020):  the same on f_i(θ) + μ/2 ‖θ − θ_g‖².
SCAFFOLD (Karimireddy et al., ICML 2020):  steps g_i − c_i + c;
    c_i⁺ = c_i − c + (θ_g − θ_i)/(K η),  c = mean c_i⁺.
FedAvg-FT, FedProx-FT:  each agent ends with local steps from θ_g on f_i.
"""

from __future__ import annotations

import torch
from torch import Tensor

from delama_ros.experiments.baselines.method import Method
from delama_ros.experiments.baselines.problem import Batch, Draw


def shares(batch: Batch) -> Tensor:
    """Return n_i/n, (..., 1, N)."""
    count = batch.weight.sum(-1)
    return (count / count.sum(-1, keepdim=True)).unsqueeze(-2)


class FedAvg(Method):
    """One model for all."""

    name, family = 'fedavg', 'federated'
    vectors = 2
    prox = 0.0  # μ of FedProx

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the rounds of a step; a server receives everybody, whatever the links."""
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


class FedProx(FedAvg):
    """Agents are held near the server's model."""

    name = 'fedprox'
    strengths = (0.1, 0.01, 1.0)

    def start(self) -> None:
        """Take the coefficient as μ."""
        self.prox = self.strength


class Scaffold(FedAvg):
    """Control variates take the agents' drift out of their steps."""

    name = 'scaffold'
    vectors = 4

    def start(self) -> None:
        """Begin without drift."""
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


class FedAvgFT(FedAvg):
    """Local steps from the server's model, which they do not change."""

    name = 'fedavg_ft'
    strengths = (20, 5, 100)  # steps

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Run the server's rounds, then fine-tune."""
        return self.descend(super().step(draw, links), draw, int(self.strength))


class FedProxFT(FedAvgFT):
    """The same from the server of FedProx."""

    name = 'fedprox_ft'
    prox = 0.1
