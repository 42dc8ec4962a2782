"""Small problems with known answers, for the tests of the gradient methods."""

import numpy as np
import torch
from torch import nn

from delama_ros.experiments.baselines.method import Effort
from delama_ros.experiments.baselines.problem import (
    Batch,
    Networks,
    Problem,
    cross_entropy,
    squared_error,
)

AGENTS, SAMPLES, INPUTS = 4, 8, 3
EFFORT = Effort(rounds=6, local=3, rate=0.05)
SHAPE = (2, AGENTS)
FULL = torch.ones(2, AGENTS, AGENTS, dtype=torch.bool)
LINE = torch.tensor(abs(np.subtract.outer(range(AGENTS), range(AGENTS))) <= 1).expand(2, -1, -1)


def linear() -> Problem:
    return Problem(Networks(nn.Linear(INPUTS, 1, bias=False)), squared_error)


def small() -> Problem:
    net = nn.Sequential(nn.Linear(INPUTS, 5), nn.Tanh(), nn.Linear(5, 2))
    return Problem(Networks(net, head='2'), cross_entropy)


def batch(classes: int = 1, seed: int = 1) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*SHAPE, SAMPLES, INPUTS, generator=generator)
    if classes == 1:
        y = torch.randn(*SHAPE, SAMPLES, 1, generator=generator)
    else:
        labels = torch.randint(0, classes, (*SHAPE, SAMPLES), generator=generator)
        y = nn.functional.one_hot(labels, classes).double()
    return Batch(x, y, torch.ones(*SHAPE, SAMPLES))


def mean_optimum(data: Batch) -> torch.Tensor:
    """Least squares on all agents' data together, (2, 1, INPUTS)."""
    x, y = data.x.flatten(1, 2), data.y.flatten(1, 2)
    return torch.linalg.lstsq(x, y).solution.mT
