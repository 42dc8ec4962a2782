"""Personalised methods reduce to cases whose answer is known otherwise."""

from dataclasses import replace

import pytest
import torch
from small_problems import EFFORT, FULL, SHAPE, batch, small

from delama_ros.experiments.baselines.federated import FedAvg
from delama_ros.experiments.baselines.lifelong import Alone
from delama_ros.experiments.baselines.personal import (
    Ditto,
    FedRep,
    PFedGraph,
    cosine_gradient,
    onto_simplex,
)

pytestmark = pytest.mark.usefixtures('double')


def test_ditto_without_a_penalty_is_local() -> None:
    problem, data = small(), batch(2)
    own = Ditto(problem, EFFORT, SHAPE, strength=0.0).step(lambda: data, FULL)
    alone = Alone(problem, EFFORT, SHAPE).step(lambda: data, FULL)
    torch.testing.assert_close(own, alone)


def test_fedrep_shares_bodies_and_keeps_heads() -> None:
    problem, data = small(), batch(2)
    method = FedRep(problem, EFFORT, SHAPE)
    theta = method.step(lambda: data, FULL)
    head = problem.networks.head > 0
    assert int(head.sum()) == 12
    assert (theta[:, 0] - theta[:, 1])[:, ~head].abs().max() == 0
    assert (theta[:, 0] - theta[:, 1])[:, head].abs().min() > 0
    size = problem.networks.size
    assert method.bytes_per_step == 4 * 2 * EFFORT.rounds * (size - 12)


def test_the_simplex_projection_is_the_nearest_point() -> None:
    v = torch.randn(50, 6)
    w = onto_simplex(v)
    torch.testing.assert_close(w.sum(-1), torch.ones(50))
    assert (w >= 0).all()
    others = torch.distributions.Dirichlet(torch.ones(6)).sample((200, 1))
    assert ((v - w).norm(dim=-1) <= (v - others).norm(dim=-1) + 1e-12).all()


def test_the_pull_of_pfedgraph_is_the_gradient_of_the_cosine() -> None:
    theta, goal = torch.randn(5, 7, requires_grad=True), torch.randn(5, 7)
    (expected,) = torch.autograd.grad(torch.cosine_similarity(theta, goal, -1).sum(), theta)
    torch.testing.assert_close(cosine_gradient(theta.detach(), goal), expected)


def test_pfedgraph_spread_wide_averages_all() -> None:
    problem, data = small(), batch(2)
    method = PFedGraph(problem, EFFORT, SHAPE, strength=1e9)
    method.align = 0.0
    theta = method.step(lambda: data, FULL)
    average = FedAvg(problem, replace(EFFORT, rounds=EFFORT.rounds - 1), SHAPE)
    server = average.step(lambda: data, FULL)
    torch.testing.assert_close(theta, average.descend(server, lambda: data, EFFORT.local))
