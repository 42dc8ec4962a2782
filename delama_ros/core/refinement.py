"""Lifelong model update (Algorithm 2) as one agent lives it: rounds of models with neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from delama_ros.core import update
from delama_ros.core.backend import factor, solve
from delama_ros.core.blocks import Blocks, Codes, Floats, Model, Shape, decode, places, union
from delama_ros.core.memory import Memory
from delama_ros.core.relation import Relation
from delama_ros.core.settings import Settings


@dataclass(frozen=True)
class Own:
    """What an agent has learned from its own data."""

    codes: Codes  # of the blocks it has data of
    memory: Memory
    local: Blocks  # θ of the own data alone
    evidence: Floats  # (n, P)

    @property
    def model(self) -> Model:
        """The local model as it is told."""
        return Model(self.local, Blocks(self.codes, self.evidence))


class Refinement(Protocol):
    """How an agent refines its model with its neighbours in the rounds of a time step."""

    @property
    def theta(self) -> Blocks:
        """The model as it stands."""

    @property
    def partners(self) -> frozenset[str]:
        """Neighbours with whom models are exchanged in the rounds of this step."""

    @property
    def absent(self) -> frozenset[str]:
        """Robots that are not heard any more but have a part in the model."""

    def start(
        self, own: Own, relation: Relation, heard: Mapping[str, Model]
    ) -> tuple[int, Model] | None:
        """Begin with the local models heard; returns round and model to tell, None at the end."""

    def close(self, heard: Mapping[str, Model]) -> tuple[int, Model] | None:
        """Close the round with the models heard in it; returns what to tell next."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what must be kept to go on later."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` returned."""


class Jacobi:
    """The paper's rounds: each agent solves eq. 20 for itself given what its neighbours last said.

    For a missing θ the last one heard in this step is used.
    """

    absent: frozenset[str] = frozenset()
    partners: frozenset[str] = frozenset()

    def __init__(self, shape: Shape, settings: Settings) -> None:
        self.theta = Blocks.empty(*shape[:2])
        self._settings = settings
        self._evidence = Blocks.empty(shape.parts)
        # How far collaboration moved θ in the last step that was finished.
        self._carry = Blocks.empty(*shape[:2])

    def start(
        self, own: Own, relation: Relation, heard: Mapping[str, Model]
    ) -> tuple[int, Model] | None:
        """Factor B once; a warm start has to be told first."""
        self._own, self._weights = own, relation.weights
        self.partners = frozenset(self._weights)
        self._heard = {robot: heard[robot].theta for robot in self._weights}
        self._degree = np.array(sum(self._weights.values()), dtype=np.float64)
        self._ridge = update.ridge(self._degree, self._settings)
        self._factor = factor(own.memory.A, self._ridge)
        self.theta = self._before = own.local
        self._number = 0
        if self._settings.warm_start:
            codes = union(own.local.codes, self._carry.codes)
            start = Blocks(codes, own.local.on(codes) + self._carry.on(codes))
            self.theta = self._before = start
            if self._weights:
                return 0, self._told()
        # Otherwise the rounds begin with the local solutions, which were exchanged already.
        return self._round()

    def close(self, heard: Mapping[str, Model]) -> tuple[int, Model] | None:
        """Solve again with the neighbours' new models."""
        self._heard |= {robot: model.theta for robot, model in heard.items()}
        return self._round()

    def _round(self) -> tuple[int, Model] | None:
        self._solve()
        self._number += 1
        if self._number < self._settings.update_rounds and self._weights:
            return self._number, self._told()
        codes = self.theta.codes
        self._carry = Blocks(codes, self.theta.values - self._own.local.on(codes))
        return None

    def _solve(self) -> None:
        """Solve for the own θ given the neighbours'; a block without own data has B = ridge · I."""
        own, peers = self._own, self._heard
        codes = union(self.theta.codes, own.codes, *(peer.codes for peer in peers.values()))
        right = Blocks(own.codes, own.memory.b).on(codes).copy()
        for robot, peer in peers.items():
            right += 4 * self._settings.lambda2 * self._weights[robot] * peer.on(codes)
        at = places(codes, own.codes)
        solved = right / self._ridge
        solved[at] = solve(self._factor, right[at])
        before = self._before.on(codes)
        theta = update.accelerate(solved, before, self._degree, self._number, self._settings)
        self._before, self.theta = self.theta, Blocks(codes, theta)

    def _told(self) -> Model:
        evidence = np.zeros((len(self.theta.codes), self._own.evidence.shape[1]))
        return Model(self.theta, Blocks(self.theta.codes, evidence))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return θ and the warm start."""
        return {
            'theta_keys': decode(self.theta.codes), 'theta': self.theta.values,
            'carry_keys': decode(self._carry.codes), 'carry': self._carry.values,
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` returned."""
        theta = Blocks.of(state['theta_keys'], state['theta'])
        self.theta, self._carry = theta, Blocks.of(state['carry_keys'], state['carry'])
