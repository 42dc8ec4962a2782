"""Lifelong model update of maps: a neighbour's model counts by the evidence behind it.

The paper's update, condition (21), pulls θ_i towards every θ_j equally hard in all directions. A
local model solves (A_j + 2 λ1 I) θ_j = b_j, so a neighbour that also sent A_j would convey all that
its data say, in a form that never grows. A_j is K × K, but it follows from the weights of evidence
in the cells of a tile: M_j, made from their means over a few parts of the tile, is close to A_j and
takes some ten bytes. With λ2 w_ij = 1 and M_j = A_j the solution of

    (A_i + 2 λ1 I + λ2 Σ_j w_ij M_j) θ_i = b_i + λ2 Σ_j w_ij (M_j + 2 λ1 I) θ_j

is that of a learner with everybody's data, after the one exchange of local models that the graph
needs anyway. A tile, or a part of one, that a neighbour has never seen has M_j = 0 there.

Where some robots do not receive each other, refined models are relayed, each with all the evidence
behind it. Of these, only evidence beyond what is already counted is added, so that no data count
twice however often they are relayed. The same holds for the last models of departed robots.

A robot that corrects its poses takes evidence back. What it took back must not return through
models that others still relay: every model names the epoch of each robot whose data stand behind
it, and one that is based on an older epoch than the robot's latest known one is dropped. A robot
that is received directly speaks for its own epoch; of others the latest relayed one counts. The
same holds for a robot that leaves the frame: refined models go on naming it with its new epoch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent.known import Known, relays
from delama_ros.core.agent.refinement import LocalModel, Sent
from delama_ros.core.agent.relation import Relation
from delama_ros.core.backend import Array, factor, solve
from delama_ros.core.blocks import (
    Blocks,
    Floats,
    Model,
    Shape,
    decode,
    encode,
    places,
    spread,
    union,
)
from delama_ros.core.memory import fading, local_solve
from delama_ros.core.settings import Settings
from delama_ros.mapping.tiles import TileModel
from delama_ros.mapping.trust import CONFIRMED, Trust
from delama_ros.mapping.verdict import Verdict

BEFORE = ''  # stands for all robots, as far as they were known before a restart


class Fusion:
    """The model update of one robot: its refined model and the evidence behind it."""

    def __init__(self, shape: Shape, settings: Settings, model: TileModel) -> None:
        """Begin without a model.

        Args:
            shape: of a tile's block.
            settings: λ1, forgetting and rounds.
            model: what a block means.
        """
        self.model = Model.empty(shape)
        self.partners: frozenset[str] = frozenset()
        self._shape = shape
        self._settings = settings
        self._matrices: Floats = model.part_matrices
        self.trust = Trust(model, settings)
        self._direct: dict[str, Model] = {}  # last local model of each trusted robot
        self._relayed: dict[str, Model] = {}  # last refined model of each neighbour
        # Of each robot a local model that agreed with what others saw, and m that contradicted it.
        self._confirmed: dict[str, Model] = {}
        self._against: dict[str, float] = {}
        self._epochs: dict[str, int] = {}  # latest known epoch of each robot
        self._left: frozenset[str] = frozenset()  # robots that took back all they said
        self._known_by: dict[str, Known] = {}  # as each neighbour reported it last
        self._excluded: frozenset[str] = frozenset()  # robots whose data are not wanted
        # What is believed in this step of robots that left, and of what neighbours pass on.
        self._step = 0
        self._departed: dict[str, Model] = {}
        self._believed: dict[str, Model] = {}

    @property
    def theta(self) -> Blocks:
        """The refined model."""
        return Blocks(self.model.codes, self.model.theta)

    @property
    def sources(self) -> Mapping[str, int]:
        """Robots whose local models enter this one, received or not, with the models' epochs."""
        return {robot: model.epochs.get(robot, 0) for robot, model in self._direct.items()}

    def admit(
        self, step: int, local: LocalModel, received: Mapping[str, Model]
    ) -> dict[str, Model]:
        """Return what is believed of the local models, and forget what is wrong.

        A robot that is not believed any more counts with what it said while it was, like one that
        has left, as long as that is in order.
        """
        self._step = step
        for held in (self._direct, self._relayed, self._confirmed):
            for robot, model in held.items():
                held[robot] = self._faded(model)
        departed = {r: m for r, m in self._direct.items() if r not in received}
        admitted = self.trust.admit(step, local.model, {**departed, **received})
        kept = {r: admitted[r] for r in departed if r in admitted}
        caught = (received.keys() | departed.keys()) - admitted.keys()
        before = {r: m for r, m in self._confirmed.items() if r in caught}
        kept |= self.trust.admit_more(before, least=CONFIRMED)
        self._confirmed = {r: m for r, m in self._confirmed.items() if r in kept or r in admitted}
        for robot, model in admitted.items():
            # Whoever says more and more that is wrong counts with what it said before.
            said = self.trust.verdicts.get(robot, Verdict(0.0, 0.0))
            better = said.against <= self._against.get(robot, math.inf)
            if said.agreed >= CONFIRMED and (better or robot not in self._confirmed):
                self._confirmed[robot], self._against[robot] = model, said.against
        self._direct = {
            r: before.get(r, m) for r, m in (self._direct | before).items()
            if r in kept or r in admitted
        }
        self._departed = dict(sorted(kept.items()))
        return {robot: admitted[robot] for robot in received if robot in admitted}

    def start(
        self, local: LocalModel, relation: Relation, received: Mapping[str, Model]
    ) -> Sent:
        """Fuse the local models; relay the result if some neighbours do not receive each other."""
        self._local, self._weights, self._number = local, relation.weights, 0
        trusted = {robot: received[robot] for robot in self._weights}
        strangers = frozenset(received) - frozenset(trusted)
        for models in (self._direct, self._relayed):
            for robot in strangers & frozenset(models):
                del models[robot]
        self._direct |= trusted
        self._epochs |= local.model.epochs
        for robot, model in received.items():
            self._epochs[robot] = model.epochs.get(robot, 0)
        self._left -= frozenset(received)
        self._speaking = frozenset(received) | frozenset(local.model.epochs)
        self._drop_outdated()
        # Both sides know what both know: nobody waits for a robot that has nothing to relay to it.
        # Whose report was lost knows what it did before; one that never reported is taken to lack
        # everything, and to have something.
        before = {r: known for r, known in self._known_by.items() if r in self._weights}
        self._known_by = before | relation.known_by
        known_by = {**self._known_by, relation.name: relation.known}
        silent = self._weights.keys() - known_by.keys()
        relayed = [relays(known_by, robot, self._step) for robot in self._known_by]
        self._lacked = frozenset().union(
            *(found.get(relation.name, ()) for found in relayed),
            relation.known.used if silent else (),
        )
        self.partners = frozenset(relays(known_by, relation.name, self._step)) | silent
        self._relayed = {
            r: m for r, m in self._relayed.items() if r not in trusted or r in self.partners
        }
        return self._round()

    def close(self, received: Mapping[str, Model]) -> Sent:
        """Fuse again with what neighbours relay."""
        for model in received.values():
            for robot, epoch in model.epochs.items():
                if robot not in self._speaking:
                    self._epochs[robot] = max(epoch, self._epochs.get(robot, 0))
        self._relayed |= received
        self._drop_outdated()
        return self._round()

    def _drop_outdated(self) -> None:
        """Drop models that are based on what their robots have taken back since, or excluded."""
        for models in (self._direct, self._relayed, self._confirmed):
            for robot, model in list(models.items()):
                if robot in self._excluded or any(
                    e < self._epochs.get(r, e) or r in self._excluded
                    for r, e in model.epochs.items()
                ):
                    del models[robot]

    def exclude(self, robots: frozenset[str]) -> None:
        """Use nothing that these robots know, not even through others, until called again."""
        self._excluded = robots
        self._drop_outdated()

    def take_back(self, epochs: Mapping[str, int]) -> None:
        """Drop models of these robots, and all that is based on them, from before these epochs."""
        known = {robot: epoch for robot, epoch in epochs.items() if robot in self._epochs}
        self._epochs |= known
        self._left |= known.keys()
        self._drop_outdated()

    def _round(self) -> Sent:
        # What a robot said that is not believed must not come back through those who believe it.
        self._believed = self.trust.admit_more({
            robot: model for robot, model in self._relayed.items()
            if not model.epochs.keys() & self.trust.distrusted
        })
        self._fuse()
        self._number += 1
        waits_or_sends = self.partners or self._lacked
        if not waits_or_sends or self._number >= self._settings.update_rounds:
            return None
        return self._number, self._to_relay() if self._lacked else None

    def _to_relay(self) -> Model:
        """Return the tiles of what some neighbour lacks, and of what was relayed to this robot."""
        of_lacked = [m.codes for r, m in self._direct.items() if r in self._lacked]
        relayed = [model.codes for model in self._believed.values()]
        codes = union(self._local.codes[:0], *of_lacked, *relayed)
        # Neighbours have the local model already: the rest comes from others.
        own = spread(self._local.model.evidence, self._local.codes, self.model.codes)
        more = np.any(self.model.evidence > own, axis=1)
        return self.model.take(more & np.isin(self.model.codes, codes, assume_unique=True))

    def _fuse(self) -> None:
        local, settings = self._local, self._settings
        direct = {robot: self._direct[robot] for robot in self._weights}
        departed = [m for robot, m in self._departed.items() if robot in self._direct]
        extra = departed + [self._believed[robot] for robot in sorted(self._believed)]
        codes = union(local.codes, *(model.codes for model in [*direct.values(), *extra]))
        right = spread(local.memory.b, local.codes, codes).copy()
        evidence = spread(local.model.evidence, local.codes, codes)
        others = np.zeros_like(evidence)  # what counts beside the own
        for robot, model in direct.items():
            trust = settings.lambda2 * self._weights[robot]
            at = places(codes, model.codes)
            weight = trust * model.evidence
            others[at] += weight
            prior = 2 * settings.lambda1_local * trust
            right[at] += weighted(weight, model.theta, self._matrices) + prior * model.theta
        for model in extra:
            at = places(codes, model.codes)
            more = np.maximum(model.evidence - evidence[at] - others[at], 0.0)
            others[at] += more
            right[at] += weighted(more, model.theta, self._matrices)
        A = spread(local.memory.A, local.codes, codes)
        theta = solve_fused(A, right, others, self._matrices, settings)
        # Words of a robot that was caught count only as far as they have been confirmed.
        based_on = self._left.union(
            local.model.epochs, *(model.epochs for model in [*direct.values(), *extra])
        ) - self.trust.distrusted
        epochs = {robot: self._epochs.get(robot, 0) for robot in sorted(based_on)}
        self.model = Model(codes, theta, evidence + others, epochs)

    def _faded(self, model: Model) -> Model:
        """Return what is left of a model that was received in an earlier step."""
        if self._settings.accumulate != 'forget':
            return model
        share, _ = fading(1, self._settings, model.evidence)
        evidence = np.reshape(share, (-1, 1)) * model.evidence
        return Model(model.codes, model.theta, evidence, model.epochs)

    def forget_peers(self) -> None:
        """Drop all that is held of peers' models."""
        self._direct, self._relayed, self._confirmed, self._epochs = {}, {}, {}, {}
        self._against = {}
        self._left, self._known_by = frozenset(), {}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the model, the peers' models behind it, by sender, and who is doubted."""
        peers = [
            *((f'={name}', model) for name, model in sorted(self._direct.items())),
            *((f'>{name}', model) for name, model in sorted(self._relayed.items())),
            *((f'!{name}', model) for name, model in sorted(self._confirmed.items())),
        ]
        epochs = [
            (f'{name} {robot}', epoch)
            for name, model in peers
            for robot, epoch in model.epochs.items()
        ]
        empty = Model.empty(self._shape)
        models = [empty, *(model for _, model in peers)]
        return {
            'theta_keys': decode(self.model.codes), 'theta': self.model.theta,
            'theta_evidence': self.model.evidence,
            'peer_names': np.array([name for name, _ in peers], np.str_),
            'peer_sizes': np.array([len(model.codes) for _, model in peers], np.int64),
            'peer_codes': np.concatenate([model.codes for model in models]),
            'peer_theta': np.concatenate([model.theta for model in models]),
            'peer_evidence': np.concatenate([model.evidence for model in models]),
            'peer_sources': np.array([name for name, _ in epochs], np.str_),
            'peer_epochs': np.array([epoch for _, epoch in epochs], np.int64),
            **self.trust.state(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `state` returned: it counts where no robot knows more.

        Raises:
            ValueError: if the arrays do not fit together.
        """
        codes = encode(state['theta_keys'])
        self.model = Model.of(codes, state['theta'], state['theta_evidence'])
        self.forget_peers()
        self.trust.restore(state)
        if 'peer_names' not in state:  # a file that does not say who sent what
            self._relayed = {BEFORE: self.model}
            return
        sizes, total = state['peer_sizes'], int(state['peer_sizes'].sum())
        features, outputs, parts = self._shape
        for name, shape in (
            ('peer_names', (len(sizes),)), ('peer_codes', (total,)),
            ('peer_theta', (total, features, outputs)), ('peer_evidence', (total, parts)),
            ('peer_epochs', state['peer_sources'].shape),
        ):
            if state[name].shape != shape:
                raise ValueError(f'saved {name} has shape {state[name].shape}, expected {shape}')
        for name in ('peer_theta', 'peer_evidence', 'theta', 'theta_evidence'):
            largest = float(np.abs(state[name]).max(initial=0.0))
            if not largest <= self._settings.max_value:  # NaN neither
                raise ValueError(
                    f'saved {name} holds {largest:g}, expected at most {self._settings.max_value:g}'
                )
        epochs: dict[str, dict[str, int]] = {}
        pairs = zip(state['peer_sources'].tolist(), state['peer_epochs'].tolist(), strict=True)
        for source, epoch in pairs:
            name, _, robot = source.partition(' ')
            epochs.setdefault(name, {})[robot] = epoch
        if not len(sizes):
            return
        at = np.cumsum(sizes)[:-1]
        columns = [np.split(state[f'peer_{part}'], at) for part in ('codes', 'theta', 'evidence')]
        for name, *arrays in zip(state['peer_names'].tolist(), *columns, strict=True):
            held = {'=': self._direct, '>': self._relayed, '!': self._confirmed}[name[:1]]
            some, theta, evidence = arrays
            held[name[1:]] = Model(some, theta, evidence, epochs.get(name, {}))
            for robot, epoch in epochs.get(name, {}).items():
                self._epochs[robot] = max(epoch, self._epochs.get(robot, 0))


def weighted(evidence: Array, theta: Array, matrices: Array) -> Array:
    """Return M θ (..., n, K, 1) for evidence (..., n, P) and θ (..., n, K, 1), without making M."""
    parts, size = matrices.shape[:2]
    each = (theta[..., 0] @ matrices.reshape(-1, size).T).reshape(*theta.shape[:-2], parts, size)
    return (evidence[..., None, :] @ each)[..., 0, :, None]


def solve_fused(
    A: Array, right: Array, others: Array, matrices: Array, settings: Settings
) -> Array:
    """Return θ (..., n, K, 1) from the own A, all right-hand sides and the evidence of others.

    M is linear in the evidence, so that all that others have seen makes one matrix per tile.
    """
    B = A + (others @ matrices.reshape(len(matrices), -1)).reshape(A.shape)
    return solve(factor(B, 2 * settings.lambda1_coupled), right)


def fuse_all(A: Array, b: Array, evidence: Array, matrices: Array, settings: Settings) -> Array:
    """Return θ of N robots that receive and trust each other, (N, n, ...), all at once."""
    local = local_solve(A, b, settings.lambda1_local)
    sent = weighted(evidence, local, matrices) + 2 * settings.lambda1_local * local
    others = settings.lambda2 * (evidence.sum(0) - evidence)
    right = b + settings.lambda2 * (sent.sum(0) - sent)
    return solve_fused(A, right, others, matrices, settings)
