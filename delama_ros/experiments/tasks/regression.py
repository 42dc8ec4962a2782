"""Regression (section 6.1): agents learn a few hidden functions from samples of unequal quality.

f(x) = a x² + b x + c + p sin x + q cos x on [−5, 5]. An agent sees one function, each function is
seen by two agents at least. An agent's type sets how many samples it gets in a step, how noisy they
are, and how long the random interval is that they come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from delama_ros.core.losses import Loss
from delama_ros.data.image_set import Split
from delama_ros.experiments.tasks import graphs
from delama_ros.experiments.tasks.task import Batch
from delama_ros.training.config import require

HALF = 5.0  # the domain is [−5, 5]
QUESTIONS = 64  # points over the domain on which functions are compared
RANGES = np.array([0.4, 1.0, 2.0, 2.0, 2.0])  # of |a|, |b|, |c|, |p|, |q|

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Regression:
    """The task and its sizes; one entry per type in samples, noise and interval."""

    agents: int = 6
    steps: int = 10
    functions: int = 3  # at most; how many is drawn uniformly from 1 to this
    samples: tuple[int, ...] = (20, 10, 4)
    noise: tuple[float, ...] = (0.1, 0.3, 0.6)  # standard deviation
    interval: tuple[float, ...] = (10.0, 1.0, 1.0)  # length
    graph: str = 'full'

    name: ClassVar[str] = 'regression'
    loss: ClassVar[Loss] = 'squared'
    outputs: ClassVar[int] = 1
    metric: ClassVar[Literal['mse', 'accuracy']] = 'mse'

    def __post_init__(self) -> None:
        require('agents', self.agents, self.agents >= 2, 'at least 2')
        require('steps', self.steps, self.steps >= 1, 'at least 1')
        require(
            'functions', self.functions, 1 <= self.functions <= self.agents // 2,
            f'1 to {self.agents // 2}: each is seen by two of {self.agents} agents at least',
        )
        types = len(self.samples)
        require('samples', self.samples, types > 0 and min(self.samples) >= 1, 'numbers above 0')
        for name, values, low, high in (
            ('noise', self.noise, 0.0, np.inf), ('interval', self.interval, 1e-9, 2 * HALF)
        ):
            require(name, values, len(values) == types, f'{types} numbers, as in samples')
            require(
                name, values, all(low <= v <= high for v in values), f'numbers in [{low}, {high}]'
            )
        graphs.check(self.graph, self.agents)

    def draw(self, rng: np.random.Generator, batch: int, split: Split) -> Batch:
        """Draw sequences; every split is drawn from the same distribution."""
        B, T, N, S = batch, self.steps, self.agents, max(self.samples)
        group = self._groups(rng, B)
        coefficients = rng.uniform(-1, 1, (B, self.functions, 5)) * RANGES
        own = np.take_along_axis(coefficients, group[..., None], 1)  # (B, N, 5)
        kind = rng.integers(0, len(self.samples), (B, N))
        samples, noise, length = (
            np.array(values)[kind][:, None, :, None]
            for values in (self.samples, self.noise, self.interval)
        )  # (B, 1, N, 1)
        start = rng.uniform(-HALF, HALF - length, (B, T, N, 1))
        x = start + length * rng.random((B, T, N, S))
        y = curve(own[:, None, :, None], x) + noise * rng.normal(size=x.shape)
        weight = np.broadcast_to(np.arange(S) < samples, x.shape)
        asked = np.linspace(-HALF, HALF, QUESTIONS)
        links = graphs.draw(self.graph, rng, B, N)
        return Batch(
            X=_tensor(x)[..., None],
            Y=_tensor(np.where(weight, y, 0.0))[..., None],
            weight=_tensor(weight),
            asked=_tensor(np.broadcast_to(asked, (B, 1, QUESTIONS)))[..., None],
            sheet=torch.zeros(B, N, dtype=torch.int64),
            answers=_tensor(curve(own[:, :, None], asked))[..., None],
            group=torch.from_numpy(group),
            links=torch.from_numpy(np.repeat(links[:, None], T, 1)),
        )

    def inputs(self, X: Tensor) -> Tensor:
        """Return x in [−1, 1]."""
        return X / HALF

    def _groups(self, rng: np.random.Generator, batch: int) -> NDArray[np.int64]:
        """Give each agent a function (B, N), each function to two agents at least."""
        count = rng.integers(1, self.functions + 1, (batch, 1))
        place = np.tile(np.arange(self.agents), (batch, 1))
        free = rng.integers(0, count, (batch, self.agents))
        group = np.where(place < 2 * count, place // 2, free)
        return rng.permuted(group, axis=1)


def curve(coefficients: Floats, x: Floats) -> Floats:
    """Return f(x) for coefficients (..., 5) that broadcast with x (...)."""
    a, b, c, p, q = np.moveaxis(coefficients, -1, 0)
    values: Floats = a * x**2 + b * x + c + p * np.sin(x) + q * np.cos(x)
    return values


def _tensor(values: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))
