"""An agent of tiles: in each tile only those who know it take part in the lifelong model update.

The paper's update (eq. 20) treats what a neighbour does not know as θ = 0, which pulls a tile that
few have seen to the prior for many rounds. Here W_ij counts in a tile only if j speaks of it. Where
everybody speaks the equations are the paper's; elsewhere a tile is known after one round. Robots
speak of tiles they have seen themselves, which saves most bytes; of all tiles if their neighbours
do not hear each other; and of tiles whose owners have gone, so that no map is lost with a robot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent import Agent
from delama_ros.core.backend import Factor, factor, solve
from delama_ros.core.blocks import Blocks, Codes, Floats, union
from delama_ros.core.messages import Message, Params, Phase

NONE: Codes = np.zeros(0, np.int64)


class TileAgent(Agent):
    """`Agent` with a graph per tile: edges to those who speak of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._relay = True  # whether some neighbours do not hear each other, or may not
        self._present: frozenset[str] = frozenset()  # who was heard in this step
        self._said: dict[str, Codes] = {}  # tiles each robot ever met spoke of last, if trusted
        self._theirs = self._left = NONE  # tiles that neighbours speak of, that robots gone left
        self._factored: tuple[Floats, Factor] | None = None  # degrees, factor of B

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Begin a step; what was told in the last one is remembered with who told it."""
        for robot in self._present:
            self._said[robot] = self._heard[robot].codes if robot in self.weights else NONE
        self._present = frozenset()
        return super().begin(step, neighbours)

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

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned; who told of a tile is not in it, so all are kept."""
        super().restore(state)
        self._said = {'': self._theta.codes}

    def _close_local(self) -> list[Message]:
        heard = self._inbox.params(self._stage, self._expected)
        self._present = frozenset(heard)
        now = [Blocks.of(message.keys, message.values).codes for message in heard.values()]
        before = [self._said[robot] for robot in heard if robot in self._said]
        self._theirs = union(NONE, *now, *before)
        self._left = union(NONE, *(self._said[r] for r in self._said if r not in heard))
        return super()._close_local()

    def _start_update(self) -> list[Message]:
        self.weights = self._relation.weights
        self._expected = frozenset(self.weights)
        self._factored = None
        codes = union(self._local.codes, self._carry.codes)
        self._theta = Blocks(codes, self._local.on(codes) + self._carry.on(codes))
        if self.settings.warm_start and self.weights:
            self._stage = (Phase.UPDATE, 0, 0)
            return [self._params(self._theta)]
        # Otherwise the rounds begin with the local solutions, which were exchanged already.
        return self._next_round(1)

    def _jacobi_round(self, number: int) -> None:
        """Solve for the own θ given the neighbours'.

        A tile without own data is the neighbours' average. One that nobody speaks of any more is
        kept if a robot that has gone told it, and dropped if a robot did that is no longer trusted.
        """
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
        keep = told | np.isin(codes, self._left)
        keep[own] = True
        self._theta = Blocks(codes[keep], solved[keep])

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
            own = np.isin(theta.codes, self._codes, assume_unique=True)
            spoken = own | ~np.isin(theta.codes, self._theirs)
            theta = Blocks(theta.codes[spoken], theta.values[spoken])
        return super()._params(theta)
