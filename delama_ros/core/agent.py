"""One robot's side of DeLAMA (Algorithms 1-4) as a state machine without clock, threads or sockets.

A driver sends what `begin` and `advance` return and hands in what it hears:

    send(agent.begin(step, neighbours))
    while not agent.done:
        on a message:        agent.receive(message)
        whenever ready:      send(agent.advance())
        at a deadline:       send(agent.advance())   # closes the round with whoever is missing

For a missing θ the last one heard in this step is used; a neighbour not heard in this step is left
out of it. Where a distance or weight is joined from both sides and the other's is missing, the own
stands for both. Who is missing in a flood is left out of its sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from delama_ros.core import update
from delama_ros.core.backend import factor, solve
from delama_ros.core.blocks import Blocks, Codes, Floats, Keys, among, decode, places, union
from delama_ros.core.distances import Distance, by_name
from delama_ros.core.inbox import Inbox, Label, Stage
from delama_ros.core.memory import Memory, local_solve, remember
from delama_ros.core.messages import Dual, Message, Params, Phase
from delama_ros.core.observed import Observed
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
        shape: tuple[int, int] = (32, 1),
        distance: Distance | None = None,
    ) -> None:
        """Create an agent; shape is (K, C) of a block, distance by default from the settings."""
        self.name = name
        self.settings = settings
        self.step: int | None = None
        self.weights: dict[str, float] = {}
        self.z = 0.0
        self.complete_rounds = 0
        self.incomplete_rounds = 0
        self.missed: Counter[str] = Counter()
        self.fingerprint = fingerprint
        self._shape = shape
        self._distance = by_name(settings.distance) if distance is None else distance
        self._inbox = Inbox(name, fingerprint, shape, settings)
        self._stage: Stage = (Phase.DONE, 0, 0)
        self._expected: frozenset[str] = frozenset()
        # Who let a deadline pass in this step; nobody waits for them again before the next.
        self._silent: frozenset[str] = frozenset()
        size, columns = shape
        # Own data only; blocks that only neighbours know live in θ.
        self._codes: Codes = np.zeros(0, np.int64)
        self._memory = Memory(np.zeros((0, size, size)), np.zeros((0, size, columns)))
        self._new = Observed(shape)
        self._local = Blocks.empty(*shape)
        self._theta = Blocks.empty(*shape)
        # How far collaboration moved θ in the last step that was finished.
        self._carry = Blocks.empty(*shape)

    # -- what the driver calls --------------------------------------------------------------------

    def observe(self, keys: Keys, H: Floats, r: Floats) -> None:
        """Take in statistics H (n, K, K) and r = H α − g (n, K, C) of new data, until next step."""
        self._new.add(keys, H, r)

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Begin a time step: learn from what was observed (Algorithm 1), say the result."""
        if self.step is not None and step <= self.step:
            raise ValueError(f'step {step} cannot begin after step {self.step}')
        self.step = step
        self.weights, self.z = {}, 0.0
        self._learn()
        self._expected, self._silent = frozenset(neighbours) - {self.name}, frozenset()
        self._inbox.open(step, self._expected)
        self._heard: dict[str, Blocks] = {}
        self._stage = (Phase.LOCAL, 0, 0)
        return [self._params(self._local)]

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
        late = [robot for robot in self._expected if not self._inbox.answered(self._stage, [robot])]
        self.missed.update(late)
        self._silent |= frozenset(late)
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
        return decode(self._theta.codes), self._theta.values

    @property
    def memory(self) -> tuple[Keys, Floats, Floats]:
        """The learning memory: keys (n, 2), A (n, K, K) and b (n, K, C); steps change A and b."""
        return decode(self._codes), self._memory.A, self._memory.b

    @property
    def refused(self) -> Counter[str]:
        """How often messages were refused, by reason."""
        return self._inbox.refused

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that must be kept to go on later, as arrays."""
        keys, A, b = self.memory
        return {
            'keys': keys, 'A': A.copy(), 'b': b.copy(), 't': np.array(self._memory.t),
            'theta_keys': self.theta[0], 'theta': self.theta[1],
            'carry_keys': decode(self._carry.codes), 'carry': self._carry.values,
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` returned; call between steps."""
        size, columns = self._shape
        n = len(state['keys'])
        if state['A'].shape != (n, size, size) or state['b'].shape != (n, size, columns):
            raise ValueError(
                f'saved A and b have shapes {state["A"].shape} and {state["b"].shape}, '
                f'expected {(n, size, size)} and {(n, size, columns)}'
            )
        theta = Blocks.of(state['theta_keys'], state['theta'])
        carry = Blocks.of(state['carry_keys'], state['carry'])
        A, b = (Blocks.of(state['keys'], state[name].copy()) for name in 'Ab')
        self._codes, self._memory = A.codes, Memory(A.values, b.values, int(state['t']))
        self._local = Blocks(A.codes, local_solve(A.values, b.values, self.settings.lambda1_local))
        self._theta, self._carry, self._new = theta, carry, Observed(self._shape)

    # -- local learning (Algorithm 1) -------------------------------------------------------------

    def _learn(self) -> None:
        H, r, self._new = self._new.H, self._new.r, Observed(self._shape)
        codes = union(self._codes, H.codes)
        A, b = (Blocks(self._codes, v).on(codes) for v in (self._memory.A, self._memory.b))
        at = places(codes, H.codes)
        memory = Memory(A, b, self._memory.t)
        self._memory = remember(memory, H.values, r.values, self.settings, at)
        # Sums change only where there is new data.
        changed = at if self.settings.accumulate == 'sum' else slice(None)
        theta = self._local.on(codes).copy()
        theta[changed] = local_solve(A[changed], b[changed], self.settings.lambda1_local)
        self._codes, self._local = codes, Blocks(codes, theta)

    # -- collaborative relational inference (Algorithm 3) -----------------------------------------

    def _close_local(self) -> list[Message]:
        heard = self._inbox.params(self._stage, self._expected)
        self._heard = {robot: message.blocks for robot, message in heard.items()}
        self._relation = Relation(self.name, self._sides(), self._distance, self.settings)
        return self._relate(self._relation.open())

    def _sides(self) -> dict[str, float]:
        """Return this side's distance to each neighbour heard."""
        if not self._heard:
            return {}
        peers = self._heard.values()
        codes = union(self._codes, *(peer.codes for peer in peers))
        d = self._distance.one_side(
            Blocks(self._codes, self._memory.A).on(codes),
            self._local.on(codes),
            np.stack([peer.on(codes) for peer in peers]),
            among(codes, self._codes),
            np.stack([among(codes, peer.codes) for peer in peers]),
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
        self._expected = frozenset(self.weights)
        self._degree = np.array(sum(self.weights.values()), dtype=np.float64)
        self._ridge = update.ridge(self._degree, self.settings)
        self._factor = factor(self._memory.A, self._ridge)
        self._theta = self._before = self._local
        if self.settings.warm_start:
            codes = union(self._local.codes, self._carry.codes)
            start = Blocks(codes, self._local.on(codes) + self._carry.on(codes))
            self._theta = self._before = start
            if self.weights:
                self._stage = (Phase.UPDATE, 0, 0)
                return [self._params(start)]
        # Otherwise the rounds begin with the local solutions, which were exchanged already.
        return self._next_round(1)

    def _close_update(self) -> list[Message]:
        heard = self._inbox.params(self._stage, self._expected)
        self._heard |= {robot: message.blocks for robot, message in heard.items()}
        return self._next_round(self._stage[1] + 1)

    def _next_round(self, number: int) -> list[Message]:
        self._jacobi_round(number)
        if number < self.settings.update_rounds and self.weights:
            self._stage = (Phase.UPDATE, number, 0)
            return [self._params(self._theta)]
        self._stage = (Phase.DONE, 0, 0)
        self._expected = frozenset()
        codes = self._theta.codes
        self._carry = Blocks(codes, self._theta.values - self._local.on(codes))
        return []

    def _jacobi_round(self, number: int) -> None:
        """Solve for the own θ given the neighbours'; a block without own data has B = ridge · I."""
        peers = {robot: self._heard[robot] for robot in self.weights}
        codes = union(self._theta.codes, self._codes, *(peer.codes for peer in peers.values()))
        right = Blocks(self._codes, self._memory.b).on(codes).copy()
        for robot, peer in peers.items():
            right += 4 * self.settings.lambda2 * self.weights[robot] * peer.on(codes)
        own = places(codes, self._codes)
        solved = right / self._ridge
        solved[own] = solve(self._factor, right[own])
        before = self._before.on(codes)
        theta = update.accelerate(solved, before, self._degree, number - 1, self.settings)
        self._before, self._theta = self._theta, Blocks(codes, theta)

    # -- messages ---------------------------------------------------------------------------------

    def _params(self, theta: Blocks) -> Params:
        assert self.step is not None
        phase, number, _ = self._stage
        return Params(
            self.name, self.step, int(phase), number, self.fingerprint,
            decode(theta.codes), theta.values,
        )

    def _dual(self, rows: Rows) -> Dual:
        assert self.step is not None
        phase, number, hop = rows.stage
        return Dual(
            self.name, self.step, int(phase), number, hop, self.fingerprint,
            rows.names, rows.values[:, 0], rows.values[:, 1],
        )
