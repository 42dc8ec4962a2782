"""How different two agents' models are: the d_ij of collaborative relational inference (eq. 17).

A distance splits into what one side computes from its own A and θ and the peers' θ, and a
combination of the two sides' numbers. An infinite distance means that the edge is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from delama_ros.core.backend import Array, xp


class Distance(Protocol):
    """One distance; shapes A (..., n, K, K), θ (..., n, K, C), peers (..., M, n, K, C)."""

    @property
    def two_sided(self) -> bool:
        """Whether the two sides' numbers differ, so that they must be exchanged and combined."""
        ...

    def one_side(
        self, A: Array, theta: Array, peers: Array, evidence: Array, peers_evidence: Array
    ) -> Array:
        """Return this side's distance to each of M peers; evidence (..., n, P), (..., M, n, P)."""
        ...

    def combine(self, mine: Array, theirs: Array) -> Array:
        """Join the two sides' numbers into one that both agree on."""
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
    """min over the two of (θ_i − θ_j)ᵀ A (θ_i − θ_j): difference only where somebody has data."""

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
    """1 − soft IoU of the occupancy over parts both have looked at; beyond the gate no edge.

    Partial maps of one place differ in what they cover, not in what they say where both look.
    Robots that share too little wall to tell get distance 0: nothing speaks against the peer.
    """

    table: Array  # (P, K): mean value of each feature in each part of a block
    bias: float = 0.0  # logit where θ says nothing
    gate: float = 0.65
    least: float = 10.0  # parts of wall that one of the two must see where both have looked
    looked: float = 0.0  # evidence above which a part counts as looked at

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
    """Return a distance that needs nothing but its name."""
    known: dict[str, Distance] = {'paper': Paper(), 'minA': MinA()}
    if name not in known:
        raise ValueError(f'distance {name!r} must be given as an object, by name: {sorted(known)}')
    return known[name]


def pairwise(distance: Distance, A: Array, theta: Array, evidence: Array | None = None) -> Array:
    """Return all d_ij (..., N, N) for A (..., N, n, K, K), θ (..., N, n, K, C).

    evidence: (..., N, n, P), for distances that ask for it.
    """
    lib = xp(theta)
    agents = theta.shape[-4]
    if evidence is None:
        evidence = theta[..., :0, 0]
    batch = len(theta.shape) - 4

    def to_each(values: Array) -> Array:
        """Show every agent all agents' values: (..., N, N, n, ...)."""
        alike = values.reshape(*values.shape[:batch], 1, *values.shape[batch:])
        shape = (*values.shape[:batch], agents, *values.shape[batch:])
        return lib.broadcast_to(alike, shape)

    peers, peers_evidence = to_each(theta), to_each(evidence)
    mine = distance.one_side(A, theta, peers, evidence, peers_evidence)
    return distance.combine(mine, lib.swapaxes(mine, -1, -2))
