"""Probability that agents learn the same thing: Bayesian comparison of all groupings of agents.

With the prior θ ~ N(0, P⁻¹), the log marginal likelihood of a memory is
½ bᵀ(A + P)⁻¹b − ½ log|A + P| + ½ log|P|. Agents that learn the same have that of the sum of their
memories; a grouping has that of its groups together. The probability that two agents belong
together is the share of the groupings in which they do; the best guess at an agent's θ is the mean
over groupings. All is done in the few directions of feature space that matter, so what an agent has
to send is small: with R directions R (R + 1)/2 + R C numbers, for R = 6 and C = 1 about half of one
θ with 50 features.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

SMALLEST = 1e-12  # of a residual, which rounding may make negative
LARGEST = 8  # agents whose groupings are all weighed (4140 of them); beyond, pairs of agents


class Found(NamedTuple):
    """What the groupings of N agents imply, in the R directions and in units of the noise."""

    apart: Tensor  # probability to learn different things, (..., N, N)
    noise: Tensor  # variance of each agent's samples, (..., N)
    A: Tensor  # memories (..., N, R, R)
    b: Tensor  # (..., N, R, C)
    theta: Tensor  # mean of θ over all groupings, (..., N, R, C)


class Groupings(nn.Module):
    """Learned projection, priors and calibration; noise of agents estimated from residuals."""

    def __init__(
        self, directions: Tensor, *, noisy: bool, prior: float = 0.05, constraints: int = 0
    ) -> None:
        """Start from given directions; the coefficients are learned from there.

        Args:
            directions: (K, R), columns of feature space in which models are compared.
            noisy: whether samples are real numbers with unknown noise.
            prior: precision of θ in each direction.
            constraints: how many of the C columns of θ follow from the others (softmax: 1).
        """
        super().__init__()
        self.noisy = noisy
        self._constraints = constraints
        self.directions = nn.Parameter(directions.double())
        self.raw = nn.ParameterDict({
            'prior': _parameter(torch.full((directions.shape[1],), prior).log()),
            'slope': _parameter(torch.tensor(0.0)),  # log of how far likelihoods are trusted
            'sizes': _parameter(torch.zeros(LARGEST)),  # log prior of groups of 1, 2, … agents
        })
        if noisy:
            # The noise before any sample was seen, and how many samples that is worth.
            self.raw['variance'] = _parameter(torch.tensor(0.1).log())
            self.raw['worth'] = _parameter(torch.tensor(4.0).log())

    def forward(
        self, A: Tensor, b: Tensor, moments: Tensor, links: Tensor
    ) -> Found:
        """Weigh all groupings.

        Args:
            A: (..., N, 1, K, K), memories.
            b: (..., N, 1, K, C).
            moments: (..., N, 2), the sums of w y² and w.
            links: (..., N, N): an agent knows the memories of those it is linked with.

        Returns:
            What the groupings imply for each pair and each agent.
        """
        P = self.directions
        A, b = P.mT @ A[..., 0, :, :] @ P, P.mT @ b[..., 0, :, :]  # (..., N, R, R or C)
        prior = self.raw['prior'].exp()
        variance = torch.ones_like(A[..., 0, 0])
        if self.noisy:
            variance = self._variance(A, b, moments, prior)
            A, b = A / variance[..., None, None], b / variance[..., None, None]
        if A.shape[-3] > LARGEST:
            apart = self._pair_by_pair(A, b, prior)
            theta = self._pooled(A, b, prior, (1 - apart) * links)
            return Found(apart, variance, A, b, theta)
        alone = torch.eye(A.shape[-3], dtype=torch.bool)
        if (links | alone).all():
            apart, theta = self._grouped(A, b, prior)
            return Found(apart, variance, A, b, theta)
        # Of agents that it does not receive, an agent knows nothing for or against a grouping.
        received = (links | alone).to(A.dtype)[..., None, None]  # (..., N, N, 1, 1)
        apart, theta = self._grouped(
            received * A[..., None, :, :, :], received * b[..., None, :, :, :], prior
        )
        return Found(
            apart.diagonal(dim1=-3, dim2=-2).mT, variance, A, b,
            theta.diagonal(dim1=-4, dim2=-3).movedim(-1, -3),
        )

    def correction(self, found: Found, same: Tensor | None = None) -> Tensor:
        """Return what the peers' memories add to each agent's own θ, (..., N, 1, K, C).

        Args:
            found: what `forward` returned.
            same: (..., N, N), which agents are known to learn the same; None: as found.
        """
        prior = self.raw['prior'].exp()
        theta = found.theta if same is None else self._pooled(found.A, found.b, prior, same)
        own = self._likelihood(found.A, found.b, prior)[1]
        correction: Tensor = (self.directions @ (theta - own))[..., None, :, :]
        return correction

    def _grouped(self, A: Tensor, b: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
        """Return (..., N, N) and (..., N, R, C) from memories (..., N, R, R or C)."""
        agents = A.shape[-3]
        sets, groupings, together = _tables(agents)
        joined_A, joined_b = (
            (sets @ part.flatten(-2)).reshape(*part.shape[:-3], len(sets), *part.shape[-2:])
            for part in (A, b)
        )
        likelihood, theta = self._likelihood(joined_A, joined_b, prior)
        size = sets.sum(-1).long()
        log = self.raw['slope'].exp() * likelihood + self.raw['sizes'][size - 1]
        share = (log @ groupings.mT).softmax(-1)  # (..., groupings)
        apart = (1 - share @ together).clamp_min(0).reshape(*A.shape[:-3], agents, agents)
        of_set = (share @ groupings)[..., None] * sets  # (..., sets, N)
        mean = of_set.mT @ theta.flatten(-2)
        return apart, mean.reshape(b.shape)

    def _pair_by_pair(self, A: Tensor, b: Tensor, prior: Tensor) -> Tensor:
        own = self._likelihood(A, b, prior)[0]
        both = self._likelihood(
            A[..., :, None, :, :] + A[..., None, :, :, :],
            b[..., :, None, :, :] + b[..., None, :, :, :], prior,
        )[0]
        sizes = self.raw['sizes']
        factor = both - own[..., :, None] - own[..., None, :]
        return torch.sigmoid(2 * sizes[0] - sizes[1] - self.raw['slope'].exp() * factor)

    def _pooled(self, A: Tensor, b: Tensor, prior: Tensor, same: Tensor) -> Tensor:
        """Return θ of the own memory and the peers', each as far as it counts as the same."""
        own = torch.eye(same.shape[-1], dtype=A.dtype)
        A, b = (
            torch.einsum('...ij,...jrc->...irc', same * (1 - own) + own, part) for part in (A, b)
        )
        return self._likelihood(A, b, prior)[1]

    def _variance(self, A: Tensor, b: Tensor, moments: Tensor, prior: Tensor) -> Tensor:
        """Estimate the noise from what the own θ leaves unexplained, with a learned prior."""
        scaled = prior * self.raw['variance'].exp()
        both = torch.cat((b, A), -1)
        solved = torch.cholesky_solve(both, torch.linalg.cholesky(A + torch.diag(scaled)))
        theta, hat = solved[..., : b.shape[-1]], solved[..., b.shape[-1] :]
        residual = moments[..., 0] - ((2 * b - A @ theta) * theta).sum((-1, -2))
        freedom = moments[..., 1] - hat.diagonal(dim1=-1, dim2=-2).sum(-1)
        worth = self.raw['worth'].exp()
        total = residual.clamp_min(SMALLEST) + worth * self.raw['variance'].exp()
        variance: Tensor = total / (freedom.clamp_min(0) + worth)
        return variance

    def _likelihood(self, A: Tensor, b: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log likelihood (...) of memories (..., R, R or C), and their θ (..., R, C)."""
        L = torch.linalg.cholesky(A + torch.diag(prior))
        white = torch.linalg.solve_triangular(L, b, upper=False)
        volume = 2 * L.diagonal(dim1=-1, dim2=-2).log().sum(-1) - prior.log().sum()
        columns = b.shape[-1] - self._constraints
        likelihood = (white.square().sum((-1, -2)) - columns * volume) / 2
        return likelihood, torch.linalg.solve_triangular(L.mT, white, upper=True)


@lru_cache(maxsize=8)
def _tables(agents: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return all sets of agents (2^N − 1, N), and of each grouping its sets and its pairs.

    Row k of the second table marks the sets that grouping k consists of; of the third, flattened,
    the pairs (i, j) that it puts together.
    """
    sets = torch.tensor(
        [[number >> i & 1 for i in range(agents)] for number in range(1, 2**agents)],
        dtype=torch.float64,
    )
    every: list[list[int]] = [[]]
    for agent in range(agents):  # each agent joins a group or begins a new one
        bit = 1 << agent
        every = [
            [*kept[:k], kept[k] | bit, *kept[k + 1 :]] if k < len(kept) else [*kept, bit]
            for kept in every for k in range(len(kept) + 1)
        ]
    groupings = torch.zeros(len(every), len(sets), dtype=torch.float64)
    for row, kept in enumerate(every):
        groupings[row, torch.tensor(kept) - 1] = 1
    pairs = (sets[:, :, None] * sets[:, None, :]).flatten(1)
    return sets, groupings, groupings @ pairs


def _parameter(start: Tensor) -> nn.Parameter:
    return nn.Parameter(start.double())
