"""Drives one robot in time: steps cut by the clock, rounds with deadlines, peers that come and go.

No ROS, no threads: whoever owns a Driver hands in scans and messages and looks at `wakes_at`.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy.typing as npt

from delama_ros.mapping.evidence import Scan
from delama_ros.mapping.mapper import Mapper
from delama_ros.transport.port import Port, Wire
from delama_sim.grid import Pose

# Refusals of robots that are sound but not in step with us: they will be neighbours next time.
OUT_OF_STEP = ('unknown robot', 'past step', 'future step')
# Without scans a step begins this share of a period late: nobody waits for a blind robot longer.
GRACE = 0.25


@dataclass
class Report:
    """What one step was like."""

    step: int
    weights: dict[str, float]  # neighbour → share in the collaboration graph
    neighbours: int  # that were expected
    complete: int  # rounds in which all answered
    incomplete: int  # rounds closed by the deadline
    seconds: float  # of wall time from its beginning to its end
    exchanging: float  # of these, s from the first word said to the last one heard
    computing: float  # of these, s of this thread's processor time


@dataclass
class Counts:
    """What has happened since the start."""

    scans: int = 0
    steps: int = 0
    skipped_steps: int = 0
    clock_jumps: int = 0
    heard: Counter[str] = field(default_factory=Counter)  # messages, by sender
    refused: Counter[str] = field(default_factory=Counter)  # messages, by reason


class Driver:
    """One robot's mapper, its clock and its neighbours."""

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
        """Create; period in s of the common clock, deadline in s of `wall`, 0 steps: no end."""
        self.mapper = mapper
        self._port = port
        self._scans: list[tuple[Scan, Pose, npt.ArrayLike | None]] = []  # not learned from yet
        # Who can be heard since when, if somebody knows; otherwise whoever was heard.
        self._links: deque[tuple[float, set[str]]] = deque(maxlen=100)
        self.counts = Counts()
        self._period = period
        self._deadline = deadline
        self._limit = steps
        self._send = send
        self._finished = finished
        self._wall = wall
        self._step = 0
        self._neighbours: set[str] = set()
        self._present: set[str] = set()  # robots with our model that have ever been heard
        self._silent: set[str] = set()  # let a deadline pass, and not heard since
        self._began = self._spoke = self._heard = self._computed = 0.0
        self._rounds = (0, 0)
        self._wakes_at: float | None = None

    @property
    def step(self) -> int:
        """The step in progress, or the last one done; 0 before the first."""
        return self._step

    @property
    def wakes_at(self) -> float | None:
        """Wall time at which `wake` must be called if nothing else happens; None: never."""
        return self._wakes_at

    def add_scan(
        self, stamp: float, scan: Scan, pose: Pose, peers: npt.ArrayLike | None = None
    ) -> None:
        """Take a scan; one beyond the end of a step begins it, as no earlier one can follow.

        Step t takes the scans with stamps up to t · period. One that comes late goes to the next.
        """
        if self._over:
            return
        self._begin(int(stamp / self._period - 1e-9))
        self._scans.append((scan, pose, peers))
        self.counts.scans += 1

    def learn(self) -> None:
        """Learn from the scans taken, unless a step is under way: neighbours would have to wait."""
        if self._scans and self._wakes_at is None:
            for scan, pose, peers in self._scans:
                self.mapper.add_scan(scan, pose, peers)
            self._scans.clear()
            self.mapper.learn()

    def set_links(self, stamp: float, names: set[str]) -> None:
        """Let these neighbours be in reach from `stamp` on; steps use what held at their end."""
        self._links.append((stamp, names))

    def tick(self, now: float) -> None:
        """Let the common clock be `now`: a step begins even if no scans come."""
        due = int(now / self._period - GRACE)
        if due < self._step - 1:  # the clock has jumped back
            self.counts.clock_jumps += 1
            self.restart()
        self._begin(due)

    def add_message(self, wire: Wire) -> str | None:
        """Take a neighbour's message; returns why it was refused, if it was."""
        agent = self.mapper.agent
        refusal = agent.unwanted(wire)  # before it is unpacked, so that it changes nothing
        if refusal is None:
            try:
                refusal = agent.receive(self._port.unpack(wire))
            except ValueError as error:
                refusal = str(error)
        reason = refusal.partition(':')[0] if refusal else ''
        if not refusal or reason in OUT_OF_STEP:
            self._present.add(wire.robot)
            self._silent.discard(wire.robot)
        if refusal:
            self.counts.refused[reason] += 1
            return refusal
        self.counts.heard[wire.robot] += 1
        self._go_on()
        return None

    def wake(self) -> None:
        """Close the round if its deadline has passed."""
        if self._wakes_at is not None and self._wall() >= self._wakes_at:
            self._advance()
            self._go_on()

    def restart(self) -> None:
        """Begin counting steps anew, as after a jump of the clock; what was learned stays."""
        self._wakes_at = None
        self._step = 0
        self._neighbours = set()
        self._port = self._port.fresh()
        self.mapper.agent.rewind()

    def forget(self, mapper: Mapper) -> None:
        """Go on with this mapper, which knows nothing yet."""
        self.mapper = mapper
        self._scans.clear()
        self.restart()

    @property
    def _over(self) -> bool:
        """Whether all steps that were asked for have begun."""
        return bool(self._limit) and self.counts.steps >= self._limit

    def _begin(self, due: int) -> None:
        if due <= self._step or self._over:
            return
        if self._wakes_at is not None:  # the last step did not end in time
            while self._wakes_at is not None:
                self._advance()
        self.counts.skipped_steps += due - self._step - 1 if self._step else 0
        self.learn()
        self._step = due
        self.counts.steps += 1
        # Who let a deadline pass is not waited for again before it is heard again.
        self._neighbours = self._in_reach(due * self._period) - self._silent
        agent = self.mapper.agent
        self._rounds = (agent.complete_rounds, agent.incomplete_rounds)
        self._began, self._computed = self._wall(), time.thread_time()
        self._wakes_at = self._began + self._deadline
        self._port.meet(frozenset(self._neighbours))
        first = [self._port.pack(message) for message in self.mapper.begin(due, self._neighbours)]
        self._spoke = self._wall()
        for wire in first:
            self._send(wire)
        self._go_on()

    def _in_reach(self, time: float) -> set[str]:
        if not self._links:
            return self._present
        held = [names for stamp, names in self._links if stamp <= time + 1e-6]
        return (held or [self._links[0][1]])[-1]

    def _go_on(self) -> None:
        while self._wakes_at is not None and self.mapper.agent.ready:
            self._advance()

    def _advance(self) -> None:
        agent = self.mapper.agent
        self._heard = self._wall()
        messages = agent.advance()
        self._silent |= agent.late
        self._wakes_at = self._wall() + self._deadline
        for message in messages:
            self._send(self._port.pack(message))
        if agent.done:
            self._finish()

    def _finish(self) -> None:
        self._wakes_at = None
        agent = self.mapper.agent
        complete, incomplete = self._rounds
        self._finished(
            Report(
                step=self._step,
                weights=dict(agent.weights),
                neighbours=len(self._neighbours),
                complete=agent.complete_rounds - complete,
                incomplete=agent.incomplete_rounds - incomplete,
                seconds=self._wall() - self._began,
                exchanging=self._heard - self._spoke,
                computing=time.thread_time() - self._computed,
            )
        )
