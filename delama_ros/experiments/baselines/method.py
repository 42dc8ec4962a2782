"""The interface of a comparison method: data of step t and communication graph → models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from delama_ros.experiments.baselines.problem import Draw, Problem
from delama_ros.experiments.runs_as import RunsAs


@dataclass(frozen=True)
class Effort:
    """What a method may spend in a time step, and the length of its gradient steps."""

    rounds: int = 100  # of communication
    local: int = 5  # gradient steps between two of them, for methods that have such
    rate: float = 0.01


class Method(ABC):
    """Learns one step after the other and stores what it needs between steps.

    To add a method of your own, write a subclass with a `name` and `step`, and with `start` if it
    stores more than models. It may have one coefficient, `strength`.
    """

    name: str
    family: Literal['lifelong', 'federated', 'decentralised'] = 'decentralised'
    # Grids that settings are chosen from on validation data: the coefficient (μ, λ, ρ, steps, …),
    # whose first value goes with the search for the rate, and rates of whole networks and of heads
    # on decorrelated features.
    strengths: tuple[float, ...] = (0.0,)
    rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    strong_rates: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)
    # Models (or vectors of the same size) that an agent sends in a round. With a server, what it
    # sends back to the agent counts as well; without one, a broadcast counts once.
    vectors: int = 1
    # Whether it sends after every gradient; it then gets as many gradients as the others.
    every_gradient: bool = False

    def __init__(
        self, problem: Problem, effort: Effort, shape: tuple[int, ...],
        strength: float | None = None,
    ) -> None:
        """Start all agents, shape (..., N), from the same parameters."""
        self.problem = problem
        self.effort = effort
        self.strength = self.strengths[0] if strength is None else strength
        first = problem.networks.first
        self.theta = first.expand(*shape, -1).clone()  # (..., N, P)
        self.start()

    def start(self) -> None:  # noqa: B027 - most methods keep nothing else
        """Prepare what is kept between steps besides the models."""

    @abstractmethod
    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Learn from the data of a step; links (B, N, N): who receives whom. Return the models."""

    @property
    def rounds(self) -> int:
        """Rounds of communication in a step."""
        return self.effort.rounds if self.vectors else 0

    @property
    def bytes_per_step(self) -> int:
        """What an agent sends in a step, and with a server also is sent, as float32."""
        return 4 * self.vectors * self.effort.rounds * self.problem.networks.size

    @classmethod
    def runs_as(cls) -> RunsAs:
        """Return what the method runs as."""
        return 'server' if cls.family == 'federated' else 'gradient'

    def descend(self, theta: Tensor, draw: Draw, steps: int) -> Tensor:
        """Take gradient steps on each agent's own loss."""
        for _ in range(steps):
            theta = theta - self.effort.rate * self.problem.gradient(theta, draw())
        return theta


class Adam:
    """Adam (Kingma and Ba, 2015) on rows of parameters."""

    def __init__(self, like: Tensor, rate: float) -> None:
        self._rate = rate
        self._count = 0
        self._mean = torch.zeros_like(like)
        self._square = torch.zeros_like(like)

    def step(self, theta: Tensor, gradient: Tensor) -> Tensor:
        """Return θ after one step."""
        self._count += 1
        self._mean.mul_(0.9).add_(gradient, alpha=0.1)
        self._square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        mean = self._mean / (1 - 0.9**self._count)
        square = self._square / (1 - 0.999**self._count)
        return theta - self._rate * mean / (square.sqrt() + 1e-8)
