"""Algorithm 2: W against an independent solver, Newton's safety, gradients, Theorem 2."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies

from delama_ros.core import graph
from delama_ros.core.settings import PAPER, Settings

EXACT = replace(PAPER, dual_rounds=0, smoothing=0.0)


def random_case(rng, n, density=1.0):
    """Return symmetric d and a symmetric mask without diagonal."""
    theta = rng.normal(size=(n, 3)) * 10 ** rng.uniform(-1.5, 1)
    d = ((theta[:, None] - theta[None]) ** 2).sum(-1)
    upper = np.triu(rng.random((n, n)) < density, 1)
    return d, upper | upper.T


def random_settings(rng, base):
    lambda2, lambda3 = 10 ** rng.uniform(-2, 1, 2)
    return replace(base, lambda2=lambda2, lambda3=lambda3)


def solve_qp(d, edge, m, s):
    """Solve problem (18) for the marked edges with a general convex solver."""
    cvxpy = pytest.importorskip('cvxpy', reason='the independent solver is not installed')
    cost = d[edge]
    w = cvxpy.Variable(len(cost), nonneg=True)
    objective = s.lambda2 * (cost @ w) + s.lambda3 * cvxpy.sum_squares(w)
    scale = max(s.lambda3, s.lambda2 * cost.max(initial=0.0))
    problem = cvxpy.Problem(cvxpy.Minimize(objective / scale), [cvxpy.sum(w) == m])
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    W = np.zeros(d.shape)
    W[edge] = w.value
    return W


@settings(max_examples=60)
@given(
    seed=strategies.integers(0, 2**32 - 1),
    n=strategies.integers(2, 7),
    density=strategies.sampled_from([0.4, 0.7, 1.0]),
    m=strategies.floats(0.1, 20),
)
def test_w_equals_quadratic_program(seed, n, density, m):
    rng = np.random.default_rng(seed)
    d, mask = random_case(rng, n, density)
    s = random_settings(rng, EXACT)
    # m is a gauge of `infer` (1 per agent); the solver under it takes any m.
    flat, edge = d.ravel(), mask.ravel()
    if edge.any():
        z = graph.root(flat, edge, np.array(m), s)
        W = graph.edge_weights(flat, edge, z, s)[0].reshape(n, n)
        np.testing.assert_allclose(W, solve_qp(d, mask, m, s), atol=1e-5 * max(1, m))
    W, _ = graph.infer(d, mask, s)
    parts = graph.components(mask, d) > 0
    for part in np.unique(parts, axis=0):
        inside = mask & part[:, None] & part[None]
        if inside.any():
            expected = solve_qp(d, inside, part.sum(), s)
            np.testing.assert_allclose(np.where(inside, W, 0), expected, atol=1e-5 * part.sum())
        else:
            assert not W[part].any()


@settings(max_examples=30)
@given(seed=strategies.integers(0, 2**32 - 1), n=strategies.integers(2, 6))
def test_row_budget_with_null_edge_equals_quadratic_program(seed, n):
    rng = np.random.default_rng(seed)
    d, mask = random_case(rng, n, 0.7)
    s = random_settings(rng, Settings(smoothing=0.0, null_edge=float(rng.uniform(0, 3))))
    rows = np.zeros((n, n))
    for i in range(n):
        if mask[i].any():
            extended = np.append(d[i], s.null_edge)[None]
            rows[i] = solve_qp(extended, np.append(mask[i], True)[None], 1.0, s)[0, :n]
    W, _ = graph.infer(d, mask, s)
    np.testing.assert_allclose(W, (rows + rows.T) / 2, atol=1e-5)


def test_newton_never_diverges_and_spends_the_budget():
    rng = np.random.default_rng(0)
    worst, cases = 0.0, 0
    for n in (2, 3, 5, 8, 13):
        shape = (2000, n, n)
        d = 10 ** rng.uniform(-4, 4, (2000, 1, 1)) * rng.random(shape) ** rng.integers(1, 5)
        d = (d + np.swapaxes(d, -1, -2)) / 2
        mask = np.triu(rng.random(shape) < rng.uniform(0.2, 1, (2000, 1, 1)), 1)
        mask |= np.swapaxes(mask, -1, -2)
        s = replace(PAPER, lambda2=1.0, lambda3=float(10 ** rng.uniform(-3, 3)))
        previous = None
        for rounds in (1, 2, 5, 60):
            W, z = graph.infer(d, mask, replace(s, dual_rounds=rounds))
            assert np.isfinite(W).all()
            assert np.isfinite(z).all()
            # From the safe start z only rises, and weights with it only fall, to the root.
            assert previous is None or (z >= previous - 1e-9 * (1 + abs(previous))).all()
            previous = z
        target = (graph.components(mask, d).sum(-1) * mask.any(-1)).sum(-1)
        spent = (graph.components(mask, d) @ W.sum(-1)[..., None]).sum((-1, -2))
        worst = max(worst, np.abs(spent / np.maximum(target, 1) - (target > 0)).max())
        cases += len(d)
    assert cases == 10_000
    assert worst < 1e-8


@pytest.mark.parametrize('rounds', [0, 40])
def test_sum_and_symmetry_on_connected_graphs(rounds):
    rng = np.random.default_rng(1)
    for n in (2, 5, 9):
        d, mask = random_case(rng, n)
        W, z = graph.infer(d, mask, replace(PAPER, dual_rounds=rounds))
        assert W.sum() == pytest.approx(n, abs=1e-9)
        np.testing.assert_array_equal(W, W.T)
        assert (W >= 0).all()
        assert not np.diag(W).any()
        assert np.ptp(z) == pytest.approx(0, abs=1e-12)


def test_five_newton_rounds_are_the_exact_root_in_common_cases():
    rng = np.random.default_rng(2)
    for _ in range(50):
        d, mask = random_case(rng, 6)
        d /= d.max()
        rounds, _ = graph.infer(d, mask, PAPER)
        exact, _ = graph.infer(d, mask, replace(PAPER, dual_rounds=0))
        np.testing.assert_allclose(rounds, exact, atol=1e-6)


def printed_algorithm_3(d, m, lambda2, lambda3, b, rounds):
    """The iteration exactly as the paper prints it, with z kept between rounds."""
    z = 0.0
    w = np.zeros_like(d)
    for _ in range(rounds):
        u = -(lambda2 * d + z) / (2 * lambda3)
        s = np.sqrt(u * u + b)
        w, w1, w2 = (s + u) / 2, (1 + u / s) / 2, b / (2 * s**3)
        x = u @ w1 + w @ (1 - w2)
        y = (2 - w1) @ w1 + (u - w1) @ w2
        z = z - (x - m) / (-y / lambda3)
    return w


def test_algorithm_3_as_printed_misses_the_budget():
    """Nobody should restore the printed formulas: they do not solve ΣW = m, ours does."""
    rng = np.random.default_rng(3)
    printed_hits = ours_hits = 0
    with np.errstate(all='ignore'):
        for _ in range(200):
            d, mask = random_case(rng, 6)
            s = random_settings(rng, PAPER)
            printed = printed_algorithm_3(d[mask], 6.0, s.lambda2, s.lambda3, s.smoothing, 50)
            printed_hits += bool(abs(printed.sum() - 6) < 1e-3)
            W, _ = graph.infer(d, mask, replace(s, dual_rounds=50))
            ours_hits += bool(abs(W.sum() - 6) < 1e-6)
    assert printed_hits == 0
    assert ours_hits == 200


def test_theorem_2_bound():
    rng = np.random.default_rng(4)
    for _ in range(300):
        n = int(rng.integers(2, 8))
        d, mask = random_case(rng, n)
        s = random_settings(rng, replace(PAPER, dual_rounds=0))
        s = replace(s, smoothing=float(10 ** rng.uniform(-6, 0)))
        smooth, z_smooth = graph.infer(d, mask, s)
        exact, z_exact = graph.infer(d, mask, replace(s, smoothing=0.0))
        slope = min(
            graph.edge_weights(d[mask], d[mask] >= 0, z[0], s)[1].min()
            for z in (z_smooth, z_exact)
        )
        bound = n * np.sqrt(s.smoothing) / 2 * np.sqrt(1 + 1 / slope**2)
        assert np.linalg.norm(smooth - exact) <= bound


@pytest.mark.parametrize(
    'variant',
    [
        PAPER,
        replace(PAPER, dual_rounds=0),
        EXACT,
        replace(PAPER, dual_rounds=0, null_edge=0.7),
        Settings(null_edge=None),
        Settings(),
        Settings(smoothing=0.0),
    ],
)
def test_gradients(variant):
    rng = np.random.default_rng(5)
    d, mask = random_case(rng, 5, 0.8)
    mask = torch.tensor(mask)

    def weights(d, lambda2, lambda3, null):
        s = replace(variant, lambda2=lambda2, lambda3=lambda3)
        if variant.null_edge is not None:
            s = replace(s, null_edge=null)
        return graph.infer((d + d.T) / 2, mask, s)[0]

    inputs = [torch.tensor(v, dtype=torch.float64) for v in (d, 0.4, 1.3, 0.8)]
    for value in inputs:
        value.requires_grad_()
    assert torch.autograd.gradcheck(weights, inputs, atol=1e-6)


def test_infinite_distance_leaves_the_edge_out():
    d = np.array([[0, 1, np.inf], [1, 0, 2], [np.inf, 2, 0]])
    mask = np.ones((3, 3), bool)
    for s in (PAPER, EXACT, Settings(null_edge=None), Settings()):
        W, _ = graph.infer(d, mask, s)
        assert np.isfinite(W).all()
        assert W[0, 2] == W[2, 0] == 0
        assert W[0, 1] > 0


@pytest.mark.parametrize('s', [PAPER, EXACT, Settings(), Settings(null_edge=None)])
def test_alone_isolated_and_disconnected(s):
    W, z = graph.infer(np.zeros((1, 1)), np.ones((1, 1), bool), s)
    np.testing.assert_array_equal(W, [[0]])
    np.testing.assert_array_equal(z, [0])
    rng = np.random.default_rng(6)
    d, _ = random_case(rng, 5)
    mask = np.zeros((5, 5), bool)
    mask[0, 1] = mask[1, 0] = mask[2, 3] = mask[3, 2] = True  # 4 is isolated
    s = replace(s, dual_rounds=40 if s.dual_rounds else 0)
    W, _ = graph.infer(d, mask, s)
    assert np.isfinite(W).all()
    assert not W[4].any()
    pair, _ = graph.infer(d[:2, :2], mask[:2, :2], s)
    np.testing.assert_allclose(W[:2, :2], pair, atol=1e-9)
    if s.null_edge is None:
        assert W[0, 1] == pytest.approx(1)  # one per agent, each way


def test_null_edge_takes_weight_from_distant_peers():
    d = np.array([[0.0, 9.0], [9.0, 0.0]])
    mask = np.ones((2, 2), bool)
    s = Settings(lambda2=1.0, lambda3=0.5, null_edge=1.0)
    assert graph.infer(d, mask, replace(s, null_edge=None))[0][0, 1] == pytest.approx(1)
    assert graph.infer(d, mask, s)[0][0, 1] < 1e-3


def test_m_is_a_gauge():
    """(c m, λ2/c, λ3/c², c² b) gives the same λ2 W: m needs no setting of its own."""
    rng = np.random.default_rng(7)
    d, mask = random_case(rng, 5)
    flat, edge, c = d.ravel(), mask.ravel(), 3.7
    s = replace(PAPER, dual_rounds=0)
    t = replace(s, lambda2=s.lambda2 / c, lambda3=s.lambda3 / c**2, smoothing=s.smoothing * c**2)
    w = [
        graph.edge_weights(flat, edge, graph.root(flat, edge, np.array(m), v), v)[0] * v.lambda2
        for m, v in ((5.0, s), (5.0 * c, t))
    ]
    np.testing.assert_allclose(w[0], w[1], rtol=1e-9)


def test_smoothed_relu_keeps_its_digits_far_below_zero():
    h, slope = graph.smoothed_relu(np.array([-1e8, -1.0, 0.0, 1e8]), 1e-3)
    np.testing.assert_allclose(h[0], 1e-3 / 4e8, rtol=1e-12)
    assert h[2] == pytest.approx(np.sqrt(1e-3) / 2)
    assert ((slope > 0) & (slope <= 1)).all()
