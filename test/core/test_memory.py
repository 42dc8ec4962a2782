"""Memory and losses (Algorithm 1): equal to direct solves on all data, one size whatever t."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from delama_ros.core.backend import factor, solve
from delama_ros.core.losses import LOSSES, logistic, softmax, squared
from delama_ros.core.memory import Memory, local_solve, remember, remember_all
from delama_ros.core.settings import Settings

K, C, T = 6, 4, 7
LAMBDA = 0.05


def labels(rng, kind, samples):
    if kind == 'squared':
        return rng.normal(size=(samples, 1))
    if kind == 'logistic':
        return rng.integers(0, 2, (samples, 1)).astype(float)
    return np.eye(C)[rng.integers(0, C, samples)]


def loss_value(kind, X, Y, theta):
    """The loss itself, written with torch so that its derivatives are independent of ours."""
    logits = X @ theta
    if kind == 'squared':
        return 0.5 * ((logits - Y) ** 2).sum()
    if kind == 'logistic':
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, Y, reduction='sum')
    return -(Y * torch.log_softmax(logits, -1)).sum()


def dense_expansion(kind, X, Y, alpha):
    """Return H and H α − g over all of θ by automatic differentiation."""
    X, Y, point = (torch.tensor(v) for v in (X, Y, alpha))
    size = point.numel()

    def value(flat):
        return loss_value(kind, X, Y, flat.reshape(point.shape))

    flat = point.flatten()
    H = torch.autograd.functional.hessian(value, flat).reshape(size, size)
    g = torch.autograd.functional.jacobian(value, flat)
    return H.numpy(), (H @ flat - g).numpy()


@pytest.mark.parametrize('kind', ['squared', 'logistic', 'softmax'])
@pytest.mark.parametrize('how', ['mean', 'sum', 'forget'])
def test_memory_equals_direct_solve_on_all_data(kind, how):
    rng = np.random.default_rng(0)
    settings = Settings(accumulate=how, forget=0.8 if how == 'forget' else 1.0)
    columns = C if kind == 'softmax' else 1
    memory = Memory(np.zeros((1, K, K)), np.zeros((1, K, columns)))
    seen = []
    for t in range(1, T + 1):
        X = rng.normal(size=(int(rng.integers(1, 9)), K))
        Y = labels(rng, kind, len(X))
        seen.append((X, Y))
        memory = remember(memory, *LOSSES[kind](X, Y), settings)
        # The dense system over all data, each step with the share the option gives it.
        H, r = 0.0, 0.0
        for s, (X_s, Y_s) in enumerate(seen, 1):
            share = {'mean': 1 / t, 'sum': 1.0, 'forget': 0.8 ** (t - s)}[how]
            H_s, r_s = dense_expansion(kind, X_s, Y_s, np.zeros((K, columns)))
            H, r = H + share * H_s, r + share * r_s
        expected = np.linalg.solve(H + 2 * LAMBDA * np.eye(len(H)), r).reshape(K, columns)
        theta = local_solve(memory.A, memory.b, LAMBDA)
        np.testing.assert_allclose(theta[0], expected, atol=1e-9)
        assert memory.A.shape == (1, K, K)  # one size whatever t
        assert memory.b.shape == (1, K, columns)
        assert memory.A.nbytes + memory.b.nbytes == 8 * K * (K + columns)


@pytest.mark.parametrize('kind', ['logistic', 'softmax'])
def test_expansion_at_any_point(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9, K))
    Y = labels(rng, kind, 9)
    alpha = rng.normal(size=(K, Y.shape[1]))
    H, r = LOSSES[kind](X, Y, alpha=alpha)
    expected_H, expected_r = dense_expansion(kind, X, Y, alpha)
    np.testing.assert_allclose(H[0], expected_H, atol=1e-10)
    np.testing.assert_allclose(r[0, :, 0], expected_r, atol=1e-10)


def test_kronecker_form_equals_dense_form():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2, 3, 9, K))
    Y = np.eye(C)[rng.integers(0, C, (2, 3, 9))]
    weight = rng.random((2, 3, 9))
    small = local_solve(*softmax(X, Y, weight), LAMBDA)  # one K × K block, C columns
    dense = local_solve(*softmax(X, Y, weight, alpha=np.zeros((K, C))), LAMBDA)
    np.testing.assert_allclose(small[..., 0, :, :], dense.reshape(2, 3, K, C), atol=1e-10)


def test_block_form_equals_dense_form():
    rng = np.random.default_rng(3)
    blocks = 5
    X = rng.normal(size=(blocks, 8, K))
    A = np.swapaxes(X, -1, -2) @ X
    b = rng.normal(size=(blocks, K, 1))
    dense = np.zeros((blocks * K, blocks * K))
    for i in range(blocks):
        dense[i * K : (i + 1) * K, i * K : (i + 1) * K] = A[i]
    expected = np.linalg.solve(dense + 2 * LAMBDA * np.eye(len(dense)), b.reshape(-1, 1))
    np.testing.assert_allclose(local_solve(A, b, LAMBDA).reshape(-1, 1), expected, atol=1e-10)


@pytest.mark.parametrize('how', ['mean', 'sum', 'forget'])
@pytest.mark.parametrize('library', [np.asarray, torch.tensor])
def test_all_steps_at_once_equal_one_by_one(how, library):
    rng = np.random.default_rng(4)
    H, r = rng.normal(size=(2, T, 3, 1, K, K)), rng.normal(size=(2, T, 3, 1, K, C))
    settings = Settings(accumulate=how, forget=0.7)
    A, b = remember_all(library(H), library(r), settings)
    memory = Memory(np.zeros((2, 3, 1, K, K)), np.zeros((2, 3, 1, K, C)))
    for t in range(T):
        memory = remember(memory, H[:, t], r[:, t], settings)
        np.testing.assert_allclose(A[:, t], memory.A, atol=1e-14)
        np.testing.assert_allclose(b[:, t], memory.b, atol=1e-14)


def test_forgetting_everything_is_no_memory():
    rng = np.random.default_rng(5)
    H, r = rng.normal(size=(1, T, 1, 1, K, K)), rng.normal(size=(1, T, 1, 1, K, 1))
    A, b = remember_all(H, r, Settings(accumulate='forget', forget=0.0))
    np.testing.assert_array_equal(A, H)
    np.testing.assert_array_equal(b, r)


def test_numpy_and_torch_solve_alike():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(4, 3, 20, K))
    Y = rng.normal(size=(4, 3, 20, 2))
    ours = local_solve(*squared(X, Y), LAMBDA)
    theirs = local_solve(*squared(torch.tensor(X), torch.tensor(Y)), LAMBDA)
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-12)


@pytest.mark.parametrize('kind', ['squared', 'logistic', 'softmax'])
def test_no_data_and_one_class(kind):
    rng = np.random.default_rng(7)
    empty = LOSSES[kind](np.zeros((0, K)), np.zeros((0, C if kind == 'softmax' else 1)))
    assert not local_solve(*empty, LAMBDA).any()
    Y = np.eye(C)[np.zeros(5, int)] if kind == 'softmax' else np.ones((5, 1))
    theta = local_solve(*LOSSES[kind](rng.normal(size=(5, K)), Y), LAMBDA)
    assert np.isfinite(theta).all()


def test_padding_with_weight_zero_changes_nothing():
    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(6, K)), rng.normal(size=(6, 1))
    padded = squared(np.vstack((X, X)), np.vstack((Y, 9 * Y)), np.repeat([1.0, 0.0], 6))
    for ours, plain in zip(padded, squared(X, Y), strict=True):
        np.testing.assert_allclose(ours, plain, atol=1e-14)


def test_bad_data_is_named():
    X, Y = np.zeros((3, K)), np.zeros((3, 1))
    with pytest.raises(ValueError, match=r'X has shape \(3, 6\) and Y \(2, 1\)'):
        squared(X, Y[:2])
    with pytest.raises(ValueError, match='NaN or infinity'):
        logistic(X * np.nan, Y)
    with pytest.raises(ValueError, match='expected C >= 2'):
        softmax(X, Y)
    with pytest.raises(ValueError, match=r'weight has shape \(2,\)'):
        squared(X, Y, np.ones(2))


@pytest.mark.parametrize(
    'wrong',
    [
        {'lambda1_local': 0.0},
        {'lambda3': float('nan')},
        {'lambda2': -1.0},
        {'accumulate': 'median'},
        {'budget': 'column'},
        {'distance': 'cosine'},
        {'forget': 1.5},
        {'momentum': 1.0},
        {'null_edge': -1.0},
        {'update_rounds': 0},
        {'budget': 'global', 'smoothing': 0.0},
    ],
)
def test_bad_settings_are_named(wrong):
    with pytest.raises(ValueError, match='expected'):
        replace(Settings(), **wrong)


def test_gradients_of_the_solve():
    rng = np.random.default_rng(9)
    M, b = (torch.tensor(rng.normal(size=(2, 3, n)), requires_grad=True) for n in (3, 2))
    ridge = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)

    def twice(M, b, ridge):
        factored = factor(M @ M.mT, ridge)
        return solve(factored, b + solve(factored, b).sin())

    assert torch.autograd.gradcheck(twice, (M, b, ridge))
    per_block = torch.rand(2, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(twice, (M, b, per_block))
