"""Distances between the models of two agents: the d_ij of the graph problem (18).

Each side computes a number from its own A and θ and the peers' θ; then the numbers of both sides
are combined. An infinite distance leaves the edge out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from delama_ros.core.backend import Array, xp


class Distance(Protocol):
    """One distance; shapes A (..., n, K, K), θ (..., n, K, C), peers (..., M, n, K, C)."""

    @property
    def two_sided(self) -> bool:
        """Whether the numbers of the two sides differ, so that they must be exchanged."""
        ...

    def one_side(
        self, A: Array, theta: Array, peers: Array, evidence: Array, peers_evidence: Array
    ) -> Array:
        """Return this side's distance to each of M peers, (..., M).

        Args:
            A: (..., n, K, K), memory of this agent.
            theta: (..., n, K, C), model of this agent.
            peers: (..., M, n, K, C), the peers' models.
            evidence: (..., n, P), behind this model.
            peers_evidence: (..., M, n, P), behind those of the peers.
        """
        ...

    def combine(self, mine: Array, theirs: Array) -> Array:
        """Return the one number that both sides agree on, for each pair.

        Args:
            mine: distances as this side computes them.
            theirs: the same pairs, as the other side does; of the same shape.
        """
        ...


class Paper:
    """‖θ_i − θ_j‖², as in the paper."""

    two_sided = False

    def one_side(
        self, A: Array, theta: Array, peers: Array, evidence: Array, peers_evidence: Array
    ) -> Array:
        """Return ‖θ_i − θ_j‖² for each peer j."""
        return ((theta[..., None, :, :, :] - peers) ** 2).sum((-1, -2, -3))

    def combine(self, mine: Array, theirs: Array) -> Array:
        """Return either: they are equal."""
        return mine


class MinA:
    """min over the two of (θ_i − θ_j)ᵀ A (θ_i − θ_j): differences count only where data are."""

    two_sided = True

    def one_side(
        self, A: Array, theta: Array, peers: Array, evidence: Array, peers_evidence: Array
    ) -> Array:
        """Return (θ_i − θ_j)ᵀ A_i (θ_i − θ_j) for each peer j."""
        difference = xp(A).moveaxis(theta[..., None, :, :, :] - peers, -4, -1)  # (..., n, K, C, M)
        columns = difference.reshape(*difference.shape[:-2], -1)  # (..., n, K, C·M)
        product = (A @ columns).reshape(difference.shape)
        return (difference * product).sum((-2, -3, -4))

    def combine(self, mine: Array, theirs: Array) -> Array:
        """Return the smaller of the two."""
        return xp(mine).minimum(mine, theirs)


@dataclass(frozen=True)
class Overlap:
    """1 − soft IoU of the occupancy over the parts that both have seen; beyond the gate no edge.

    Partial maps of one place differ in their extent, but agree where they overlap. Robots that
    share too few walls to compare get distance 0: there is no evidence against the peer.
    """

    table: Array  # (P, K): mean value of each feature in each part of a block
    bias: float = 0.0  # logit where θ = 0
    gate: float = 0.65
    least: float = 10.0  # parts of wall that one of the two must have where both have seen
    looked: float = 0.0  # evidence above which a part counts as seen

    two_sided = False

    def one_side(
        self, A: Array, theta: Array, peers: Array, evidence: Array, peers_evidence: Array
    ) -> Array:
        """Return 1 − Σ min(p_i, p_j) / Σ max(p_i, p_j) over shared parts, for each peer j."""
        lib = xp(theta)
        both = (evidence[..., None, :, :] > self.looked) & (peers_evidence > self.looked)
        mine = self._occupancy(theta)[..., None, :, :]  # (..., 1, n, P)
        theirs = self._occupancy(peers)  # (..., M, n, P)
        shared = (lib.minimum(mine, theirs) * both).sum((-1, -2))
        either = (lib.maximum(mine, theirs) * both).sum((-1, -2))
        enough = either >= self.least
        d = 1 - shared / lib.where(enough, either, 1 + 0 * either)
        d = lib.where(enough, d, 0 * d)
        return lib.where(d > self.gate, float('inf') + 0 * d, d)

    def combine(self, mine: Array, theirs: Array) -> Array:
        """Return either: they are equal."""
        return mine

    def _occupancy(self, theta: Array) -> Array:
        logit = (xp(theta).asarray(self.table) @ theta)[..., 0] + self.bias
        return 0.5 * (1 + xp(theta).tanh(logit / 2))


def by_name(name: str) -> Distance:
    """Return a distance without parameters by its name."""
    known: dict[str, Distance] = {'paper': Paper(), 'minA': MinA()}
    if name not in known:
        raise ValueError(f'distance is {name!r}, expected an object or one of {sorted(known)}')
    return known[name]


def pairwise(distance: Distance, A: Array, theta: Array, evidence: Array | None = None) -> Array:
    """Return all d_ij (..., N, N), symmetric.

    Args:
        distance: between two models.
        A: (..., N, n, K, K), memories.
        theta: (..., N, n, K, C), local models.
        evidence: (..., N, n, P), for distances that use it.
    """
    lib = xp(theta)
    agents = theta.shape[-4]
    if evidence is None:
        evidence = theta[..., :0, 0]
    batch = len(theta.shape) - 4

    def to_each(values: Array) -> Array:
        """Repeat the values of all agents for every agent: (..., N, N, n, ...)."""
        alike = values.reshape(*values.shape[:batch], 1, *values.shape[batch:])
        shape = (*values.shape[:batch], agents, *values.shape[batch:])
        return lib.broadcast_to(alike, shape)

    peers, peers_evidence = to_each(theta), to_each(evidence)
    mine = distance.one_side(A, theta, peers, evidence, peers_evidence)
    return distance.combine(mine, lib.swapaxes(mine, -1, -2))
