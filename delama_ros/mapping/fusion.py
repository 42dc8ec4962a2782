"""Lifelong model update of maps: neighbours count by the evidence behind what they say.

The paper's update (eq. 20) pulls θ_i to every θ_j equally hard in all directions. A local model
solves (A_j + 2 λ1 I) θ_j = b_j, so a neighbour that also told A_j would say all that its data say,
in a form that never grows. A_j is K × K, but it is made of the weights of evidence in the cells of
a tile: M_j, from their means over a few parts of the tile, is close to it and takes some ten bytes.
With λ2 w_ij = 1 and M_j = A_j the solution of

    (A_i + 2 λ1 I + λ2 Σ_j w_ij M_j) θ_i = b_i + λ2 Σ_j w_ij (M_j + 2 λ1 I) θ_j

is the one of a learner that has everybody's data, after the one exchange of local models that the
graph needs anyway. A tile, or a part of one, that a neighbour has never seen has M_j = 0 there.

Where some robots do not hear each other, refined models are passed on, each with all the evidence
behind it. Of these only what exceeds the evidence already counted is added, so that no data counts
twice however often it comes around. The same holds for the last words of robots that have gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.core.backend import factor, solve
from delama_ros.core.blocks import Blocks, Floats, Model, Shape, decode, places, union
from delama_ros.core.memory import fading
from delama_ros.core.refinement import Own
from delama_ros.core.relation import Relation
from delama_ros.core.settings import Settings

BEFORE = ''  # stands for all that was known before a restart


class Fusion:
    """A robot's side of it; the model and the evidence behind it."""

    def __init__(self, shape: Shape, settings: Settings, matrices: Floats) -> None:
        """Prepare for tiles whose parts have these matrices Σ φ φᵀ, (P, K, K)."""
        self.theta = Blocks.empty(*shape[:2])
        self.evidence = Blocks.empty(shape.parts)
        self.partners: frozenset[str] = frozenset()
        self._shape = shape
        self._settings = settings
        self._matrices = matrices
        self._told: dict[str, Model] = {}  # last local model of each robot that is trusted
        self._passed_on: dict[str, Model] = {}  # last refined model of each neighbour

    @property
    def absent(self) -> frozenset[str]:
        """Robots that have a part in the model, whether heard or not."""
        return frozenset(self._told)

    def start(
        self, own: Own, relation: Relation, heard: Mapping[str, Model]
    ) -> tuple[int, Model] | None:
        """Fuse the local models; tell the result if some neighbours do not hear each other."""
        self._own, self._weights, self._number = own, relation.weights, 0
        trusted = {robot: heard[robot] for robot in self._weights}
        strangers = frozenset(heard) - frozenset(trusted)
        for models in (self._told, self._passed_on):
            for robot in strangers & frozenset(models):
                del models[robot]
            for robot, model in models.items():
                models[robot] = self._faded(model)
        self._told |= trusted
        # Both sides know both circles: nobody waits for a robot that has nothing to pass on, or
        # not to this one.
        self.partners = frozenset(
            robot for robot in self._weights if relation.circles.get(robot) != relation.circle
        ) - relation.deaf
        if not self.partners:
            self._passed_on = {r: m for r, m in self._passed_on.items() if r not in trusted}
        return self._round()

    def close(self, heard: Mapping[str, Model]) -> tuple[int, Model] | None:
        """Take in what neighbours pass on."""
        self._passed_on |= heard
        return self._round()

    def _round(self) -> tuple[int, Model] | None:
        self._fuse()
        self._number += 1
        if not self.partners or self._number >= self._settings.update_rounds:
            return None
        # Neighbours have the local model already: the rest is what others said.
        codes = self.theta.codes
        more = (self.evidence.values > Blocks(self._own.codes, self._own.evidence).on(codes)).any(1)
        theta, evidence = (Blocks(codes[more], b.values[more]) for b in (self.theta, self.evidence))
        return self._number, Model(theta, evidence)

    def _fuse(self) -> None:
        own, settings = self._own, self._settings
        told = {robot: self._told[robot] for robot in self._weights}
        gone = [self._told[robot] for robot in sorted(self._told) if robot not in told]
        extra = gone + [self._passed_on[robot] for robot in sorted(self._passed_on)]
        codes = union(own.codes, *(model.codes for model in [*told.values(), *extra]))
        right = Blocks(own.codes, own.memory.b).on(codes).copy()
        evidence = Blocks(own.codes, own.evidence).on(codes)
        others = np.zeros_like(evidence)  # what counts beside the own
        for robot, model in told.items():
            trust = settings.lambda2 * self._weights[robot]
            at = places(codes, model.codes)
            weight = trust * model.evidence.values
            others[at] += weight
            prior = 2 * settings.lambda1_local * trust
            right[at] += self._pull(weight, model.theta.values) + prior * model.theta.values
        for model in extra:
            at = places(codes, model.codes)
            more = np.maximum(model.evidence.values - evidence[at] - others[at], 0.0)
            others[at] += more
            right[at] += self._pull(more, model.theta.values)
        # M is linear in the evidence: all that others have seen makes one matrix per tile.
        size, parts = self._shape.features, self._shape.parts
        B = (others @ self._matrices.reshape(parts, -1)).reshape(-1, size, size)
        B[places(codes, own.codes)] += own.memory.A
        theta = solve(factor(B, 2 * settings.lambda1_coupled), right)
        self.theta, self.evidence = Blocks(codes, theta), Blocks(codes, evidence + others)

    def _pull(self, evidence: Floats, theta: Floats) -> Floats:
        """Return M θ (n, K, 1) for evidence (n, P) and θ (n, K, 1), without making M."""
        size, parts = self._shape.features, self._shape.parts
        each = (theta[..., 0] @ self._matrices.reshape(-1, size).T).reshape(-1, parts, size)
        pulled: Floats = evidence[:, None, :] @ each  # (n, 1, K)
        return pulled.swapaxes(1, 2)

    def _faded(self, model: Model) -> Model:
        """Return what is left of a model that was told in an earlier step."""
        if self._settings.accumulate != 'forget':
            return model
        evidence = model.evidence.values
        keep, _ = fading(1, self._settings, evidence)
        return Model(model.theta, Blocks(model.codes, np.reshape(keep, (-1, 1)) * evidence))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the model and the evidence behind it; who told what is not kept."""
        return {
            'theta_keys': decode(self.theta.codes), 'theta': self.theta.values,
            'theta_evidence': self.evidence.values,
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned: what was known counts where nobody knows more."""
        theta, evidence = (
            Blocks.of(state['theta_keys'], state[name]) for name in ('theta', 'theta_evidence')
        )
        self.theta, self.evidence = theta, evidence
        self._told, self._passed_on = {}, {BEFORE: Model(theta, evidence)}

