"""Graph learners: planted blocks are found, convex ones agree with an independent solver."""

import numpy as np
import pytest

from delama_ros.experiments.baselines.graph_learners import (
    GRIDS,
    _distances,
    log_det,
    smooth_graph,
    spend,
)

GROUP = np.array([0, 0, 0, 1, 1, 1])
SAME = (GROUP[:, None] == GROUP) & ~np.eye(6, dtype=bool)
OTHER = GROUP[:, None] != GROUP


def models(problems: int = 3, dimension: int = 20, noise: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(problems, 2, dimension))
    return centres[:, GROUP] + noise * rng.normal(size=(problems, 6, dimension))


@pytest.mark.parametrize('name', GRIDS)
def test_every_learner_finds_planted_blocks_with_some_setting_of_its_grid(name) -> None:
    best = 0.0
    for learner in GRIDS[name].values():
        W = learner(models())
        np.testing.assert_allclose(W, W.swapaxes(1, 2), atol=1e-9)
        assert (W >= 0).all()
        assert W[:, np.eye(6, dtype=bool)].max() == 0
        inside = W[:, SAME].sum()
        best = max(best, inside / (inside + W[:, OTHER].sum() + 1e-12))
    assert best > 0.9


def laplacian(w, edges):
    return sum(w[k] * np.outer(edge, edge) for k, edge in enumerate(edges))


def test_log_det_agrees_with_cvxpy() -> None:
    cp = pytest.importorskip('cvxpy', reason='the independent solver is not installed')
    theta = models(1)
    z, edges = _distances(theta)
    w = cp.Variable(len(edges), nonneg=True)
    L = laplacian(w, edges)
    cost = z[0] @ w - cp.log_det(L + np.eye(6) / 2.0) + 0.1 * 2 * cp.sum(w)
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    W = log_det(theta, sparsity=0.1, variance=2.0, rounds=4000)
    np.testing.assert_allclose(W[0][np.triu_indices(6, 1)], w.value, atol=2e-3)


def test_smooth_graph_agrees_with_cvxpy() -> None:
    cp = pytest.importorskip('cvxpy', reason='the independent solver is not installed')
    theta = models(1)
    z, edges = _distances(theta)
    w = cp.Variable(len(edges), nonneg=True)
    degrees = np.abs(edges).T @ w
    cost = 2 * z[0] @ w + 0.3 * cp.sum_squares(w) - cp.sum(cp.log(degrees))
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    W = smooth_graph(theta, alpha=1.0, beta=0.3, rounds=4000)
    np.testing.assert_allclose(W[0][np.triu_indices(6, 1)], w.value, atol=1e-3)


def test_what_is_spent_is_one_per_agent_with_edges() -> None:
    W = np.zeros((1, 6, 6))
    W[0, 0, 1] = W[0, 1, 0] = 5.0
    spent = spend(W)
    assert spent.sum() == pytest.approx(2.0)
    assert spent[0, 2:].sum() == 0
