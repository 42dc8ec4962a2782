"""Lifelong methods: importances are exact, constraints hold, less is forgotten."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import nnls
from small_problems import EFFORT, FULL, INPUTS, SAMPLES, SHAPE, batch, linear, small
from torch import nn

from delama_ros.experiments.baselines.lifelong import (
    AGEM,
    EWC,
    GEM,
    MAS,
    Alone,
    LwF,
    fisher,
    project,
    sensitivity,
)
from delama_ros.experiments.baselines.method import Effort
from delama_ros.experiments.baselines.problem import Networks, Problem, cross_entropy

pytestmark = pytest.mark.usefixtures('double')


def test_the_fisher_of_a_linear_gaussian_model_is_exact() -> None:
    problem, data = linear(), batch()
    theta = torch.randn(*SHAPE, INPUTS)
    torch.testing.assert_close(fisher(problem, theta, data, softmax=False), (data.x**2).mean(2))


def test_the_fisher_of_a_softmax_model_is_the_hessian_of_its_loss() -> None:
    problem = Problem(Networks(nn.Linear(INPUTS, 2, bias=False)), cross_entropy)
    data = batch(2)
    theta = torch.randn(*SHAPE, problem.networks.size)
    p = problem.networks(theta, data.x).softmax(-1)
    expected = ((p * (1 - p))[..., :, None] * data.x[..., None, :] ** 2).mean(2)
    torch.testing.assert_close(fisher(problem, theta, data), expected.flatten(2))


def test_sensitivity_of_a_linear_model() -> None:
    problem, data = linear(), batch()
    theta = torch.randn(*SHAPE, INPUTS)
    out = problem.networks(theta, data.x)
    torch.testing.assert_close(sensitivity(problem, theta, data), (2 * out * data.x).abs().mean(2))


def test_an_anchor_of_great_strength_holds_what_was_learned() -> None:
    problem = small()
    first, second = batch(2, seed=1), batch(2, seed=2)
    moved = {}
    for penalty in (0.0, 1e6):
        method = EWC(problem, EFFORT, SHAPE, strength=penalty)
        before = method.step(lambda: first, FULL)
        after = method.step(lambda: second, FULL)
        moved[penalty] = (method.importance.sqrt() * (after - before)).norm()
    assert moved[1e6] < 0.1 * moved[0.0]


def test_mas_holds_what_mattered_where_it_was_last() -> None:
    method = MAS(small(), EFFORT, SHAPE, strength=1.0)
    for seed in (1, 2):
        data = batch(2, seed=seed)
        theta = method.step(lambda data=data: data, FULL)
    pull = method.direction(theta, data) - method.problem.gradient(theta, data)
    assert pull.abs().max() < 1e-12


def test_no_direction_is_longer_than_allowed() -> None:
    problem = replace(small(), clip=0.01)
    method = LwF(problem, EFFORT, SHAPE, strength=10.0)
    method.step(lambda: batch(2, seed=1), FULL)
    length = method.direction(method.theta + 1.0, batch(2, seed=2)).norm(dim=-1)
    torch.testing.assert_close(length, torch.full(SHAPE, 0.01))


def test_distillation_keeps_old_answers() -> None:
    problem = small()
    first, second = batch(2, seed=1), batch(2, seed=2)
    change = {}
    for penalty in (0.0, 10.0):
        method = LwF(problem, EFFORT, SHAPE, strength=penalty)
        before = problem.networks(method.step(lambda: first, FULL), second.x).softmax(-1)
        after = problem.networks(method.step(lambda: second, FULL), second.x).softmax(-1)
        change[penalty] = (after - before).norm()
    assert change[10.0] < 0.5 * change[0.0]


def test_gem_satisfies_its_constraints_and_agrees_with_nnls() -> None:
    g, G = torch.randn(20, 12), torch.randn(20, 5, 12)
    out = project(g, G)
    assert (G @ out[..., None]).min() > -1e-6
    for row, constraints, mine in zip(g.numpy(), G.numpy(), out.numpy(), strict=True):
        v, _ = nnls(constraints.T, -row)
        violated = (constraints @ row < 0).any()
        expected = row + constraints.T @ v if violated else row
        np.testing.assert_allclose(mine, expected, atol=1e-6)


def test_gem_lets_a_run_that_diverged_run_on() -> None:
    g, G = torch.randn(2, 3, 12), torch.randn(2, 3, 5, 12)
    g[0, 1, 4], G[1, 0, 2, 3] = torch.nan, torch.inf
    out = project(g, G)
    assert out[0, 1].isnan().any()
    torch.testing.assert_close(out[0, 0], project(g[0, :1], G[0, :1])[0])


def test_a_gem_never_goes_against_what_it_remembers() -> None:
    problem, old, new = small(), batch(2, seed=1), batch(2, seed=2)
    method = AGEM(problem, EFFORT, SHAPE)
    method.step(lambda: old, FULL)
    plain = problem.gradient(method.theta, new)
    r = problem.gradient(method.theta, old)
    projected = method.direction(method.theta, new)
    against = (plain * r).sum(-1) < 0
    assert ((projected * r).sum(-1) > -1e-12).all()
    torch.testing.assert_close(projected[~against], plain[~against])


def test_gem_forgets_less_than_plain_learning() -> None:
    problem = small()
    old, new = batch(2, seed=1), batch(2, seed=2)
    loss = {}
    for make in (Alone, GEM):
        method = make(problem, Effort(rounds=40, local=1, rate=0.3), SHAPE)
        method.step(lambda: old, FULL)
        loss[make] = problem.value(method.step(lambda: new, FULL), old).mean()
    assert loss[GEM] < loss[Alone]


def test_a_gem_draws_from_memory_what_belongs_together() -> None:
    method, first, second = AGEM(small(), EFFORT, SHAPE), batch(2, seed=1), batch(2, seed=2)
    for data in (first, second):
        method.remember(data)
    known = {
        tuple(x.tolist()): tuple(y.tolist())
        for data in (first, second)
        for x, y in zip(data.x[1, 3], data.y[1, 3], strict=True)
    }
    seen = set()
    for _ in range(20):
        drawn = method.drawn(method.past, SAMPLES)
        assert drawn.x.shape == first.x.shape
        samples = [tuple(x.tolist()) for x in drawn.x[1, 3]]
        assert len(set(samples)) == SAMPLES
        assert [known[x] for x in samples] == [tuple(y.tolist()) for y in drawn.y[1, 3]]
        seen |= set(samples)
    assert seen == set(known)
