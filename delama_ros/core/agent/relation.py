"""Collaborative relational inference (Algorithm 2) of one agent: rounds of dual rows.

It leads from this side's distances to the neighbours to the agent's own row of W. The settings
decide which phases occur: the distances of both sides are combined if they differ; then either each
agent solves its row at once and symmetrises it with the neighbours, or all agents find one z by
flooding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from delama_ros.core import graph
from delama_ros.core.agent.flood import Flood
from delama_ros.core.agent.inbox import Stage
from delama_ros.core.agent.known import Known, known_of, row_of
from delama_ros.core.agent.messages import LAST_HOP, Dual, Phase
from delama_ros.core.blocks import Floats
from delama_ros.core.distances import Distance
from delama_ros.core.settings import Settings


class Rows(NamedTuple):
    """What to send in a stage: rows (name, x, y)."""

    stage: Stage
    names: tuple[str, ...]
    values: Floats  # (len(names), 2)


class Relation:
    """Algorithm 2 for one agent and step: `open`, then `close` each round until `finished`."""

    def __init__(
        self,
        name: str,
        sides: Mapping[str, float],
        distance: Distance,
        settings: Settings,
        departed: Mapping[str, int] = MappingProxyType({}),
        epochs: Mapping[str, int] = MappingProxyType({}),
        unused: frozenset[str] = frozenset(),
    ) -> None:
        """Start from this side's distance to each neighbour received.

        departed: robots no longer received whose models are still used, with the epochs of these
        models; epochs: of this agent's model and of its neighbours'. Epochs are 0 by default.
        unused: neighbours that were received, and whose models are not wanted.
        """
        self.finished = False
        self.weights: dict[str, float] = {}  # own row of W
        self.z = 0.0
        self.known_by: dict[str, Known] = {}  # as far as neighbours reported it
        self.stage: Stage = (Phase.DISTANCE, 0, 0)
        self.expected = frozenset(sides)  # who has to answer in this stage
        self.name = name
        self._sides = sides
        self._distance = distance
        self._settings = settings
        self._departed = departed
        self._epochs = epochs
        self._unused = unused
        self._edges: list[str] = []
        self._d = np.zeros(0)  # distances of the edges, the null edge last
        self._flood = Flood(name, np.zeros((0, 2)))
        self._component: frozenset[str] = frozenset()
        self._lagging = False
        self._lowest = 0.0

    def open(self) -> list[Rows]:
        """Return what to send first."""
        if self._distance.two_sided and self._sides:
            return [self._to_neighbours(Phase.DISTANCE, self._sides)]
        return self._infer(self._sides)

    def close(self, received: Mapping[str, Dual]) -> list[Rows]:
        """Close the current round with what was received; returns what to send next."""
        if self.stage[0] == Phase.DISTANCE:
            theirs = self._about_me(received)
            return self._infer({
                robot: float(self._distance.combine(mine, theirs.get(robot, mine)))
                for robot, mine in self._sides.items()
            })
        if self.stage[0] == Phase.WEIGHT:
            theirs = self._about_me(received)
            self.known_by = {
                robot: known_of(row, self._epochs.get(robot, 0)) for robot, row in received.items()
            }
            theirs = {r: w for r, w in theirs.items() if self.name in self.known_by[r].used}
            # A row spends its budget at most: whatever a peer sends, the weight stays bounded.
            return self._finish({
                robot: (mine + min(self._budget, theirs.get(robot, mine))) / 2
                for robot, mine in self._own_row().items()
            })
        return self._close_hop(received)

    def _infer(self, d: Mapping[str, float]) -> list[Rows]:
        """Begin to find z. Floods go through all neighbours, even those without an edge."""
        self._edges = [robot for robot in sorted(d) if np.isfinite(d[robot])]
        self._d = np.array([d[robot] for robot in self._edges])
        if self._edges:
            self._d = graph.with_null_edge(self._d, self._all, self._settings.null_edge)[0]
        if self._settings.budget != 'global':
            self.z = float(graph.root(self._d, self._all, np.array(self._budget), self._settings))
            self.expected = frozenset(self._edges)
            # Sent even without edges: a peer that received this agent's model waits for it.
            send = [self._weights_to_neighbours()]
            return send if self._edges else send + self._finish({})
        if not self.expected:
            return self._finish({})
        none = [(0.0, 0.0)]
        if self._settings.newton:
            n = len(self._d)
            three = [(float(n), self._d.sum()), (self._d.min(), 0.0)] if n else none
            return self._open_flood(Phase.START, 0, three)
        return self._open_flood(Phase.FLOOD, 0, [(value, 1.0) for value in self._d] or none)

    # -- floods: one z for all agents of the component --------------------------------------------

    def _open_flood(self, phase: Phase, number: int, rows: list[tuple[float, float]]) -> list[Rows]:
        expected = self._component if phase == Phase.DUAL else None
        self._flood = Flood(self.name, np.array(rows, dtype=np.float64), expected)
        self.stage = (phase, number, 0)
        return [Rows(self.stage, *self._flood.gathered())]

    def _close_hop(self, received: Mapping[str, Dual]) -> list[Rows]:
        phase, number, _ = self.stage
        over = self._flood.close_hop(received.values())
        if not over and self._flood.hop < LAST_HOP:
            self.stage = (phase, number, self._flood.hop)
            return [Rows(self.stage, *self._flood.gathered())]
        if phase != Phase.DUAL:
            self._lagging = self._flood.lagging
        last = Rows((phase, number, LAST_HOP), *self._flood.gathered())
        then = {Phase.START: self._close_start, Phase.DUAL: self._close_dual}
        following = then.get(Phase(phase), self._close_exact)()
        return [last, *following] if self._lagging else following

    def _close_start(self) -> list[Rows]:
        self._component = self._flood.names
        n, total = np.sum([rows[0] for rows in self._flood.rows.values()], axis=0)
        least = [rows[1, 0] for rows in self._flood.rows.values() if len(rows) > 1]
        m = len(self._component)
        start = graph.safe_start(n, total, min(least, default=0.0), m, self._settings)
        self.z = self._lowest = float(start)
        return self._open_dual(0)

    def _open_dual(self, number: int) -> list[Rows]:
        w, slope = self._terms()
        return self._open_flood(Phase.DUAL, number, [(w.sum(), slope.sum())])

    def _close_dual(self) -> list[Rows]:
        x, y = np.sum([rows[0] for rows in self._flood.rows.values()], axis=0)
        # An agent that is not received is left out of the sum and of the budget. The root is never
        # below the start: holding z there changes nothing unless sums are lost, and then bounds the
        # weights.
        m = len(self._flood.rows)
        z = graph.newton_step(np.array(self.z), x, y, np.array(m), self._settings)
        self.z = max(self._lowest, float(z))
        number = self.stage[1] + 1
        if number < self._settings.dual_rounds:
            return self._open_dual(number)
        return self._finish(self._own_row())

    def _close_exact(self) -> list[Rows]:
        rows = self._flood.gathered()[1]
        m = np.array(float(len(self._flood.names)))
        self.z = float(graph.root(rows[:, 0], rows[:, 1] > 0, m, self._settings))
        return self._finish(self._own_row())

    # -- the own row -------------------------------------------------------------------------------

    @property
    def known(self) -> Known:
        """Whose models enter this agent's, as it reports it."""
        used = {robot: self._epochs.get(robot, 0) for robot in [*self._edges, self.name]}
        return Known(used, self._departed, self._refused)

    @property
    def _refused(self) -> frozenset[str]:
        """Neighbours that were received and that have no edge."""
        return (self._unused | frozenset(self._sides)) - frozenset(self._edges)

    @property
    def _budget(self) -> float:
        """Sum of this agent's row."""
        return float(len(self._edges)) if self._settings.budget == 'edge' else 1.0

    @property
    def _all(self) -> Floats:
        return np.ones(len(self._d), dtype=bool)

    def _terms(self) -> tuple[Floats, Floats]:
        """Return h and h′ of this agent's edges, the null edge last."""
        return graph.edge_weights(self._d, self._all, np.array(self.z), self._settings)

    def _own_row(self) -> dict[str, float]:
        """Return w of the own row, without the null edge."""
        return dict(zip(self._edges, self._terms()[0].tolist(), strict=False))

    def _to_neighbours(self, phase: Phase, numbers: Mapping[str, float]) -> Rows:
        self.stage = (phase, 0, 0)
        values = [(number, 0.0) for number in numbers.values()]
        return Rows(self.stage, tuple(numbers), np.array(values).reshape(-1, 2))

    def _weights_to_neighbours(self) -> Rows:
        """Return this agent's row with what it knows of other robots."""
        edges = self._to_neighbours(Phase.WEIGHT, self._own_row())
        names, values = row_of(self.known, dict(zip(edges.names, edges.values[:, 0], strict=True)))
        return Rows(edges.stage, names, values)

    def _about_me(self, received: Mapping[str, Dual]) -> dict[str, float]:
        """Return the numbers neighbours sent for their edge to this agent."""
        return {
            robot: float(message.x[message.names.index(self.name)])
            for robot, message in received.items()
            if self.name in message.names
        }

    def _finish(self, weights: dict[str, float]) -> list[Rows]:
        self.weights = {robot: w for robot, w in weights.items() if w > 0}
        self.finished = True
        return []
