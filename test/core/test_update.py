"""Algorithm 3: convergence to the direct solve, Theorem 3 as corrected, momentum, CG."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from delama_ros.core import update
from delama_ros.core.settings import Settings

PLAIN = Settings(momentum=0.0, lambda1_coupled=0.05, lambda2=0.3)


def random_problem(rng, n=5, blocks=2, size=4, columns=2):
    X = rng.normal(size=(n, blocks, 3, size))  # fewer samples than features
    A = np.swapaxes(X, -1, -2) @ X * 10 ** rng.uniform(-2, 1, (n, 1, 1, 1))
    b = rng.normal(size=(n, blocks, size, columns))
    W = np.triu(rng.random((n, n)), 1)
    return A, b, W + W.T


def direct(A, b, W, s):
    """Solve the coupled system of all agents as one dense system."""
    n, blocks, size, columns = b.shape
    ridge = 2 * s.lambda1_coupled + 4 * s.lambda2 * W.sum(1)
    out = np.zeros_like(b)
    for block in range(blocks):
        S = -4 * s.lambda2 * np.kron(W, np.eye(size))
        for i in range(n):
            part = slice(i * size, (i + 1) * size)
            S[part, part] += A[i, block] + ridge[i] * np.eye(size)
        out[:, block] = np.linalg.solve(S, b[:, block].reshape(-1, columns)).reshape(n, size, -1)
    return out


@pytest.mark.parametrize('library', [np.asarray, torch.tensor])
@pytest.mark.parametrize('momentum', [0.0, 0.5])
def test_jacobi_converges_to_the_direct_solve(library, momentum):
    rng = np.random.default_rng(0)
    for _ in range(5):
        A, b, W = random_problem(rng)
        s = replace(PLAIN, momentum=momentum, update_rounds=600)
        theta = update.jacobi(*(library(v) for v in (A, b, W, np.zeros_like(b))), s)
        np.testing.assert_allclose(theta, direct(A, b, W, s), atol=1e-8)


def test_conjugate_gradients_converge_in_few_rounds():
    rng = np.random.default_rng(1)
    for _ in range(5):
        A, b, W = random_problem(rng)
        s = replace(PLAIN, update_rounds=60)
        expected = direct(A, b, W, s)
        theta = update.conjugate_gradients(A, b, W, np.zeros_like(b), s)
        np.testing.assert_allclose(theta, expected, atol=1e-9)
        # And go on quietly once there is nothing left to do.
        again = update.conjugate_gradients(A, b, W, expected, replace(s, update_rounds=200))
        np.testing.assert_allclose(again, expected, atol=1e-9)


def test_conjugate_gradients_never_lose_to_jacobi_in_energy():
    """Both search the same Krylov space; conjugate gradients take its best point in energy."""
    rng = np.random.default_rng(2)
    for rounds in (1, 3, 10):
        s = replace(PLAIN, update_rounds=rounds)
        A, b, W = random_problem(rng)
        start, expected = np.zeros_like(b), direct(A, b, W, s)
        B = A + update.ridge(W.sum(1), s)[..., None] * np.eye(4)
        errors = [
            solve(A, b, W, start, s) - expected
            for solve in (update.conjugate_gradients, update.jacobi)
        ]
        pulled = [update.pull(4 * s.lambda2 * W, e) for e in errors]
        cg, jacobi = (
            float((e * (B @ e - p)).sum()) for e, p in zip(errors, pulled, strict=True)
        )
        assert cg <= jacobi * (1 + 1e-9)


def test_theorem_3_rate_holds_in_the_largest_agent_norm():
    """ρ = max 4 λ2 D / (2 λ1 + 4 λ2 D) bounds max_i ‖e_i‖ and the spectral radius.

    In the 2-norm over all agents, as the paper states it, contraction by ρ fails.
    """
    rng = np.random.default_rng(3)
    two_norm_fails = 0
    for _ in range(200):
        A, b, W = random_problem(rng, blocks=1, size=3, columns=1)
        W *= 10 ** rng.uniform(-2, 1, W.shape)
        W = (W + W.T) / 2
        s = replace(PLAIN, update_rounds=1)
        degree = W.sum(1)
        rho = (4 * s.lambda2 * degree / (2 * s.lambda1_coupled + 4 * s.lambda2 * degree)).max()
        expected = direct(A, b, W, s)
        theta = expected + rng.normal(size=b.shape)
        after = update.jacobi(A, b, W, theta, s) - expected
        norm = np.linalg.norm((theta - expected).reshape(5, -1), axis=1)
        norm_after = np.linalg.norm(after.reshape(5, -1), axis=1)
        assert norm_after.max() <= rho * norm.max() * (1 + 1e-9)
        size = 3
        B = A + update.ridge(degree, s)[..., None] * np.eye(size)
        M = np.zeros((5 * size, 5 * size))
        for i in range(5):
            for j in range(5):
                part = np.s_[i * size : (i + 1) * size, j * size : (j + 1) * size]
                M[part] = 4 * s.lambda2 * W[i, j] * np.linalg.inv(B[i, 0])
        assert np.abs(np.linalg.eigvals(M)).max() <= rho + 1e-9
        two_norm_fails += np.linalg.norm(M, 2) > rho
    assert two_norm_fails > 20


def test_error_falls_geometrically():
    """Theorem 3: the rounds needed for an error ε grow as log(1/ε)."""
    rng = np.random.default_rng(4)
    A, b, W = random_problem(rng)
    expected = direct(A, b, W, PLAIN)
    errors = [
        np.abs(
            update.jacobi(A, b, W, np.zeros_like(b), replace(PLAIN, update_rounds=k)) - expected
        ).max()
        for k in (20, 40, 60, 80)
    ]
    ratios = np.array(errors[1:]) / np.array(errors[:-1])
    assert (ratios < 0.9).all()
    assert np.ptp(np.log(ratios)) < 0.3


def test_isolated_agents_solve_alone_whatever_the_momentum():
    rng = np.random.default_rng(5)
    A, b, _ = random_problem(rng)
    s = replace(PLAIN, momentum=0.9, update_rounds=3)
    theta = update.jacobi(A, b, np.zeros((5, 5)), rng.normal(size=b.shape), s)
    expected = np.linalg.solve(A + 2 * s.lambda1_coupled * np.eye(4), b)
    np.testing.assert_allclose(theta, expected, atol=1e-12)


def test_gradients():
    rng = np.random.default_rng(6)
    A, b, W = (torch.tensor(v) for v in random_problem(rng, n=3, blocks=1, size=2, columns=1))
    inputs = [b, W, *(torch.tensor(v, dtype=torch.float64) for v in (0.1, 0.3, 0.4))]
    for value in inputs:
        value.requires_grad_()

    for solve in (update.jacobi, update.conjugate_gradients):

        def result(b, W, lambda1, lambda2, momentum, solve=solve):
            s = Settings(lambda1_coupled=lambda1, lambda2=lambda2, momentum=momentum)
            return solve(A, b, (W + W.T) / 2, torch.zeros_like(b), s)

        if solve is update.conjugate_gradients:
            inputs = inputs[:-1]
            assert torch.autograd.gradcheck(lambda *v, f=result: f(*v, 0.0), inputs)
        else:
            assert torch.autograd.gradcheck(result, inputs)
