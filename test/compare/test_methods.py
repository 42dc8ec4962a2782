"""Each gradient method reduces to a case whose answer is known otherwise."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import nnls
from torch import nn

from delama_ros.compare.decentralised import (
    DSGD,
    DSGT,
    DFedAvgM,
    DiNNO,
    DiNNOEffort,
    metropolis,
)
from delama_ros.compare.federated import FedAvg, FineTuned, Scaffold
from delama_ros.compare.lifelong import (
    AGEM,
    GEM,
    Alone,
    Anchored,
    LwF,
    fisher,
    project,
    sensitivity,
)
from delama_ros.compare.method import Effort
from delama_ros.compare.personal import (
    Ditto,
    FedRep,
    PFedGraph,
    cosine_gradient,
    onto_simplex,
)
from delama_ros.compare.problem import Batch, Networks, Problem, cross_entropy, squared_error

AGENTS, SAMPLES, INPUTS = 4, 8, 3
EFFORT = Effort(rounds=6, local=3, rate=0.05)
SHAPE = (2, AGENTS)
FULL = torch.ones(2, AGENTS, AGENTS, dtype=torch.bool)
LINE = torch.tensor(abs(np.subtract.outer(range(AGENTS), range(AGENTS))) <= 1).expand(2, -1, -1)


@pytest.fixture(autouse=True)
def double():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


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
    effort = DiNNOEffort(rounds=80, local=8, rate=0.015, penalty=0.3)
    theta = DiNNO(problem, effort, SHAPE).step(lambda: data, links)
    torch.testing.assert_close(theta, mean_optimum(data).expand_as(theta), atol=0.02, rtol=0)


def test_fedprox_without_a_penalty_is_fedavg_and_with_a_huge_one_stays() -> None:
    problem, data = small(), batch(2)
    plain = FedAvg(problem, EFFORT, SHAPE).step(lambda: data, FULL)
    free = FedAvg(problem, EFFORT, SHAPE, prox=0.0).step(lambda: data, FULL)
    torch.testing.assert_close(free, plain)
    first = problem.networks.first.expand_as(plain)
    held = FedAvg(problem, replace(EFFORT, rate=1e-4), SHAPE, prox=9e3).step(lambda: data, FULL)
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
    server = FedAvg(problem, EFFORT, SHAPE)
    tuned = FineTuned(server, 7).step(lambda: data, FULL)
    plain = FedAvg(problem, EFFORT, SHAPE).step(lambda: data, FULL)
    torch.testing.assert_close(server.theta, plain)
    torch.testing.assert_close(tuned, server.descend(plain, lambda: data, 7))


def test_ditto_without_a_penalty_is_local() -> None:
    problem, data = small(), batch(2)
    own = Ditto(problem, EFFORT, SHAPE, hold=0.0).step(lambda: data, FULL)
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
    theta = PFedGraph(problem, EFFORT, SHAPE, spread=1e9, align=0.0).step(lambda: data, FULL)
    average = FedAvg(problem, replace(EFFORT, rounds=EFFORT.rounds - 1), SHAPE)
    server = average.step(lambda: data, FULL)
    torch.testing.assert_close(theta, average.descend(server, lambda: data, EFFORT.local))


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
    for keep in (0.0, 1e6):
        method = Anchored(problem, EFFORT, SHAPE, fisher, keep=keep)
        before = method.step(lambda: first, FULL)
        after = method.step(lambda: second, FULL)
        moved[keep] = (method.strength.sqrt() * (after - before)).norm()
    assert moved[1e6] < 0.1 * moved[0.0]


def test_distillation_keeps_old_answers() -> None:
    problem = small()
    first, second = batch(2, seed=1), batch(2, seed=2)
    change = {}
    for keep in (0.0, 10.0):
        method = LwF(problem, EFFORT, SHAPE, keep=keep)
        before = problem.networks(method.step(lambda: first, FULL), second.x).softmax(-1)
        after = problem.networks(method.step(lambda: second, FULL), second.x).softmax(-1)
        change[keep] = (after - before).norm()
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
