"""Federated methods reduce to cases whose answer is known otherwise."""

from dataclasses import replace

import pytest
import torch
from small_problems import AGENTS, EFFORT, FULL, SHAPE, batch, linear, mean_optimum, small

from delama_ros.experiments.baselines.federated import FedAvg, FedAvgFT, FedProx, Scaffold
from delama_ros.experiments.baselines.method import Effort

pytestmark = pytest.mark.usefixtures('double')


def test_fedprox_without_a_penalty_is_fedavg_and_with_a_huge_one_stays() -> None:
    problem, data = small(), batch(2)
    plain = FedAvg(problem, EFFORT, SHAPE).step(lambda: data, FULL)
    free = FedProx(problem, EFFORT, SHAPE, strength=0.0).step(lambda: data, FULL)
    torch.testing.assert_close(free, plain)
    first = problem.networks.first.expand_as(plain)
    held = FedProx(problem, replace(EFFORT, rate=1e-4), SHAPE, 9e3).step(lambda: data, FULL)
    assert (held - first).norm() < 0.05 * (plain - first).norm()


def test_fedavg_weighs_agents_by_their_samples() -> None:
    problem, data = linear(), batch()
    data = replace(data, weight=data.weight * (torch.arange(AGENTS) == 2)[:, None])
    theta = FedAvg(problem, Effort(rounds=400, local=1, rate=0.2), SHAPE).step(lambda: data, FULL)
    alone = torch.linalg.lstsq(data.x[:, 2], data.y[:, 2]).solution.mT
    torch.testing.assert_close(theta, alone.expand_as(theta), atol=1e-3, rtol=0)


def test_scaffold_finds_the_common_optimum_where_fedavg_does_not() -> None:
    problem, data = linear(), batch()
    effort = Effort(rounds=60, local=5, rate=0.2)
    best = mean_optimum(data)
    scaffold = Scaffold(problem, effort, SHAPE).step(lambda: data, FULL)
    average = FedAvg(problem, effort, SHAPE).step(lambda: data, FULL)
    torch.testing.assert_close(scaffold, best.expand_as(scaffold), atol=1e-3, rtol=0)
    assert (average - best).norm() > 10 * (scaffold - best).norm()


def test_fine_tuning_leaves_the_server_alone() -> None:
    problem, data = small(), batch(2)
    server = FedAvgFT(problem, EFFORT, SHAPE, strength=7)
    tuned = server.step(lambda: data, FULL)
    plain = FedAvg(problem, EFFORT, SHAPE).step(lambda: data, FULL)
    torch.testing.assert_close(server.theta, plain)
    torch.testing.assert_close(tuned, server.descend(plain, lambda: data, 7))
