"""Groupings against closed forms and sums written out, on full and sparse graphs; gradients."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from delama_ros.core import bayes
from delama_ros.core.bayes import Groupings
from delama_ros.core.network import DeLAMA
from delama_ros.core.settings import Settings

K, N = 4, 5


def memories(seed=0, noise=0.3, agents=N):
    """Two groups of agents that each see 3 noisy samples of their group's θ."""
    rng = np.random.default_rng(seed)
    group = np.arange(agents) % 2
    theta = rng.normal(size=(2, K, 1))
    X = rng.normal(size=(agents, 3, K))
    Y = X @ theta[group] + noise * rng.normal(size=(agents, 3, 1))
    A, b = np.swapaxes(X, -1, -2) @ X, np.swapaxes(X, -1, -2) @ Y
    moments = np.stack(((Y**2).sum((1, 2)), np.full(agents, 3.0)), -1)
    tensors = [torch.from_numpy(part) for part in (A[:, None], b[:, None], moments)]
    return X, Y, tensors


def full(agents=N):
    return ~torch.eye(agents, dtype=torch.bool)


def known_noise(**options):
    module = Groupings(torch.eye(K), noisy=False, prior=0.7, **options)
    with torch.no_grad():
        module.raw['sizes'].copy_(torch.linspace(-0.5, 0.3, bayes.LARGEST))
    return module


def log_density(X, Y, prior):
    """Log density of samples with unit noise after θ ~ N(0, 1/prior) is integrated out."""
    cov = np.eye(len(X)) + X @ X.T / prior
    return multivariate_normal.logpdf(Y[:, 0], np.zeros(len(X)), cov)


def grouped_by_hand(X, Y, agents, prior, sizes):
    """P(apart) of all pairs by going through all assignments of agents to labels."""
    import itertools

    density = {}
    together, total = np.zeros((agents, agents)), 0.0
    for labels in itertools.product(range(agents), repeat=agents):
        # Every grouping once: labels in the order of their first agent.
        if list(dict.fromkeys(labels)) != list(range(len(set(labels)))):
            continue
        log = 0.0
        for label in set(labels):
            members = tuple(i for i in range(agents) if labels[i] == label)
            if members not in density:
                density[members] = log_density(
                    np.concatenate(X[list(members)]), np.concatenate(Y[list(members)]), prior
                )
            log += density[members] + sizes[len(members) - 1]
        weight = math.exp(log)
        total += weight
        together += weight * (np.array(labels)[:, None] == np.array(labels)[None])
    return 1 - together / total


def test_all_groupings_against_densities_of_the_data() -> None:
    X, Y, parts = memories(noise=1.0)
    module = known_noise()
    d, noise, *_ = module(*parts, full())
    sizes = module.raw['sizes'].detach().numpy()
    np.testing.assert_allclose(d.detach(), grouped_by_hand(X, Y, N, 0.7, sizes), atol=1e-9)
    assert (noise == 1).all()


def test_what_is_not_heard_does_not_count() -> None:
    X, Y, parts = memories(noise=1.0)
    module = known_noise()
    with torch.no_grad():
        module.raw['sizes'].zero_()
    links = torch.zeros(N, N, dtype=torch.bool)
    for i, j in ((0, 2), (2, 4), (1, 3)):
        links[i, j] = links[j, i] = True
    d = module(*parts, links)[0].detach()
    silent = X.copy(), Y.copy()
    for n in (1, 3, 4):  # whom agent 0 does not hear
        silent[0][n], silent[1][n] = 0, 0
    by_hand = grouped_by_hand(*silent, N, 0.7, np.zeros(N))
    np.testing.assert_allclose(d[0], by_hand[0], atol=1e-9)


def test_many_agents_are_looked_at_in_pairs(monkeypatch) -> None:
    X, Y, parts = memories(noise=1.0)
    module = known_noise()
    monkeypatch.setattr(bayes, 'LARGEST', 2)
    d = module(*parts, full())[0].detach()
    sizes = module.raw['sizes'].detach().numpy()
    by_hand = grouped_by_hand(X[[0, 3]], Y[[0, 3]], 2, 0.7, sizes)
    assert d[0, 3].item() == pytest.approx(by_hand[0, 1], abs=1e-9)


def test_noise_is_found_from_residuals() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 400, K))
    true = np.array([0.1, 0.5, 1.0])
    Y = X @ rng.normal(size=(3, K, 1)) + true[:, None, None] * rng.normal(size=(3, 400, 1))
    A, b = np.swapaxes(X, -1, -2) @ X, np.swapaxes(X, -1, -2) @ Y
    moments = np.stack(((Y**2).sum((1, 2)), np.full(3, 400.0)), -1)
    parts = [torch.from_numpy(part) for part in (A[:, None], b[:, None], moments)]
    noise = Groupings(torch.eye(K), noisy=True)(*parts, full(3))[1]
    np.testing.assert_allclose(noise.detach().sqrt(), true, rtol=0.1)


def test_in_the_network_it_finds_groups_and_learns() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(2, 3, 1))
    X = rng.normal(size=(1, 4, N, 6, 3))
    Y = X @ theta[np.arange(N) % 2] + 0.1 * rng.normal(size=(1, 4, N, 6, 1))
    settings = Settings(accumulate='sum', distance='bayes', lambda2=2.0, lambda3=0.3,
                        null_edge=0.5)
    net = DeLAMA(
        torch.nn.Identity(), 'squared', settings, distance=Groupings(torch.eye(3), noisy=True)
    )
    out = net(torch.from_numpy(X).float(), torch.from_numpy(Y).float(), full().expand(1, 4, N, N))
    same = torch.arange(N)[:, None] % 2 == torch.arange(N) % 2
    assert out.W[0, -1][~same].max() < 0.02 < 0.2 < out.W[0, -1][same & full()].min()
    # Who hears only strangers has a budget but nobody to spend it on.
    strangers = (~same).expand(1, 4, N, N)
    with torch.no_grad():
        alone = net(torch.from_numpy(X).float(), torch.from_numpy(Y).float(), strangers)
    assert alone.W[0, -1].max() < 1e-3
    out.theta.square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_names_of_earlier_versions_load_with_the_same_numbers() -> None:
    old = Settings(accumulate='sum', distance='evidence')
    assert old == Settings(accumulate='sum', distance='bayes')
    nets = [
        DeLAMA(torch.nn.Identity(), 'squared', old, distance=Groupings(start, noisy=True))
        for start in (torch.eye(3), torch.ones(3, 3))
    ]
    saved = {
        name.replace('groupings.', 'evidence.'): value
        for name, value in nets[0].state_dict().items()
    }
    assert any(name.startswith('evidence.') for name in saved)
    nets[1].load_state_dict(saved)
    for name, value in nets[0].state_dict().items():
        assert torch.equal(nets[1].state_dict()[name], value), name
