"""Lifelong model update (Algorithm 3): B_i θ_i − 4 λ2 Σ_j W_ij θ_j = b_i, the condition (21).

B_i = A_i + (2 λ1 + 4 λ2 D_i) I is factored once per step. Shapes: A (..., N, n, K, K), b and θ
(..., N, n, K, C), W (..., N, N), symmetric.
"""

from __future__ import annotations

from delama_ros.core.backend import Array, factor, solve, xp
from delama_ros.core.settings import Settings


def ridge(degree: Array, settings: Settings) -> Array:
    """Return 2 λ1 + 4 λ2 D (..., 1, 1), what agents of degree D (...) add to A's diagonal."""
    return (2 * settings.lambda1_coupled + 4 * settings.lambda2 * degree)[..., None, None]


def jacobi(A: Array, b: Array, W: Array, theta: Array, settings: Settings) -> Array:
    """Run M2 rounds (22): each agent solves for itself given its neighbours' last θ.

    Args:
        A: (..., N, n, K, K), memories.
        b: (..., N, n, K, C).
        W: (..., N, N), symmetric.
        theta: (..., N, n, K, C), to start from.
        settings: λ1, λ2, momentum and the number of rounds.

    Returns:
        θ (..., N, n, K, C) after the last round.
    """
    degree = W.sum(-1)
    factored = factor(A, ridge(degree, settings))
    coupling = 4 * settings.lambda2 * W
    before = theta
    for number in range(settings.update_rounds):
        solved = solve(factored, b + pull(coupling, theta))
        theta, before = accelerate(solved, before, degree, number, settings), theta
    return theta


def accelerate(
    solved: Array, before: Array, degree: Array, number: int, settings: Settings
) -> Array:
    """Return (1 + μ) J(θ^k) − μ θ^(k−1), the second-order Jacobi method, with J(θ^k) solved.

    The error modes of Jacobi lie symmetrically in (−1, 1); for these it is stable with any momentum
    μ below 1 and converges fastest. The first round is plain; so are those of an agent without
    edges, which has the solution after it.
    """
    if number == 0 or not settings.momentum > 0:
        return solved
    momentum = xp(solved).where(degree > 0, settings.momentum + 0 * degree, 0.0)
    momentum = momentum[..., None, None, None]
    return (1 + momentum) * solved - momentum * before


def conjugate_gradients(A: Array, b: Array, W: Array, theta: Array, settings: Settings) -> Array:
    """Run M2 rounds of conjugate gradients, preconditioned by the B_i.

    Its step lengths are inner products over all agents, so only the network uses it: robots
    would have to flood two sums in every round.

    Args:
        A: (..., N, n, K, K), memories.
        b: (..., N, n, K, C).
        W: (..., N, N), symmetric.
        theta: (..., N, n, K, C), to start from.
        settings: λ1, λ2 and the number of rounds.

    Returns:
        θ (..., N, n, K, C) after the last round.
    """
    diagonal = ridge(W.sum(-1), settings)
    factored = factor(A, diagonal)
    coupling = 4 * settings.lambda2 * W
    residual = b + pull(coupling, theta) - A @ theta - diagonal[..., None] * theta
    direction = preconditioned = solve(factored, residual)
    energy = _inner(residual, preconditioned)
    for _ in range(settings.update_rounds):
        product = A @ direction + diagonal[..., None] * direction - pull(coupling, direction)
        length = _ratio(energy, _inner(direction, product))
        theta = theta + length * direction
        residual = residual - length * product
        preconditioned = solve(factored, residual)
        energy, last = _inner(residual, preconditioned), energy
        direction = preconditioned + _ratio(energy, last) * direction
    return theta


def pull(coupling: Array, theta: Array) -> Array:
    """Return Σ_j (4 λ2 W_ij) θ_j; the coupling 4 λ2 W is the same in every round."""
    flat = theta.reshape(*theta.shape[:-3], -1)
    return (coupling @ flat).reshape(theta.shape)


def _inner(left: Array, right: Array) -> Array:
    return (left * right).sum((-1, -2, -3, -4))[..., None, None, None, None]


def _ratio(above: Array, below: Array) -> Array:
    # Both vanish together once the solution is reached: nothing is left to move.
    return above / xp(below).where(below > 0, below, 1.0)
