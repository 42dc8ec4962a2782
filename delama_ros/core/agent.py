"""One robot's side of DeLAMA (Algorithms 1-4) as a state machine without clock, threads or sockets.

A driver sends what `begin` and `advance` return and hands in what it hears:

    send(agent.begin(step, neighbours))
    while not agent.done:
        on a message:        agent.receive(message)
        whenever ready:      send(agent.advance())
        at a deadline:       send(agent.advance())   # closes the round with whoever is missing

A neighbour not heard in a step is left out of it. Where a distance or weight is joined from both
sides and the other's is missing, the own stands for both. Who is missing in a flood is left out of
its sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from delama_ros.core.blocks import Blocks, Floats, Keys, Model, Shape, decode, places, union
from delama_ros.core.distances import Distance, by_name
from delama_ros.core.inbox import Inbox, Label, Stage
from delama_ros.core.memory import Memory, add, fading, local_solve, remember
from delama_ros.core.messages import Dual, Message, Params, Phase
from delama_ros.core.observed import Observed
from delama_ros.core.refinement import Jacobi, Own, Refinement
from delama_ros.core.relation import Relation, Rows
from delama_ros.core.settings import Settings


class Agent:
    """One robot: its memory, its model θ and its row of the collaboration graph."""

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
        """Create an agent; shape is that of a block, the rest by default as the settings say."""
        self.name = name
        self.settings = settings
        self.step: int | None = None
        self.weights: dict[str, float] = {}
        self.z = 0.0
        self.complete_rounds = 0
        self.incomplete_rounds = 0
        self.missed: Counter[str] = Counter()
        self.late: frozenset[str] = frozenset()  # waited for in vain in the last round closed
        self.fingerprint = fingerprint
        self._shape = Shape(*shape)
        self._distance = by_name(settings.distance) if distance is None else distance
        self._refinement = refinement or Jacobi(self._shape, settings)
        self._inbox = Inbox(name, fingerprint, self._shape, settings)
        self._stage: Stage = (Phase.DONE, 0, 0)
        self._expected: frozenset[str] = frozenset()
        # Who let a deadline pass in this step; nobody waits for them again before the next.
        self._silent: frozenset[str] = frozenset()
        size, columns, parts = self._shape
        # Own data only; blocks that only neighbours know live in θ.
        self._own = Own(
            np.zeros(0, np.int64),
            Memory(np.zeros((0, size, size)), np.zeros((0, size, columns))),
            Blocks.empty(size, columns),
            np.zeros((0, parts)),
        )
        self._new = Observed(self._shape)

    # -- what the driver calls --------------------------------------------------------------------

    def observe(self, keys: Keys, H: Floats, r: Floats, evidence: Floats | None = None) -> None:
        """Take in statistics H (n, K, K) and r = H α − g (n, K, C) of new data, until next step.

        evidence: (n, P), how much data there is of each part of a block.
        """
        self._new.add(keys, H, r, evidence)

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Begin a time step: learn from what was observed (Algorithm 1), say the result."""
        if self.step is not None and step <= self.step:
            raise ValueError(f'step {step} cannot begin after step {self.step}')
        self.step = step
        self.weights, self.z = {}, 0.0
        self._learn()
        self._expected, self._silent = frozenset(neighbours) - {self.name}, frozenset()
        self._inbox.open(step, self._expected)
        self._stage = (Phase.LOCAL, 0, 0)
        return [self._params(self._own.model)]

    def receive(self, message: Message) -> str | None:
        """Take a message in; returns why it was refused, or None. Never raises on bad input."""
        return self._inbox.put(message)

    def unwanted(self, label: Label) -> str | None:
        """Return why a message would be refused for its sender, model or step, or None."""
        return self._inbox.unwanted(label)

    @property
    def ready(self) -> bool:
        """Whether everybody who is waited for has answered in the current round."""
        waited_for = self._expected - self._silent
        return not self.done and self._inbox.answered(self._stage, waited_for)

    @property
    def done(self) -> bool:
        """Whether the step is over (or none has begun)."""
        return self._stage[0] == Phase.DONE

    @property
    def phase(self) -> Phase:
        """The phase the agent is in."""
        return Phase(self._stage[0])

    def advance(self) -> list[Message]:
        """Close the current round with what was heard; returns what to say next."""
        if self.done:
            raise RuntimeError(f'{self.name}: no step is under way')
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
        """Leave the step under way and let steps be counted anew; what was learned stays."""
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
        return decode(self._own.codes), self._own.memory.A, self._own.memory.b

    @property
    def refused(self) -> Counter[str]:
        """How often messages were refused, by reason."""
        return self._inbox.refused

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that must be kept to go on later, as arrays."""
        keys, A, b = self.memory
        return {
            'keys': keys, 'A': A.copy(), 'b': b.copy(), 't': np.array(self._own.memory.t),
            'evidence': self._own.evidence.copy(), **self._refinement.state(),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` returned; call between steps."""
        size, columns, parts = self._shape
        n = len(state['keys'])
        shapes = {'A': (n, size, size), 'b': (n, size, columns), 'evidence': (n, parts)}
        for name, wanted in shapes.items():
            if state[name].shape != wanted:
                raise ValueError(f'saved {name} has shape {state[name].shape}, expected {wanted}')
        A, b, evidence = (Blocks.of(state['keys'], state[name].copy()) for name in shapes)
        local = local_solve(A.values, b.values, self.settings.lambda1_local)
        self._refinement.restore(state)
        self._own = Own(
            A.codes,
            Memory(A.values, b.values, int(state['t'])),
            Blocks(A.codes, local),
            evidence.values,
        )
        self._new = Observed(self._shape)

    # -- local learning (Algorithm 1) -------------------------------------------------------------

    def _learn(self) -> None:
        own, new, self._new = self._own, self._new, Observed(self._shape)
        codes = union(own.codes, new.H.codes)
        A, b, evidence = (
            Blocks(own.codes, v).on(codes) for v in (own.memory.A, own.memory.b, own.evidence)
        )
        at = places(codes, new.H.codes)
        memory = Memory(A, b, own.memory.t)
        memory = remember(memory, new.H.values, new.r.values, self.settings, at, evidence)
        add(evidence, new.evidence.values, *fading(memory.t, self.settings, evidence), at)
        # Sums change only where there is new data.
        changed = at if self.settings.accumulate == 'sum' else slice(None)
        theta = own.local.on(codes).copy()
        theta[changed] = local_solve(A[changed], b[changed], self.settings.lambda1_local)
        self._own = Own(codes, memory, Blocks(codes, theta), evidence)

    # -- collaborative relational inference (Algorithm 3) -----------------------------------------

    def _close_local(self) -> list[Message]:
        heard = self._inbox.params(self._stage, self._expected)
        self._heard = {robot: message.model for robot, message in heard.items()}
        absent = self._refinement.absent - frozenset(heard)
        self._relation = Relation(self.name, self._sides(), self._distance, self.settings, absent)
        return self._relate(self._relation.open())

    def _sides(self) -> dict[str, float]:
        """Return this side's distance to each neighbour heard."""
        if not self._heard:
            return {}
        own, peers = self._own, self._heard.values()
        codes = union(own.codes, *(peer.codes for peer in peers))
        d = self._distance.one_side(
            Blocks(own.codes, own.memory.A).on(codes),
            own.local.on(codes),
            np.stack([peer.theta.on(codes) for peer in peers]),
            Blocks(own.codes, own.evidence).on(codes),
            np.stack([peer.evidence.on(codes) for peer in peers]),
        )
        return dict(zip(self._heard, d.tolist(), strict=True))

    def _relate(self, say: list[Rows]) -> list[Message]:
        relation = self._relation
        messages: list[Message] = [self._dual(rows) for rows in say]
        self._stage, self._expected, self.z = relation.stage, relation.expected, relation.z
        return messages + self._start_update() if relation.finished else messages

    # -- lifelong model update (Algorithm 2) ------------------------------------------------------

    def _start_update(self) -> list[Message]:
        self.weights = self._relation.weights
        say = self._refinement.start(self._own, self._relation, self._heard)
        self._expected = self._refinement.partners
        return self._tell(say)

    def _close_update(self) -> list[Message]:
        heard = self._inbox.params(self._stage, self._expected)
        models = {robot: message.model for robot, message in heard.items()}
        return self._tell(self._refinement.close(models))

    def _tell(self, say: tuple[int, Model] | None) -> list[Message]:
        if say is None:
            self._stage, self._expected = (Phase.DONE, 0, 0), frozenset()
            return []
        number, model = say
        self._stage = (Phase.UPDATE, number, 0)
        return [self._params(model)]

    # -- messages ---------------------------------------------------------------------------------

    def _params(self, model: Model) -> Params:
        assert self.step is not None
        phase, number, _ = self._stage
        return Params(
            self.name, self.step, int(phase), number, self.fingerprint,
            decode(model.codes), model.theta.values, model.evidence.values,
        )

    def _dual(self, rows: Rows) -> Dual:
        assert self.step is not None
        phase, number, hop = rows.stage
        return Dual(
            self.name, self.step, int(phase), number, hop, self.fingerprint,
            rows.names, rows.values[:, 0], rows.values[:, 1],
        )
