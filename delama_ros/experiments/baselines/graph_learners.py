"""Other graph learners, in place of the graph step of `bayes`: models Θ (M, N, D) → W.

NS, neighbourhood selection (Meinshausen and Bühlmann, Ann. Stat. 2006):  Lasso of θ_i on the
    others' models; W_ij is the coefficient, not negative, mean of both directions.
GLasso (Friedman et al., Biostatistics 2008):  P = argmax log det P − tr SP − λ ‖P‖₁ for the agents'
    correlation S; W_ij = max(−P_ij, 0).
MTRL (Zhang and Yeung, UAI 2010; Liu et al., 2017):  Ω = (ΘΘᵀ)^½ / tr(ΘΘᵀ)^½ is the covariance of
    tasks, which enters as tr ΘᵀΩ⁻¹Θ: W_ij = max(−Ω⁻¹_ij, 0).
GL-LogDet (Dong et al., 2016, 2019; Lake and Tenenbaum, 2010):
    min_{W ≥ 0} tr(ΘᵀLΘ)/D − log det(L + I/σ²) + β ‖W‖₁.
L2G-PDS (Pu et al., NeurIPS 2021; Kalofolias, AISTATS 2016):
    min_{w ≥ 0} 2 wᵀz + β ‖w‖² − α 1ᵀlog(Dw) by primal-dual splitting to its end, where Pu et al.
    learn to stop early; z are squared distances, D adds up the edges at each agent.

Distances and covariances are divided by their mean over all pairs, so that one setting fits models
of any size. M problems are solved at once, or one after the other where scikit-learn solves one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from delama_ros.experiments.runs_as import RunsAs

Floats = NDArray[np.float64]
Learner = Callable[[Floats], Floats]


def neighbourhoods(theta: Floats, *, penalty: float) -> Floats:
    """Return W (M, N, N) by neighbourhood selection."""
    from sklearn.linear_model import Lasso

    models = theta / np.sqrt((theta**2).mean((-1, -2), keepdims=True) + 1e-30)
    agents = models.shape[1]
    lasso = Lasso(alpha=penalty, fit_intercept=False, positive=True, max_iter=5000)
    W = np.zeros((*models.shape[:2], agents))
    for m, rows in enumerate(models):
        for i in range(agents):
            others = np.arange(agents) != i
            W[m, i, others] = lasso.fit(rows[others].T, rows[i]).coef_
    return (W + W.swapaxes(1, 2)) / 2


def graphical_lasso(theta: Floats, *, penalty: float) -> Floats:
    """Return W (M, N, N) from a sparse precision matrix of the agents."""
    size = np.sqrt((theta**2).sum(-1, keepdims=True)) + 1e-30
    unit = theta / size
    return _from_precision(np.stack([_precision(S, penalty) for S in unit @ unit.swapaxes(1, 2)]))


def _precision(S: Floats, penalty: float) -> Floats:
    """Return the sparse inverse of a covariance; agents that agree too well need a ridge."""
    from sklearn.covariance import graphical_lasso as solve
    from sklearn.exceptions import ConvergenceWarning

    for ridge in (1e-3, 1e-2, 0.1):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore', ConvergenceWarning)
                precision: Floats = solve(S + ridge * np.eye(len(S)), penalty, max_iter=200)[1]
            return precision
        except FloatingPointError:
            continue
    return np.eye(len(S))


def task_covariance(theta: Floats, *, ridge: float) -> Floats:
    """Return W (M, N, N) by multi-task relationship learning."""
    values, vectors = np.linalg.eigh(theta @ theta.swapaxes(1, 2))
    root = np.sqrt(np.clip(values, 0.0, None))
    root = root / (root.sum(-1, keepdims=True) + 1e-30) + ridge
    return _from_precision((vectors / root[:, None, :]) @ vectors.swapaxes(1, 2))


def log_det(theta: Floats, *, sparsity: float, variance: float = 1.0, rounds: int = 1000) -> Floats:
    """Return W (M, N, N) of GL-LogDet, by accelerated projected gradients."""
    z, edges = _distances(theta)
    agents = theta.shape[1]
    incidence = edges  # (E, N)
    cost = z + 2 * sparsity  # ‖W‖₁ counts both directions
    # The Hessian (Bᵀ M⁻¹ B)∘² is largest at w = 0, where M = I/σ².
    largest = np.linalg.eigvalsh((variance * incidence @ incidence.T) ** 2)[-1]
    w = np.zeros_like(z)
    ahead, k = w, 1.0
    for _ in range(rounds):
        L = (ahead[:, :, None] * incidence).swapaxes(1, 2) @ incidence
        inverse = np.linalg.inv(L + np.eye(agents) / variance)
        resistance = ((incidence @ inverse) * incidence).sum(-1)  # (M, E)
        new = np.clip(ahead - (cost - resistance) / largest, 0.0, None)
        following = (1 + np.sqrt(1 + 4 * k * k)) / 2
        ahead = new + (k - 1) / following * (new - w)
        w, k = new, following
    return _matrix(w, agents)


def smooth_graph(theta: Floats, *, alpha: float, beta: float, rounds: int = 1000) -> Floats:
    """Return W (M, N, N) of L2G-PDS."""
    z, edges = _distances(theta)
    agents = theta.shape[1]
    D = np.abs(edges).T  # (N, E)
    step = 0.9 / (2 * beta + np.sqrt(2 * (agents - 1)))
    w, v = np.zeros_like(z), np.zeros((len(z), agents))
    for _ in range(rounds):
        y = w - step * (2 * beta * w + v @ D)
        y_dual = v + step * w @ D.T
        p = np.clip(y - 2 * step * z, 0.0, None)
        p_dual = (y_dual - np.sqrt(y_dual**2 + 4 * alpha * step)) / 2
        q = p - step * (2 * beta * p + p_dual @ D)
        q_dual = p_dual + step * p @ D.T
        w, v = w - y + q, v - y_dual + q_dual
    return _matrix(np.clip(w, 0.0, None), agents)


# What DeLAMA runs as with each of them: agents could select neighbours by themselves, the others
# are one problem over all agents.
RUNS_AS: dict[str, RunsAs] = {
    'ns': 'network', 'glasso': 'central graph', 'mtrl': 'central graph',
    'gl_logdet': 'central graph', 'l2g_pds': 'central graph',
}

# Settings of each learner to choose from on validation tasks.
GRIDS: dict[str, dict[str, Learner]] = {
    'ns': {
        f'penalty {p}': partial(neighbourhoods, penalty=p)
        for p in (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    },
    'glasso': {
        f'penalty {p}': partial(graphical_lasso, penalty=p)
        for p in (0.1, 0.2, 0.4, 0.6, 0.8, 0.9)  # from 1 on no correlation is left
    },
    'mtrl': {
        f'ridge {r}': partial(task_covariance, ridge=r)
        for r in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    },
    'gl_logdet': {
        f'sparsity {s}, variance {v}': partial(log_det, sparsity=s, variance=v)
        for s in (0.0, 0.1) for v in (0.1, 0.3, 1.0, 3.0)
    },
    'l2g_pds': {
        f'alpha 1, beta {b}': partial(smooth_graph, alpha=1.0, beta=b)
        for b in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    },
}


def spend(W: Floats) -> Floats:
    """Scale W to spend what ours does: each agent 1 in its row, then symmetric."""
    total = W.sum(-1, keepdims=True)
    rows = W / np.where(total > 1e-9, total, np.inf)
    return (rows + rows.swapaxes(-1, -2)) / 2


def _from_precision(precision: Floats) -> Floats:
    W = np.clip(-precision, 0.0, None)
    return W * (1 - np.eye(W.shape[-1]))


def _pairs(agents: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.triu_indices(agents, 1)


def _distances(theta: Floats) -> tuple[Floats, Floats]:
    """Return squared distances z (M, E), mean 1, and who is at the ends of each edge (E, N)."""
    rows, columns = _pairs(theta.shape[1])
    z = ((theta[:, rows] - theta[:, columns]) ** 2).sum(-1)
    edges = np.zeros((len(rows), theta.shape[1]))
    edges[np.arange(len(rows)), rows], edges[np.arange(len(rows)), columns] = 1.0, -1.0
    return z / (z.mean(-1, keepdims=True) + 1e-30), edges


def _matrix(w: Floats, agents: int) -> Floats:
    rows, columns = _pairs(agents)
    W = np.zeros((len(w), agents, agents))
    W[:, rows, columns] = W[:, columns, rows] = w
    return W
