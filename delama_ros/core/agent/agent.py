"""One agent of DeLAMA (Algorithms 1-4) as a state machine without clock, threads or sockets.

A driver sends what `begin` and `advance` return and passes on what it receives:

    send(agent.begin(step, neighbours))
    while not agent.done:
        on a message:        agent.receive(message)
        whenever ready:      send(agent.advance())
        at a deadline:       send(agent.advance())   # closes the round without those missing

A neighbour that is not received in a step is left out of it. Where a distance or weight is combined
from both sides and the other side is missing, this side's value stands for both. An agent that is
missing in a flood is left out of its sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from delama_ros.core.agent.inbox import Inbox, Stage
from delama_ros.core.agent.learner import Learner
from delama_ros.core.agent.messages import Dual, Label, Message, Params, Phase
from delama_ros.core.agent.refinement import Jacobi, Refinement, Sent
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.core.agent.relation import Relation, Rows
from delama_ros.core.blocks import Blocks, Floats, Keys, Model, Shape, decode, spread, union
from delama_ros.core.distances import Distance, by_name
from delama_ros.core.settings import Settings


class Agent:
    """One agent: its memory, its model θ and its row of the collaboration graph W."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        *,
        fingerprint: int = 0,
        shape: tuple[int, ...] = (32, 1),
        distance: Distance | None = None,
        refinement: Refinement | None = None,
    ) -> None:
        """Create an agent that has learned nothing yet.

        Args:
            name: unique among the agents that exchange messages.
            settings: the variant of DeLAMA; all agents must have the same.
            fingerprint: 64 bits that identify the shared model (backbone and settings); messages
                with another fingerprint are refused.
            shape: (features K, outputs C) of a block, and optionally its parts P with evidence.
            distance: between two models; by default the one that the settings name.
            refinement: the rounds of the model update; by default the paper's Jacobi rounds.

        """
        self.name = name
        self.settings = settings
        self.step: int | None = None
        self.weights: dict[str, float] = {}
        self.z = 0.0
        self.complete_rounds = 0
        self.incomplete_rounds = 0
        self.missed: Counter[str] = Counter()
        self.late: frozenset[str] = frozenset()  # did not answer in the last round
        self.fingerprint = fingerprint
        self.frame = ''  # id of the frame that the model is laid out in; '' if agents share one
        self.foreign: dict[str, Params] = {}  # last local models received in other frames
        self.received: dict[str, Model] = {}  # last local models received in this agent's frame
        self.excluded: frozenset[str] = frozenset()  # peers whose models it does not use
        self.shape = Shape(*shape)
        self._distance = by_name(settings.distance) if distance is None else distance
        self._refinement = refinement or Jacobi(self.shape, settings)
        self._learner = Learner(name, self.shape, settings)
        self._inbox = Inbox(name, fingerprint, self.shape, settings)
        self._stage: Stage = (Phase.DONE, 0, 0)
        self._expected: frozenset[str] = frozenset()
        # Neighbours that let a deadline pass in this step; they are not waited for until the next.
        self._silent: frozenset[str] = frozenset()

    # -- for the driver -------------------------------------------------------------------------

    def observe(self, keys: Keys, H: Floats, r: Floats, evidence: Floats | None = None) -> None:
        """Add statistics of new data, which the next step learns from.

        Args:
            keys: (n, 2), integer keys of the blocks, each once; (0, 0) for a model of one block.
            H: (n, K, K), Hessian of the loss at the expansion point α.
            r: (n, K, C), H α − g with the gradient g at α.
            evidence: (n, P), weight of the data behind each part of a block.

        Raises:
            ValueError: if a shape does not fit, a number is not finite or a key repeats.

        """
        self._learner.new.add(keys, H, r, evidence)

    def revise(self, keys: Keys, H: Floats, r: Floats, evidence: Floats | None = None) -> None:
        """Correct what was learned: add statistics, which may be negative, to the memory.

        Unlike new data they are not weighted as such: the next step adds them as they are, before
        anything fades. The model of the next step carries a new epoch, by which peers recognise
        what they still hold of the old one.

        Args:
            keys: (n, 2), integer keys of the blocks, each once.
            H: (n, K, K), difference of the Hessians.
            r: (n, K, C), difference of H α − g.
            evidence: (n, P), difference of the evidence.

        Raises:
            ValueError: if a shape does not fit, a number is not finite or a key repeats.
        """
        self._learner.revision.add(keys, H, r, evidence)

    def drop(self, keys: Keys) -> None:
        """Remove blocks (n, 2) from the memory with the next step: no data is left in them."""
        self._learner.drop(keys)

    def reframe(self, frame: str) -> None:
        """Change the frame that the model is laid out in; peers' models in the old one go.

        The own memory has to follow with `revise` and `drop`.
        """
        self.frame = frame
        self._learner.epoch += 1
        self.foreign, self.received = {}, {}
        self._refinement.forget_peers()

    def take_back(self, peers: Iterable[str]) -> None:
        """Drop what peers said in this agent's frame that have left it for another one.

        peers: of those in `foreign`.
        """
        self._refinement.take_back(
            {robot: self.foreign[robot].model.epochs.get(robot, 0) for robot in peers}
        )

    def start_epoch(self, epoch: int) -> None:
        """Count epochs from here on, so that a memory that was lost is not taken for older news."""
        self._learner.epoch = max(self._learner.epoch, epoch)

    @property
    def fade(self) -> Blocks | None:
        """How much each block has faded since it came, (n, 1); None without forgetting."""
        return self._learner.fade if self.settings.accumulate == 'forget' else None

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Begin a time step: learn from what was observed (Algorithm 1).

        Args:
            step: number of the time step, higher than the last one.
            neighbours: names of the agents to exchange messages with.

        Returns:
            The messages to send first.

        Raises:
            ValueError: if the step does not follow the last one.

        """
        if self.step is not None and step <= self.step:
            raise ValueError(f'step {step} cannot begin after step {self.step}')
        self.step = step
        self.weights, self.z = {}, 0.0
        self._learner.learn()
        self._expected, self._silent = frozenset(neighbours) - {self.name}, frozenset()
        self._inbox.open(step, self._expected)
        self._stage = (Phase.LOCAL, 0, 0)
        return [self._params(self.local)]

    def receive(self, message: Message) -> Refused | None:
        """Accept a message of a neighbour; never raises on bad input.

        Returns:
            None, or why the message was refused.

        """
        return self._inbox.put(message)

    def unwanted(self, label: Label) -> Refused | None:
        """Return why a message of this label would be refused, or None: sender, model or step."""
        return self._inbox.unwanted(label)

    @property
    def ready(self) -> bool:
        """Whether all neighbours that are waited for have answered in the current round."""
        waited_for = self._expected - self._silent
        return not self.done and self._inbox.answered(self._stage, waited_for)

    @property
    def missing(self) -> frozenset[str]:
        """Neighbours that are waited for and have not answered in the current round."""
        waited_for = self._expected - self._silent
        return frozenset(r for r in waited_for if not self._inbox.answered(self._stage, [r]))

    @property
    def done(self) -> bool:
        """Whether the step is over (or none has begun)."""
        return self._stage[0] == Phase.DONE

    @property
    def phase(self) -> Phase:
        """The phase the agent is in."""
        return Phase(self._stage[0])

    def advance(self) -> list[Message]:
        """Close the current round with what was received.

        Returns:
            The messages to send next.

        Raises:
            RuntimeError: if no step is in progress.

        """
        if self.done:
            raise RuntimeError(f'{self.name}: no step is in progress')
        late = frozenset(
            robot for robot in self._expected if not self._inbox.answered(self._stage, [robot])
        )
        self.missed.update(late)
        self.late = late - self._silent
        self._silent |= late
        self.incomplete_rounds += bool(late)
        self.complete_rounds += not late
        if self._stage[0] == Phase.LOCAL:
            return self._close_local()
        if self._stage[0] == Phase.UPDATE:
            return self._close_update()
        return self._relate(self._relation.close(self._inbox.duals(self._stage, self._expected)))

    def rewind(self) -> None:
        """Abandon the step in progress and restart the count of steps; the memory stays."""
        self.step = None
        self._stage = (Phase.DONE, 0, 0)
        self._inbox.rewind()

    @property
    def theta(self) -> tuple[Keys, Floats]:
        """The model: keys (n, 2) and values (n, K, C)."""
        theta = self._refinement.theta
        return decode(theta.codes), theta.values

    @property
    def memory(self) -> tuple[Keys, Floats, Floats]:
        """The learning memory: keys (n, 2), A (n, K, K) and b (n, K, C); steps change A and b."""
        local = self._learner.local
        return decode(local.codes), local.memory.A, local.memory.b

    @property
    def local(self) -> Model:
        """The model learned from this agent's data alone, as neighbours receive it."""
        return self._learner.local.model

    @property
    def learned(self) -> int:
        """How many steps the memory has learned from."""
        return self._learner.local.memory.t

    @property
    def refused(self) -> Counter[Refusal]:
        """How often messages were refused, by reason."""
        return self._inbox.refused

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that a restart needs, as arrays."""
        return {
            **self._learner.state(), 'frame': np.array(self.frame), **self._refinement.state(),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what `state` returned; call between steps.

        Raises:
            ValueError: if the arrays are of another shape of model.

        """
        frame = np.asarray(state.get('frame', ''))
        if frame.shape != () or frame.dtype.kind != 'U':
            raise ValueError(f'frame is {frame.dtype} {frame.shape}, expected a text')
        learner = Learner(self.name, self.shape, self.settings)
        learner.restore(state)
        self._refinement.restore(state)
        self._learner, self.frame = learner, str(frame)

    # -- collaborative relational inference (Algorithm 2) -----------------------------------------

    def _close_local(self) -> list[Message]:
        received = self._inbox.params(self._stage, self._expected)
        # A model in another frame is of no use until its place in this one is known.
        self.foreign = {r: m for r, m in received.items() if m.frame != self.frame}
        self.received = {r: m.model for r, m in received.items() if r not in self.foreign}
        self._refinement.exclude(self.excluded)
        wanted = {r: m for r, m in self.received.items() if r not in self.excluded}
        assert self.step is not None
        self._received = self._refinement.admit(self.step, self._learner.local, wanted)
        epochs = self._refinement.sources
        departed = {robot: epochs[robot] for robot in sorted(epochs.keys() - self._received.keys())}
        now = {robot: model.epochs.get(robot, 0) for robot, model in self._received.items()}
        self._relation = Relation(
            self.name, self._sides(), self._distance, self.settings, departed,
            {**now, self.name: self._learner.epoch},
            frozenset(self.received) - frozenset(self._received),
        )
        return self._relate(self._relation.open())

    def _sides(self) -> dict[str, float]:
        """Return this side's distance to each neighbour received."""
        if not self._received:
            return {}
        local = self._learner.local
        codes = union(local.codes, *(peer.codes for peer in self._received.values()))
        theta, evidence = local.model.on(codes)
        peers = [peer.on(codes) for peer in self._received.values()]
        d = self._distance.one_side(
            spread(local.memory.A, local.codes, codes),
            theta,
            np.stack([peer[0] for peer in peers]),
            evidence,
            np.stack([peer[1] for peer in peers]),
        )
        return dict(zip(self._received, d.tolist(), strict=True))

    def _relate(self, send: list[Rows]) -> list[Message]:
        relation = self._relation
        messages: list[Message] = [self._dual(rows) for rows in send]
        self._stage, self._expected, self.z = relation.stage, relation.expected, relation.z
        return messages + self._start_update() if relation.finished else messages

    # -- lifelong model update (Algorithm 3) ------------------------------------------------------

    def _start_update(self) -> list[Message]:
        self.weights = self._relation.weights
        send = self._refinement.start(self._learner.local, self._relation, self._received)
        self._expected = self._refinement.partners
        return self._refine(send)

    def _close_update(self) -> list[Message]:
        received = self._inbox.params(self._stage, self._expected)
        same = {r: message.model for r, message in received.items() if message.frame == self.frame}
        return self._refine(self._refinement.close(same))

    def _refine(self, send: Sent) -> list[Message]:
        if send is None:
            self._stage, self._expected = (Phase.DONE, 0, 0), frozenset()
            return []
        number, model = send
        self._stage = (Phase.UPDATE, number, 0)
        return [] if model is None else [self._params(model)]

    # -- messages ---------------------------------------------------------------------------------

    def _params(self, model: Model) -> Params:
        assert self.step is not None
        phase, number, _ = self._stage
        return Params(
            self.name, self.step, int(phase), number, self.fingerprint, model, frame=self.frame
        )

    def _dual(self, rows: Rows) -> Dual:
        assert self.step is not None
        phase, number, hop = rows.stage
        return Dual(
            self.name, self.step, int(phase), number, self.fingerprint, hop, rows.names,
            rows.values[:, 0], rows.values[:, 1],
        )
