"""The unrolled network: shapes, switches, batching, gradients, and what momentum buys."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from delama_ros.core.distances import MinA, Overlap, Paper, pairwise
from delama_ros.core.memory import local_solve
from delama_ros.core.network import DeLAMA
from delama_ros.core.settings import PAPER, Settings

B, T, N, S, K = 2, 4, 5, 7, 6
VARIANTS = [
    PAPER,
    replace(PAPER, dual_rounds=0),
    Settings(),
    Settings(accumulate='sum', warm_start=True),
]


def full(batch=B, steps=T, agents=N):
    return torch.ones(batch, steps, agents, agents, dtype=torch.bool)


def data(seed=0, loss='squared'):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(B, T, N, S, 3, generator=generator)
    if loss == 'softmax':
        labels = torch.randint(0, 4, (B, T, N, S), generator=generator)
        return X, nn.functional.one_hot(labels, 4).float()
    if loss == 'logistic':
        return X, (X.sum(-1, keepdim=True) > 0).float()
    return X, X.sin().sum(-1, keepdim=True)


def network(loss, settings, **options):
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, K))
    return DeLAMA(backbone, loss, settings, **options)


@pytest.mark.parametrize('loss', ['squared', 'logistic', 'softmax'])
@pytest.mark.parametrize('settings', VARIANTS)
def test_forward_and_backward(loss, settings):
    net = network(loss, settings)
    X, Y = data(loss=loss)
    out = net(X, Y, full())
    columns = Y.shape[-1]
    assert out.theta.shape == out.b.shape == (B, T, N, 1, K, columns)
    assert out.W.shape == (B, T, N, N)
    assert out.z.shape == (B, T, N)
    assert out.A.shape == (B, T, N, 1, K, K)
    out.theta.square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_one_pass_equals_passes_step_by_step_and_task_by_task():
    net = network('squared', PAPER)
    X, Y = data()
    out = net(X, Y, full())
    for task in range(B):
        for t in range(T):
            part = net(X[task : task + 1, : t + 1], Y[task : task + 1, : t + 1], full(1, t + 1))
            torch.testing.assert_close(part.theta[0, -1], out.theta[task, t], atol=1e-7, rtol=1e-6)


def test_only_after_some_steps():
    net = network('squared', Settings(accumulate='sum'))
    X, Y = data()
    at = torch.tensor([3, 0])
    oracle = torch.rand(B, T, N, N, dtype=torch.float64)
    for options in ({}, {'memory': False}, {'oracle': oracle + oracle.mT}):
        every = net(X, Y, full(), **options)
        some = net(X, Y, full(), **options, at=at)
        torch.testing.assert_close(some.theta, every.theta[:, at])
        torch.testing.assert_close(some.W, every.W[:, at])


def test_switches():
    net = network('squared', Settings())
    X, Y = data()
    plain = net(X, Y, full())
    alone = net(X, Y, full(), collaborate=False)
    assert torch.equal(alone.theta, plain.local)
    assert not alone.W.any()
    # Without memory every step is like the first step of a task.
    forgetful = net(X, Y, full(), memory=False)
    torch.testing.assert_close(forgetful.theta[:, 0], plain.theta[:, 0])
    first = net(X[:, 2:3], Y[:, 2:3], full(steps=1))
    torch.testing.assert_close(forgetful.theta[:, 2], first.theta[:, 0], atol=1e-7, rtol=1e-6)
    oracle = torch.rand(B, T, N, N, dtype=torch.float64)
    oracle = oracle + oracle.mT
    assert torch.equal(net(X, Y, full(), oracle=oracle).W, oracle)


def test_coefficients_stay_positive_whatever_the_steps():
    net = network('squared', Settings())
    with torch.no_grad():
        for parameter in net.raw.values():
            parameter -= 30.0
    settings = net.settings()
    for name in net.raw:
        assert getattr(settings, name) > 0


def test_settings_survive_the_round_trip():
    settings = Settings(lambda1_local=1e-4, lambda1_coupled=3e-6, lambda2=25.0, momentum=0.3)
    exported = network('squared', settings).settings()
    for name in ('lambda1_local', 'lambda1_coupled', 'lambda2', 'lambda3', 'momentum'):
        assert getattr(exported, name) == pytest.approx(getattr(settings, name), rel=1e-9)


def test_conjugate_gradients_as_solver():
    settings = replace(PAPER, update_rounds=60)
    X, Y = data()
    cg = network('squared', settings, solver='cg')(X, Y, full())
    jacobi = network('squared', replace(settings, update_rounds=3000))(X, Y, full())
    torch.testing.assert_close(cg.theta, jacobi.theta, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize('settings', VARIANTS)
def test_one_agent_and_agents_without_links(settings):
    net = network('squared', settings)
    X, Y = data()
    none = torch.zeros(B, T, N, N, dtype=torch.bool)
    out = net(X, Y, none)
    assert torch.isfinite(out.theta).all()
    assert not out.W.any()
    expected = local_solve(out.A, out.b, net.coefficients().lambda1_coupled)
    torch.testing.assert_close(out.theta, expected)
    alone = net(X[:, :, :1], Y[:, :, :1], none[..., :1, :1])
    torch.testing.assert_close(alone.theta, out.theta[:, :, :1], atol=1e-7, rtol=1e-6)


def test_similar_agents_get_the_weight():
    """Two groups of agents with different targets: the graph finds them."""
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(B, T, 6, 12, K, generator=generator)
    target = torch.tensor([1.0, 1, 1, -1, -1, -1])[:, None, None]
    Y = X.sum(-1, keepdim=True) * target
    for settings in (PAPER, Settings()):
        W = DeLAMA(nn.Identity(), 'squared', settings)(X, Y, full(agents=6)).W[:, -1]
        same = W[:, :3, :3].sum() + W[:, 3:, 3:].sum()
        assert same > 0.9 * W.sum()


def test_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, N, 3, 4, K))
    A = np.swapaxes(X, -1, -2) @ X
    theta = rng.normal(size=(2, N, 3, K, 2))
    paper, min_a = pairwise(Paper(), A, theta), pairwise(MinA(), A, theta)
    for i in range(N):
        for j in range(N):
            difference = theta[0, i] - theta[0, j]
            assert paper[0, i, j] == pytest.approx((difference**2).sum())
            sides = [(difference * (A[0, k] @ difference)).sum() for k in (i, j)]
            assert min_a[0, i, j] == pytest.approx(min(sides))
    np.testing.assert_allclose(min_a, np.swapaxes(min_a, -1, -2))
    tensors = pairwise(MinA(), torch.tensor(A), torch.tensor(theta))
    np.testing.assert_allclose(tensors, min_a)


def test_overlap_distance_judges_only_what_both_know():
    rng = np.random.default_rng(1)
    overlap = Overlap(table=np.eye(K) * 8, bias=-4.0, least=2.0)  # a part per feature, θ = 1: wall
    walls = (rng.random((8, K, 1)) < 0.5).astype(float)
    theta = np.stack((walls, walls, 1 - walls))
    known = np.array([[1, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0, 0]])
    A = np.zeros((3, 8, K, K))
    theta = theta * known[..., None, None]
    evidence = known[..., None] * np.ones(K)
    d = pairwise(overlap, A, theta, evidence)
    assert d[0, 1] < 0.1  # same place, explored elsewhere: ‖θ_i − θ_j‖² would be large
    assert np.isinf(d[0, 2])  # another place
    np.testing.assert_array_equal(d, d.T)
    # Too little in common to tell: nothing speaks against the peer.
    evidence[1, 3:5] = 0
    assert pairwise(overlap, A, theta, evidence)[0, 1] == 0


def regression_tasks(seed, groups, tasks=24, features=12):
    """Six agents in groups learn one random function per group from few noisy samples."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.linspace(-1, 1, features)

    def phi(x):
        return torch.exp(-8 * (x - centres) ** 2)

    coefficients = torch.randn(tasks, groups, features, 1, generator=generator)
    own = coefficients[:, torch.arange(6) % groups][:, None]  # (tasks, 1, 6, features, 1)
    X = phi(2 * torch.rand(tasks, 3, 6, 4, 1, generator=generator) - 1)
    Y = X @ own + 0.2 * torch.randn(tasks, 3, 6, 4, 1, generator=generator)
    test = phi(torch.linspace(-1, 1, 40)[:, None])
    return X, Y, test.double(), (test @ own).double()


def trained_error(settings, groups, links):
    """Learn the coefficients on some tasks; return the error on others."""
    net = DeLAMA(nn.Identity(), 'squared', settings)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

    def error(seed):
        X, Y, test, truth = regression_tasks(seed, groups)
        theta = net(X, Y, links.expand(24, 3, 6, 6)).theta[..., 0, :, :]
        return (test @ theta - truth).square().mean()

    for _ in range(40):
        optimizer.zero_grad()
        error(0).backward()
        optimizer.step()
    with torch.no_grad():
        return float(np.mean([error(seed).item() for seed in range(1, 6)]))


def test_few_rounds_with_momentum_reach_what_ten_plain_rounds_reach():
    """Coefficients learned for each; the error is the task's, on unseen tasks."""
    complete = torch.ones(6, 6, dtype=torch.bool)
    ten = trained_error(Settings(momentum=0.0, update_rounds=10), 2, complete)
    three = trained_error(Settings(momentum=0.5, update_rounds=3), 2, complete)
    assert three < 1.05 * ten
    # On a line what one end knows has five hops to go: the hardest case for few rounds.
    line = torch.diag(torch.ones(5), 1).bool()
    line = line | line.T
    ten = trained_error(Settings(momentum=0.0, update_rounds=10), 1, line)
    five = trained_error(Settings(momentum=0.5, update_rounds=5), 1, line)
    plain = trained_error(Settings(momentum=0.0, update_rounds=5), 1, line)
    assert five < ten < plain
