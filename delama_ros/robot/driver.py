"""Runs one robot's time steps: cut by the clock, with a deadline per round and changing peers.

No ROS and no threads: the owner passes edits of the map and messages in and watches `wakes_at`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from delama_ros.core.agent.messages import Label
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.mapping.mapper import Mapper
from delama_ros.robot.links import LinkHistory
from delama_ros.robot.patience import Patience
from delama_ros.transport.port import Port, Wire

# Without scans a step begins this share of a period late, so that peers need not wait for longer.
GRACE = 0.25
# Each further round of a step waits this share of a deadline longer: a neighbour that waits in vain
# for somebody else answers a full deadline late, and must not be taken for silent because of it.
SLACK = 0.25
# A peer that must show first that it answers is waited for this share of a deadline.
SHORT = 0.25


@dataclass
class Report:
    """Summary of one step."""

    step: int
    weights: dict[str, float]  # neighbour → share in the collaboration graph
    neighbours: frozenset[str]  # whose answers were expected
    complete: int  # rounds in which every neighbour answered
    incomplete: int  # rounds closed by the deadline
    seconds: float  # wall time of the step
    exchanging: float  # s of it from the first message sent to the last one received
    computing: float  # s of it spent by this thread on the processor


@dataclass
class Counts:
    """Totals since the start."""

    scans: int = 0
    steps: int = 0
    skipped_steps: int = 0
    clock_jumps: int = 0
    received: Counter[str] = field(default_factory=Counter)  # messages, by sender
    refused: Counter[Refusal] = field(default_factory=Counter)  # messages, by reason


class Driver:
    """Steps of one robot's mapper with its neighbours."""

    def __init__(
        self,
        mapper: Mapper,
        port: Port,
        *,
        period: float,
        deadline: float,
        steps: int = 0,
        send: Callable[[Wire], None],
        finished: Callable[[Report], None],
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a driver.

        Args:
            mapper: what the robot learns.
            port: encodes and decodes the robot's messages.
            period: s of the common clock between steps.
            deadline: s of `wall` that the first round of a step waits for neighbours; each
                further round waits a quarter of it longer than the one before.
            steps: number of steps to take, 0 for no limit.
            send: sends a message to all peers.
            finished: called at the end of every step.
            wall: clock of deadlines, in s.
        """
        self.mapper = mapper
        self._port = port
        self._edits: list[Callable[[Mapper], None]] = []  # not applied to the map yet
        self.links = LinkHistory()  # without any, every peer received is a neighbour
        self.counts = Counts()
        self._period = period
        self._deadline = deadline
        self._limit = steps
        self._send = send
        self._finished = finished
        self._wall = wall
        self._step = 0
        self._neighbours: frozenset[str] = frozenset()
        self._present: set[str] = set()  # peers with the same model received at any time
        self._patience = Patience()
        self.trusted: frozenset[str] = frozenset()  # peers that answer and whose models are used
        self._missed: dict[str, int] = {}  # rounds missed by each neighbour before the step
        self._began = self._sent = self._received = self._computed = 0.0
        self._rounds = (0, 0)
        self._waits = self._round_began = 0.0  # s, of the current round
        self._unhurried: frozenset[str] = frozenset()  # neighbours that are waited for briefly
        self._wakes_at: float | None = None

    @property
    def step(self) -> int:
        """The step in progress, or the last one completed; 0 before the first."""
        return self._step

    @property
    def wakes_at(self) -> float | None:
        """Wall time at which `wake` must be called if nothing else happens; None: never."""
        return self._wakes_at

    @property
    def silent(self) -> frozenset[str]:
        """Peers that missed a deadline and have not been received since."""
        return frozenset(self._patience.silent)

    def in_range(self, sender: str, step: int) -> bool:
        """Tell whether messages of a sender in a step reach this robot at all."""
        links = self.links.at(step * self._period)
        return links is None or sender in links

    def advance(self, stamp: float) -> None:
        """Begin the steps that end before a scan of this stamp (s), as no earlier scan follows.

        Step t uses the scans with stamps up to t · period; a late scan goes to the next step.
        """
        self._begin(int(stamp / self._period - 1e-9))

    def add_edits(self, edits: Iterable[Callable[[Mapper], None]]) -> None:
        """Add what a scan changes in the map; applied between steps, in order."""
        if not self._over:
            self._edits.extend(edits)
            self.counts.scans += 1

    def learn(self) -> None:
        """Apply pending edits, unless a step is in progress and neighbours are waiting."""
        if self._edits and self._wakes_at is None:
            for edit in self._edits:
                edit(self.mapper)
            self._edits.clear()
            self.mapper.learn()

    @property
    def idle(self) -> bool:
        """Whether no step is in progress and nothing waits to be applied to the map."""
        return self._wakes_at is None and not self._edits

    def tick(self, now: float) -> None:
        """Advance the common clock to `now` s, which begins a step even without scans."""
        due = int(now / self._period - GRACE)
        if due < self._step - 1:  # the clock jumped back
            self.counts.clock_jumps += 1
            self.restart()
        self._begin(due)

    def add_message(self, wire: Wire) -> Refused | None:
        """Take a peer's message; returns why it was refused, None if it was accepted."""
        refused = self._port.deliver(wire, self.mapper.agent)
        if refused is not None:
            self.refuse(wire.robot, refused)
            return refused
        self._hear(wire.robot)
        self.counts.received[wire.robot] += 1
        self._continue()
        return None

    def unwanted(self, label: Label) -> Refused | None:
        """Return why a message of this label would be refused, or None: sender, model or step."""
        return self.mapper.agent.unwanted(label)

    def refuse(self, robot: str, refused: Refused) -> None:
        """Take note of a message that is refused."""
        self.counts.refused[refused.reason] += 1
        if refused.reason.out_of_step:  # its sender may be a neighbour in the next step
            self._hear(robot)

    def forget(self, robot: str) -> None:
        """Drop what is known of a peer, as if it had never been received; models stay."""
        self._present.discard(robot)
        self._patience.forget(robot)
        self._port.forget(robot)
        self.counts.received.pop(robot, None)
        self.mapper.agent.missed.pop(robot, None)

    def _hear(self, robot: str) -> None:
        self._present.add(robot)
        self._patience.hear(robot)

    def wake(self) -> None:
        """Close the round if its deadline has passed."""
        if self._wakes_at is not None and self._wall() >= self._wakes_at:
            self._close_round()
            self._continue()

    def restart(self) -> None:
        """Restart step counting, as after a jump of the clock; what was learned is kept."""
        self._wakes_at = None
        self._step = 0
        self._neighbours = frozenset()
        self._port = self._port.fresh()
        self.mapper.agent.rewind()

    def replace_mapper(self, mapper: Mapper) -> None:
        """Continue with another mapper and drop pending edits."""
        self.mapper = mapper
        self._edits.clear()
        self.restart()

    @property
    def _over(self) -> bool:
        """Whether the last of a limited number of steps has begun."""
        return bool(self._limit) and self.counts.steps >= self._limit

    def _begin(self, due: int) -> None:
        if due <= self._step or self._over:
            return
        if self._wakes_at is not None:  # the last step did not end in time
            while self._wakes_at is not None:
                self._close_round()
        self.counts.skipped_steps += due - self._step - 1 if self._step else 0
        self.learn()
        self._step = due
        self.counts.steps += 1
        # A peer that missed a deadline is not waited for until it is received again.
        in_range = self.links.at(due * self._period)
        self._neighbours = frozenset(
            (self._present if in_range is None else in_range) - self._patience.silent
        )
        agent = self.mapper.agent
        self._rounds = (agent.complete_rounds, agent.incomplete_rounds)
        self._began, self._computed = self._wall(), time.thread_time()
        self._waits = self._deadline
        self._round_began = self._began
        self._wakes_at = self._began + self._waits
        self._port.meet(due, self._neighbours)
        self._missed = {name: agent.missed[name] for name in self._neighbours}
        self._unhurried = self._patience.unhurried(self._neighbours)
        self.mapper.prepare()
        begun = agent.begin(due, self._neighbours)
        first = [self._port.pack(message) for message in begun]
        self._sent = self._wall()
        for wire in first:
            self._send(wire)
        self._continue()

    def _continue(self) -> None:
        agent = self.mapper.agent
        while self._wakes_at is not None and agent.ready:
            self._close_round()
        if self._wakes_at is not None and self._unhurried and agent.missing <= self._unhurried:
            self._wakes_at = min(self._wakes_at, self._round_began + SHORT * self._deadline)

    def _close_round(self) -> None:
        agent = self.mapper.agent
        self._received = self._wall()
        messages = agent.advance()
        if agent.late:
            self._patience.miss(agent.late - self._unhurried, agent.late & self._unhurried)
            # One deadline has passed: only those who always answer are worth another one.
            self._unhurried = self._neighbours - self._patience.reliable(self._neighbours)
        self._waits += SLACK * self._deadline
        self._round_began = self._wall()
        self._wakes_at = self._round_began + self._waits
        for message in messages:
            self._send(self._port.pack(message))
        if agent.done:
            self._finish()

    def _finish(self) -> None:
        self._wakes_at = None
        agent = self.mapper.agent
        self._patience.complete(
            name for name, missed in self._missed.items() if agent.missed[name] == missed
        )
        self.trusted = self._patience.reliable(agent.weights)
        self._port.trust(self.trusted)
        complete, incomplete = self._rounds
        self._finished(
            Report(
                step=self._step,
                weights=dict(agent.weights),
                neighbours=self._neighbours,
                complete=agent.complete_rounds - complete,
                incomplete=agent.incomplete_rounds - incomplete,
                seconds=self._wall() - self._began,
                exchanging=self._received - self._sent,
                computing=time.thread_time() - self._computed,
            )
        )
