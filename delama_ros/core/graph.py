"""Collaborative relational inference (Algorithm 2, corrected): distances → collaboration weights.

With u = −(λ2 d + z)/(2 λ3) and w = h(u) as in (20), the dual variable z is the root of
φ(z) = Σ h(u) − m, the equation (19). φ is convex and decreasing, so Newton from any z with φ(z) ≥ 0
rises to the root and never passes it. m is a gauge (it only rescales λ2 and λ3): 1 per agent that
takes part.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from delama_ros.core.backend import Array, Scalar, detach, eye_like, sort, xp
from delama_ros.core.settings import Settings

NEWTON_LIMIT = 100  # from the ReLU root about 8 iterations are ever needed
NEWTON_TOLERANCE = 1e-14

# d and which of its entries are edges.
Edges: TypeAlias = tuple[Array, Array]


def infer(d: Array, mask: Array, settings: Settings) -> tuple[Array, Array]:
    """Return W (..., N, N), symmetric, and z (..., N), each agent's own copy.

    Agents without an edge get a zero row and z = 0.

    Args:
        d: (..., N, N), symmetric distances; an infinite one is no edge.
        mask: (..., N, N), the communication graph C as booleans, symmetric.
        settings: λ2, λ3, budget, null edge and rounds.
    """
    lib = xp(d)
    agents = d.shape[-1]
    valid = mask & (eye_like(d, agents) == 0)
    d, edge = finite_edges(d, valid)
    degree = edge.sum(-1) + 0 * d[..., 0]
    d, edge = with_null_edge(d, edge, settings.null_edge)
    # Who shares a budget with whom: (..., N, N), the row itself or its connected component.
    group = components(valid, d) if settings.budget == 'global' else eye_like(d, agents)
    m = degree if settings.budget == 'edge' else group.sum(-1)
    if settings.newton:
        z = _newton_rounds(d, edge, group, m, settings)
    elif settings.budget != 'global':
        z = root(d, edge, m, settings)
    else:
        shared = (group[..., None] > 0) & edge[..., None, :, :]  # (..., N, N, E)
        shared = shared.reshape(*d.shape[:-1], agents * d.shape[-1])
        flat = d.reshape(*d.shape[:-2], 1, agents * d.shape[-1])
        z = root(lib.broadcast_to(flat, shared.shape), shared, m, settings)
    w = edge_weights(d, edge, z, settings)[0][..., :agents]
    return (w + lib.swapaxes(w, -1, -2)) / 2, z


def finite_edges(d: Array, valid: Array) -> Edges:
    """Leave infinite distances out; entries that are no edge become 0, safe to compute with."""
    edge = valid & xp(d).isfinite(d)
    return xp(d).where(edge, d, 0.0), edge


def with_null_edge(d: Array, edge: Array, null_edge: Scalar | None) -> Edges:
    """Append the null edge, a pseudo-peer at a fixed distance, to rows (..., N) that have edges."""
    if null_edge is None:
        return d, edge
    lib = xp(d)
    return (
        lib.concatenate((d, 0 * d[..., :1] + null_edge), -1),
        lib.concatenate((edge, edge.any(-1)[..., None]), -1),
    )


def components(mask: Array, like: Array) -> Array:
    """Return 1 where two agents are connected, over any number of hops, for masks (..., N, N)."""
    reach = mask + eye_like(like, mask.shape[-1])
    hops = 1
    while hops < mask.shape[-1] - 1:
        reach = xp(reach).clip(reach @ reach, 0.0, 1.0)
        hops *= 2
    return xp(reach).clip(reach, 0.0, 1.0)


def smoothed_relu(u: Array, b: float) -> tuple[Array, Array]:
    """Return h(u) = (√(u² + b) + u)/2 and h′(u) = h/√(u² + b), without cancellation for u < 0."""
    lib = xp(u)
    if b == 0:
        return lib.where(u > 0, u, 0.0), lib.where(u > 0, 1 + 0 * u, 0.0)
    s = lib.sqrt(u * u + b)
    h = lib.where(u < 0, b / (2 * (s + abs(u))), (s + u) / 2)
    return h, h / s


def edge_weights(d: Array, edge: Array, z: Array, settings: Settings) -> tuple[Array, Array]:
    """Return w = h(u) and h′(u) of every edge (..., E), 0 for what is no edge; z is (...)."""
    u = -(settings.lambda2 * d + z[..., None]) / (2 * settings.lambda3)
    w, slope = smoothed_relu(u, settings.smoothing)
    return xp(d).where(edge, w, 0.0), xp(d).where(edge, slope, 0.0)


def safe_start(n: Array, total: Array, least: Array, m: Array, settings: Settings) -> Array:
    """Return z with φ(z) ≥ 0 from three numbers: how many edges, Σd and min d (n = 0 gives 0)."""
    lib = xp(n)
    spent = 2 * settings.lambda3 * m
    some = n > 0
    mean = -(spent + settings.lambda2 * total) / lib.where(some, n, 1.0)
    best = -(spent + settings.lambda2 * least)
    return lib.where(some, lib.maximum(mean, best), 0.0)


def newton_step(z: Array, x: Array, y: Array, m: Array, settings: Settings) -> Array:
    """Return z after one Newton step on φ from the sums x = Σh and y = Σh′ over all edges."""
    lib = xp(z)
    step = 2 * settings.lambda3 * (x - m) / lib.where(y > 0, y, 1.0)
    return z + lib.where(y > 0, step, 0.0)


def relu_root(d: Array, edge: Array, m: Array, settings: Settings) -> Array:
    """Solve Σ ReLU(u) = m exactly by sorting the edges (..., E).

    With the k nearest edges active the root would be −(2 λ3 m + λ2 Σd)/k. Each such line lies
    below φ and the right one touches it, so the root is the largest.
    """
    lib = xp(d)
    far = sort(lib.where(edge, settings.lambda2 * d, float('inf')))
    count = lib.cumsum(1 + 0 * detach(d), -1)
    lines = -(2 * settings.lambda3 * m[..., None] + lib.cumsum(far, -1)) / count
    some = edge.any(-1)
    return lib.where(some, lib.amax(lines, -1), 0.0)


def root(d: Array, edge: Array, m: Array, settings: Settings) -> Array:
    """Solve φ(z) = 0 to machine precision for edges (..., E) and m (...).

    The iteration runs without gradients; one more Newton step from its end, with gradients, has
    exactly the derivative of the root (implicit function theorem).
    """
    if d.shape[-1] == 0:
        return 0 * m
    if settings.smoothing == 0:
        return relu_root(d, edge, m, settings)
    fixed = _detached(settings)
    flat, z = detach(d), relu_root(detach(d), edge, m, fixed)
    for _ in range(NEWTON_LIMIT):
        w, slope = edge_weights(flat, edge, z, fixed)
        following = newton_step(z, w.sum(-1), slope.sum(-1), m, fixed)
        moved = abs(following - z) > NEWTON_TOLERANCE * (abs(z) + fixed.lambda3)
        z = following
        if not moved.any():
            break
    w, slope = edge_weights(d, edge, z, settings)
    return newton_step(z, w.sum(-1), slope.sum(-1), m, settings)


def _newton_rounds(d: Array, edge: Array, group: Array, m: Array, settings: Settings) -> Array:
    """Run M1 rounds: each agent contributes Σh and Σh′ of its row, its group adds them up."""
    lib = xp(d)
    far = lib.where(edge, d, float('inf'))
    least = lib.where(group > 0, lib.amin(far, -1)[..., None, :], float('inf'))
    least = lib.amin(least, -1)
    n, total = _group_sums(group, lib.where(edge, 1 + 0 * d, 0.0), d)
    least = lib.where(lib.isfinite(least), least, 0.0)
    z = safe_start(n, total, least, m, settings)
    for _ in range(settings.dual_rounds):
        x, y = _group_sums(group, *edge_weights(d, edge, z, settings))
        z = newton_step(z, x, y, m, settings)
    return z


def _group_sums(group: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """Return the sums of two numbers per edge (..., N, E) over each agent's group, (..., N)."""
    rows = xp(left).stack((left, right), -1).sum(-2)  # (..., N, 2)
    both = group @ rows
    return both[..., 0], both[..., 1]


def _detached(settings: Settings) -> Settings:
    return replace(settings, lambda2=detach(settings.lambda2), lambda3=detach(settings.lambda3))
