"""Decentralised methods reduce to cases whose answer is known otherwise."""

from dataclasses import replace

import pytest
import torch
from small_problems import AGENTS, EFFORT, FULL, LINE, SHAPE, batch, linear, mean_optimum

from delama_ros.experiments.baselines.decentralised import (
    DSGD,
    DSGT,
    DFedAvgM,
    DiNNO,
    metropolis,
)
from delama_ros.experiments.baselines.method import Effort

pytestmark = pytest.mark.usefixtures('double')


def test_metropolis_weights_are_doubly_stochastic_and_equal_on_the_full_graph() -> None:
    W = metropolis(LINE)
    torch.testing.assert_close(W.sum(-1), torch.ones(SHAPE))
    torch.testing.assert_close(W, W.mT)
    assert (W >= 0).all()
    torch.testing.assert_close(metropolis(FULL), torch.full_like(W, 1 / AGENTS))


def test_dsgd_on_the_full_graph_is_gradient_descent_on_the_mean() -> None:
    problem, data = linear(), batch()
    method = DSGD(problem, replace(EFFORT, rounds=1), SHAPE)
    theta = method.theta.clone()
    for _ in range(5):
        gradient = problem.gradient(theta.mean(1, keepdim=True).expand_as(theta), data)
        expected = theta.mean(1) - EFFORT.rate * gradient.mean(1)
        # every agent's own step away from the mean is averaged out in the next round
        mean = method.theta.mean(1, keepdim=True).expand_as(theta)
        method.theta = mean
        theta = method.step(lambda: data, FULL)
        torch.testing.assert_close(theta.mean(1), expected)


@pytest.mark.parametrize('links', [FULL, LINE])
def test_dsgt_tracks_the_mean_gradient_and_finds_the_common_optimum(links) -> None:
    problem, data = linear(), batch()
    method = DSGT(problem, Effort(rounds=600, rate=0.1), SHAPE)
    theta = method.step(lambda: data, links)
    torch.testing.assert_close(method.tracker.mean(1), method.gradient.mean(1))
    torch.testing.assert_close(theta, mean_optimum(data).expand_as(theta), atol=1e-4, rtol=0)


def test_dfedavgm_with_one_local_step_from_consensus_is_gradient_descent_on_the_mean() -> None:
    problem, data = linear(), batch()
    method = DFedAvgM(problem, Effort(rounds=1, local=1, rate=0.1), SHAPE)
    expected = method.theta.mean(1) - 0.1 * problem.gradient(method.theta, data).mean(1)
    theta = method.step(lambda: data, FULL)
    torch.testing.assert_close(theta, expected[:, None].expand_as(theta))


@pytest.mark.parametrize('links', [FULL, LINE])
def test_dinno_reaches_consensus_on_a_quadratic(links) -> None:
    problem, data = linear(), batch()
    effort = Effort(rounds=80, local=8, rate=0.015)
    theta = DiNNO(problem, effort, SHAPE, strength=0.3).step(lambda: data, links)
    torch.testing.assert_close(theta, mean_optimum(data).expand_as(theta), atol=0.02, rtol=0)
