from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.optimize import least_squares

from delama_ros.localization.graph import PoseGraph, Prior, composed, turned
from delama_ros.localization.se2 import compose, inverse, relative, relatives
from delama_ros.localization.uncertainty import relative_covariances


def random_information(rng):
    a = rng.standard_normal((3, 3))
    return (a @ a.T + 3 * np.eye(3)) * 100


def ring(n, rng, outliers=0):
    """Poses on a circle with edges along it, some chords and wrong ones."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    true = np.stack([5 * np.cos(angle), 5 * np.sin(angle), angle + np.pi / 2], 1)
    graph = PoseGraph(3.0)
    pairs = [(i, i + 1, False) for i in range(n - 1)] + [(0, n - 1, True), (2, n // 2, True)]
    for a, b, robust in pairs:
        z = relative(true[a], true[b]) + rng.normal(0, 0.02, 3)
        graph.add(a, b, z, random_information(rng), robust)
    for k in range(outliers):
        graph.add(k + 3, n // 2 + k, rng.normal(0, 3, 3), random_information(rng), True)
    start = [true[0]]
    for k in range(n - 1):
        start.append(compose(start[-1], graph.measured[k]))
    return graph, np.arange(n), true, np.array(start)


@pytest.mark.parametrize('seed', range(4))
def test_optimum_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    graph, ids, true, start = ring(12, rng, outliers=seed % 2)
    graph.priors['x'] = Prior(5, true[5] + [0.1, -0.1, 0.02], random_information(rng))
    found = graph.optimize(ids, start, 100)

    def costs(flat):
        poses = flat.reshape(-1, 3)
        out = []
        for row in range(len(graph)):
            a, b = graph.first[row], graph.second[row]
            e = relative(graph.measured[row], relative(poses[a], poses[b]))
            m = e @ graph.information[row] @ e
            half = np.linalg.cholesky(graph.information[row]).T @ e
            k = 9 * np.log1p(m / 9)
            out.append(half * np.sqrt(k / max(m, 1e-15)) if graph.robust[row] else half)
        prior = graph.priors['x']
        e = relative(prior.pose, poses[prior.keyframe])
        m = e @ prior.information @ e
        half = np.linalg.cholesky(prior.information).T @ e
        out.append(half * np.sqrt(9 * np.log1p(m / 9) / max(m, 1e-15)))
        return np.concatenate(out)

    best = least_squares(costs, found.ravel(), xtol=1e-12, ftol=1e-12)
    assert graph.cost(ids, found) <= best.cost * 1.002
    assert np.abs(best.x.reshape(-1, 3) - found).max() < 0.02


def test_wrong_loops_do_not_bend_the_map():
    graph, ids, true, start = ring(40, np.random.default_rng(7), outliers=3)
    found = graph.optimize(ids, start, 50)
    moved = relatives(found[0], found) - relatives(true[0], true)
    assert np.hypot(*moved[:, :2].T).max() < 0.4
    assert np.hypot(*moved[:, :2].T).max() <= np.hypot(*(start - true)[:, :2].T).max() + 0.05


def test_marginalising_a_chain_link_is_exact():
    """A node with two edges: the joined edge gives what the full linear problem gives."""
    rng = np.random.default_rng(8)
    graph, ids, _, start = ring(8, rng)
    poses = graph.optimize(ids, start, 100)
    poses = graph.optimize(ids, poses, 100)
    count = len(graph)
    z, covariance = composed(
        graph.measured[5], graph.covariance[5], graph.measured[6], graph.covariance[6]
    )
    graph.remove(6, ids, poses)
    assert len(graph) == count - 1
    row = int(np.flatnonzero((graph.first == 5) & (graph.second == 7))[0])
    assert np.allclose(graph.measured[row], z)
    assert np.allclose(graph.covariance[row], covariance)
    kept = np.delete(np.arange(8), 6)
    again = graph.optimize(ids[kept], poses[kept], 100)
    assert np.abs(relatives(again[0], again) - relatives(poses[0], poses[kept])).max() < 5e-3


@pytest.mark.parametrize('seed', range(3))
def test_marginalising_a_hub_never_makes_anyone_surer(seed):
    """Exact marginal covariances of relative poses are smaller than those of the tree."""
    rng = np.random.default_rng(seed)
    graph = PoseGraph(3.0)
    poses = rng.normal(0, 1, (6, 3))
    for other in (0, 1, 2, 4, 5):
        a, b = min(3, other), max(3, other)
        graph.add(a, b, relative(poses[a], poses[b]), random_information(rng), False)
    full = copy.deepcopy(graph)
    graph.remove(3, np.arange(6), poses)
    assert len(graph) == 4
    kept = np.array([0, 1, 2, 4, 5])
    for source in kept:
        true = relative_covariances(full, np.arange(6), poses, int(source))[kept]
        tree = relative_covariances(graph, kept, poses[kept], int(source))
        for t, f in zip(tree, true, strict=True):
            assert np.linalg.eigvalsh(t - f)[0] > -1e-9


def test_fusing_two_edges_weighs_them_by_information():
    graph = PoseGraph(3.0)
    graph.add(0, 1, np.array([1.0, 0.0, 0.0]), np.eye(3) * 100, True)
    graph.add(0, 1, np.array([1.2, 0.0, 0.0]), np.eye(3) * 300, False)
    assert len(graph) == 1
    assert graph.measured[0] == pytest.approx([1.15, 0, 0])
    assert graph.information[0] == pytest.approx(np.eye(3) * 400)
    assert not graph.robust[0]


def test_edges_go_from_older_to_newer():
    with pytest.raises(ValueError, match='older one first'):
        PoseGraph(3.0).add(2, 1, np.zeros(3), np.eye(3), False)


def test_turned_twice_is_the_same_edge():
    rng = np.random.default_rng(9)
    z, c = np.array([1.0, -2.0, 0.7]), np.linalg.inv(random_information(rng))
    back, covariance = turned(*turned(z, c))
    assert back == pytest.approx(z)
    assert covariance == pytest.approx(c)
    assert turned(z, c)[0] == pytest.approx(inverse(z))
