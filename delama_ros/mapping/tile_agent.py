"""An agent of tiles: in each tile only those who know it take part in the lifelong model update.

The paper's update (eq. 20) treats what a neighbour does not know as θ = 0, which pulls a tile that
few have seen to the prior for many rounds. Here W_ij counts in a tile only if j speaks of it. Where
everybody speaks the equations are the paper's; elsewhere a tile is known after one round. Robots
speak of tiles they have seen themselves, which saves most bytes; of all tiles if their neighbours
do not hear each other; and of tiles whose owners have gone, so that no map is lost with a robot.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent import Agent
from delama_ros.core.backend import Factor, factor, solve
from delama_ros.core.blocks import Blocks, Codes, Floats, union
from delama_ros.core.messages import Message, Params, Phase


class TileAgent(Agent):
    """`Agent` with a graph per tile: edges to those who speak of it."""

    _relay = True  # whether some neighbours do not hear each other, or may not
    _none: Codes = np.zeros(0, np.int64)

    def advance(self) -> list[Message]:
        """Close the current round; what neighbours weigh shows whom they hear."""
        if self._stage[0] == Phase.WEIGHT:
            heard = self._inbox.duals(self._stage, self._expected)
            everybody = self._expected | {self.name}
            self._relay = not all(
                robot in heard and everybody - {robot} <= set(heard[robot].names)
                for robot in self._expected
            )
        return super().advance()

    def _start_update(self) -> list[Message]:
        self.weights = self._relation.weights
        self._expected = frozenset(self.weights)
        self._factored: tuple[Floats, Factor] | None = None  # degrees, factor of B
        codes = union(self._local.codes, self._carry.codes)
        self._theta = Blocks(codes, self._local.on(codes) + self._carry.on(codes))
        if self.settings.warm_start and self.weights:
            self._stage = (Phase.UPDATE, 0, 0)
            return [self._params(self._theta)]
        # Otherwise the rounds begin with the local solutions, which were exchanged already.
        return self._next_round(1)

    def _jacobi_round(self, number: int) -> None:
        """Solve for the own θ given the neighbours'; what nobody speaks of stays as it was."""
        peers = {robot: self._heard[robot] for robot in self.weights}
        codes = union(self._theta.codes, self._codes, *(peer.codes for peer in peers.values()))
        right = Blocks(self._codes, self._memory.b).on(codes).copy()
        degree = np.zeros(len(codes))
        for robot, peer in peers.items():
            at = np.searchsorted(codes, peer.codes)
            right[at] += 4 * self.settings.lambda2 * self.weights[robot] * peer.values
            degree[at] += self.weights[robot]
        solved = self._theta.on(codes).copy()
        told = degree > 0
        ridge = 2 * self.settings.lambda1_coupled + 4 * self.settings.lambda2 * degree
        solved[told] = right[told] / ridge[told, None, None]
        own = np.searchsorted(codes, self._codes)
        solved[own] = self._solve_own(right[own], degree[own])
        self._theta = Blocks(codes, solved)

    def _solve_own(self, right: Floats, degree: Floats) -> Floats:
        if self._factored is None or not np.array_equal(self._factored[0], degree):
            # A tile that nobody else knows is learned as by a robot alone.
            ridge = np.where(
                degree > 0,
                2 * self.settings.lambda1_coupled + 4 * self.settings.lambda2 * degree,
                2 * self.settings.lambda1_local,
            )
            self._factored = degree, factor(self._memory.A, ridge[:, None])
        theta: Floats = solve(self._factored[1], right)
        return theta

    def _params(self, theta: Blocks) -> Params:
        if self._stage[0] == Phase.UPDATE and not self._relay:
            spoken = self._spoken(theta.codes)
            theta = Blocks(theta.codes[spoken], theta.values[spoken])
        return super()._params(theta)

    def _spoken(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Mark the own tiles and those that no neighbour speaks of."""
        own = np.isin(codes, self._codes, assume_unique=True)
        return own | ~np.isin(codes, self._theirs)

    def _close_local(self) -> list[Message]:
        last = self._heard_last
        heard = self._inbox.params(self._stage, self._expected)
        now = {robot: Blocks.of(m.keys, m.values).codes for robot, m in heard.items()}
        self._theirs = union(self._none, *now.values(), *(last[r] for r in now if r in last))
        return super()._close_local()

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Begin a step; what was heard in the last one is still known to be spoken of."""
        heard = getattr(self, '_heard', {})
        self._heard_last = {robot: blocks.codes for robot, blocks in heard.items()}
        return super().begin(step, neighbours)
