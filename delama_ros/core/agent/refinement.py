"""Lifelong model update (Algorithm 3) of one agent: rounds in which neighbours exchange models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from delama_ros.core import update
from delama_ros.core.agent.relation import Relation
from delama_ros.core.backend import factor, solve
from delama_ros.core.blocks import Blocks, Codes, Model, Shape, decode, places, spread, union
from delama_ros.core.memory import Memory
from delama_ros.core.settings import Settings


@dataclass(frozen=True)
class LocalModel:
    """What an agent learned from its own data: its memory and the model that follows from it."""

    memory: Memory
    model: Model  # of the same blocks; θ before collaboration

    @property
    def codes(self) -> Codes:
        """The blocks that the agent has data of."""
        return self.model.codes


# Number of the next round and the model to send in it, if any; None after the last.
Sent: TypeAlias = tuple[int, Model | None] | None


class Refinement(Protocol):
    """How an agent refines its model with its neighbours in the rounds of a time step."""

    @property
    def theta(self) -> Blocks:
        """The model as it stands."""

    @property
    def partners(self) -> frozenset[str]:
        """Neighbours whose models are waited for in the rounds of this step."""

    @property
    def sources(self) -> Mapping[str, int]:
        """Robots whose models enter this agent's, received or not, with the models' epochs."""

    def admit(
        self, step: int, local: LocalModel, received: Mapping[str, Model]
    ) -> dict[str, Model]:
        """Return what is believed of the neighbours' local models, before anything is made of them.

        Args:
            step: number of the time step.
            local: what the agent learned from its own data.
            received: local model of each neighbour.
        """

    def start(
        self, local: LocalModel, relation: Relation, received: Mapping[str, Model]
    ) -> Sent:
        """Begin the rounds of a step with the neighbours' local models.

        Args:
            local: what the agent learned from its own data.
            relation: its row of the collaboration graph.
            received: local model of each neighbour.

        Returns:
            What to send first, or None if there is nothing to exchange.
        """

    def close(self, received: Mapping[str, Model]) -> Sent:
        """Close a round.

        Args:
            received: models that came in this round, by neighbour; some may be missing.

        Returns:
            What to send next.
        """

    def forget_peers(self) -> None:
        """Drop all that is held of peers' models."""

    def exclude(self, robots: frozenset[str]) -> None:
        """Use nothing that these robots know, not even through others, until called again."""

    def take_back(self, epochs: Mapping[str, int]) -> None:
        """Drop models of these robots, and all that is based on them, from before these epochs."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a restart needs, as arrays."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what `state` returned."""


class Jacobi:
    """The paper's rounds: each agent solves (21) for itself given its neighbours' last models.

    In place of a model that is missing, the last one received in this step is used.
    """

    sources: Mapping[str, int] = MappingProxyType({})
    partners: frozenset[str] = frozenset()

    def __init__(self, shape: Shape, settings: Settings) -> None:
        """Begin without a model.

        Args:
            shape: of a block.
            settings: λ1, λ2, momentum, rounds and warm start.
        """
        self.theta = Blocks.empty(*shape[:2])
        self._settings = settings
        # How far collaboration moved θ in the last completed step.
        self._carry = Blocks.empty(*shape[:2])

    def admit(
        self, step: int, local: LocalModel, received: Mapping[str, Model]
    ) -> dict[str, Model]:
        """Return all: the graph alone decides whose model counts."""
        return dict(received)

    def start(
        self, local: LocalModel, relation: Relation, received: Mapping[str, Model]
    ) -> Sent:
        """Factor B once; a warm start has to be sent first."""
        self._local, self._weights = local, relation.weights
        self.partners = frozenset(self._weights)
        self._received = {robot: received[robot] for robot in self._weights}
        self._degree = np.array(sum(self._weights.values()), dtype=np.float64)
        self._ridge = update.ridge(self._degree, self._settings)
        self._factor = factor(local.memory.A, self._ridge)
        self._before = self.theta = Blocks(local.codes, local.model.theta)
        self._number = 0
        if self._settings.warm_start:
            codes = union(local.codes, self._carry.codes)
            start = Blocks(codes, self.theta.on(codes) + self._carry.on(codes))
            self.theta = self._before = start
            if self._weights:
                return 0, self._model()
        # Otherwise the rounds begin with the local solutions, which were exchanged already.
        return self._round()

    def close(self, received: Mapping[str, Model]) -> Sent:
        """Solve again with the neighbours' new models."""
        self._received |= received
        return self._round()

    def _round(self) -> Sent:
        self._solve()
        self._number += 1
        if self._number < self._settings.update_rounds and self._weights:
            return self._number, self._model()
        codes = self.theta.codes
        local = spread(self._local.model.theta, self._local.codes, codes)
        self._carry = Blocks(codes, self.theta.values - local)
        return None

    def _solve(self) -> None:
        """Solve for θ given the neighbours' models; a block without data here has B = ridge · I."""
        local, peers = self._local, self._received
        codes = union(self.theta.codes, local.codes, *(peer.codes for peer in peers.values()))
        right = spread(local.memory.b, local.codes, codes).copy()
        for robot, peer in peers.items():
            pull = 4 * self._settings.lambda2 * self._weights[robot]
            right += pull * spread(peer.theta, peer.codes, codes)
        at = places(codes, local.codes)
        solved = right / self._ridge
        solved[at] = solve(self._factor, right[at])
        before = self._before.on(codes)
        theta = update.accelerate(solved, before, self._degree, self._number, self._settings)
        self._before, self.theta = self.theta, Blocks(codes, theta)

    def forget_peers(self) -> None:
        """Drop the warm start: it came from peers."""
        self._carry = Blocks(self._carry.codes[:0], self._carry.values[:0])

    def exclude(self, robots: frozenset[str]) -> None:
        """Do nothing: no model is held beyond its step."""

    def take_back(self, epochs: Mapping[str, int]) -> None:
        """Do nothing: no model is held beyond its step."""

    def _model(self) -> Model:
        codes = self.theta.codes
        parts = self._local.model.evidence.shape[1]
        return Model(codes, self.theta.values, np.zeros((len(codes), parts)))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return θ and the warm start."""
        return {
            'theta_keys': decode(self.theta.codes), 'theta': self.theta.values,
            'carry_keys': decode(self._carry.codes), 'carry': self._carry.values,
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what `state` returned."""
        theta = Blocks.of(state['theta_keys'], state['theta'])
        self.theta, self._carry = theta, Blocks.of(state['carry_keys'], state['carry'])
