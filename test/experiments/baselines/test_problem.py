"""Networks as rows of a tensor are the networks they stand for."""

import pytest
import torch
from small_problems import INPUTS, SAMPLES, SHAPE, batch, linear
from torch import nn

from delama_ros.experiments.baselines.problem import Batch, Networks

pytestmark = pytest.mark.usefixtures('double')


def test_many_networks_are_each_what_the_module_is() -> None:
    module = nn.Sequential(nn.Linear(INPUTS, 5), nn.Tanh(), nn.Linear(5, 2))
    networks = Networks(module)
    x = torch.randn(*SHAPE, SAMPLES, INPUTS)
    out = networks(networks.first.expand(*SHAPE, -1), x)
    torch.testing.assert_close(out, module(x))


def test_padding_changes_no_gradient() -> None:
    problem, data = linear(), batch()
    theta = torch.randn(*SHAPE, problem.networks.size)
    padded = Batch(
        torch.cat([data.x, torch.full_like(data.x, 7.0)], 2),
        torch.cat([data.y, data.y], 2),
        torch.cat([data.weight, 0 * data.weight], 2),
    )
    torch.testing.assert_close(problem.gradient(theta, padded), problem.gradient(theta, data))
