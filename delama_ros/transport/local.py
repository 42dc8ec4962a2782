"""In-process transport: carries agents' messages over a graph, with seeded loss, delay and range.

Time is counted in ticks. Each robot in reach is sent a copy of a message, which is lost with some
probability or arrives a few ticks later; a round that waits longer than the deadline is closed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Message, Phase
from delama_ros.transport.port import Encoding, Port, Wire
from delama_ros.transport.size import wire_bytes

# Which robots each robot reaches, by name; robots that do not exist (any more) are ignored.
Links = Mapping[str, Iterable[str]]


@dataclass
class Traffic:
    """Traffic of one step."""

    ticks: int = 0
    messages: Counter[Phase] = field(default_factory=Counter)  # sent, by phase
    bytes: Counter[str] = field(default_factory=Counter)  # sent, by robot
    lost: int = 0  # copies that did not
    refused: int = 0  # copies that the receiver refused


class LocalTransport:
    """Runs the steps of several agents in one process; the same seed gives the same run."""

    def __init__(
        self,
        agents: Iterable[Agent],
        *,
        seed: int = 0,
        loss: float = 0.0,
        delay: int = 0,
        deadline: int = 10,
        encoding: Encoding = Encoding.FLOAT64,
        sealed: bool = False,
    ) -> None:
        """Create a transport.

        Args:
            agents: that take part from the start.
            seed: of loss and delay.
            loss: probability that a copy of a message is lost.
            delay: most ticks that a copy takes beyond the first, uniform from 0.
            deadline: ticks after which a round is closed.
            encoding: of models.
            sealed: count the bytes of a seal; nobody in a process needs one.

        Raises:
            ValueError: if loss is not a probability or the deadline does not exceed the delay.
        """
        if not 0 <= loss <= 1:
            raise ValueError(f'loss is {loss}, expected a probability')
        if delay < 0 or deadline <= delay:
            raise ValueError(
                f'delay is {delay} and deadline {deadline}, expected 0 <= delay < deadline'
            )
        self.agents = {agent.name: agent for agent in agents}
        self._ports = {name: Port(name, encoding) for name in self.agents}
        self._random = np.random.default_rng(seed)
        self._loss = loss
        self._delay = delay
        self._deadline = deadline
        self._encoding, self._sealed = encoding, sealed
        self._tick = 0
        self._air: list[tuple[int, str, Wire]] = []  # (tick of arrival, receiver, message)

    def add(self, agent: Agent) -> None:
        """Add an agent."""
        if agent.name in self.agents:
            raise ValueError(f'a robot named {agent.name!r} is already taking part')
        self.agents[agent.name] = agent
        self._ports[agent.name] = Port(agent.name, self._encoding)

    def remove(self, name: str) -> Agent:
        """Remove an agent, as if its robot had died."""
        del self._ports[name]
        return self.agents.pop(name)

    def run_step(self, step: int, links: Links) -> Traffic:
        """Run one time step of all agents to its end; links: the robots that each robot reaches."""
        reach = {name: sorted(set(links.get(name, ())) - {name}) for name in self.agents}
        traffic = Traffic()
        first = self._tick
        waiting: dict[str, int] = {}
        for name, agent in self.agents.items():
            self._ports[name].meet(step, frozenset(reach[name]))
            self._send(name, agent.begin(step, reach[name]), reach, traffic)
            waiting[name] = self._tick
        while not all(agent.done for agent in self.agents.values()):
            self._deliver(traffic)
            # All agents act on what has arrived by now, before anything new is sent.
            for name, agent in self.agents.items():
                while not agent.done and (
                    agent.ready or self._tick - waiting[name] >= self._deadline
                ):
                    self._send(name, agent.advance(), reach, traffic)
                    waiting[name] = self._tick
            self._tick += 1
        traffic.ticks = self._tick - first
        return traffic

    def _send(
        self, name: str, messages: list[Message], reach: Mapping[str, list[str]], traffic: Traffic
    ) -> None:
        for message in messages:
            phase = Phase(message.phase)
            traffic.messages[phase] += 1
            wire = self._ports[name].pack(message)
            traffic.bytes[name] += wire_bytes(wire, sealed=self._sealed)
            for receiver in reach[name]:
                lost = self._random.random() < self._loss
                wait = 1 + int(self._random.integers(0, self._delay + 1))
                if lost:
                    traffic.lost += 1
                else:
                    self._air.append((self._tick + wait, receiver, wire))

    def _deliver(self, traffic: Traffic) -> None:
        due = [copy for copy in self._air if copy[0] <= self._tick]
        self._air = [copy for copy in self._air if copy[0] > self._tick]
        for _, receiver, wire in due:
            if receiver in self.agents:
                refused = self._ports[receiver].deliver(wire, self.agents[receiver])
                traffic.refused += refused is not None


def in_range(positions: Mapping[str, tuple[float, float]], radius: float) -> dict[str, list[str]]:
    """Return links between robots at most radius metres apart."""
    return {
        a: [b for b in positions if b != a and math.dist(positions[a], positions[b]) <= radius]
        for a in positions
    }


def partition(links: Links, groups: Iterable[Iterable[str]]) -> dict[str, list[str]]:
    """Return the links that remain when only robots of the same group reach each other."""
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    return {
        a: [b for b in peers if a in group_of and group_of.get(b) == group_of[a]]
        for a, peers in links.items()
    }
