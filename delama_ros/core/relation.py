"""Collaborative relational inference (Algorithm 3) as one agent lives it: rounds of dual rows.

From this side's distances to the neighbours to the agent's own row of W. Which phases occur is in
the settings: both sides' distances are joined if they differ; then either the row is solved at once
and symmetrised with the neighbours, or all agents find one z through floods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from delama_ros.core import graph
from delama_ros.core.blocks import Floats
from delama_ros.core.distances import Distance
from delama_ros.core.flood import Flood
from delama_ros.core.inbox import Stage
from delama_ros.core.messages import LAST_HOP, Dual, Phase
from delama_ros.core.settings import Settings


class Rows(NamedTuple):
    """What to say in a stage: rows (name, x, y)."""

    stage: Stage
    names: tuple[str, ...]
    values: Floats  # (len(names), 2)


class Relation:
    """Algorithm 3 for one agent and step: `open`, then `close` each round until `finished`."""

    def __init__(
        self,
        name: str,
        sides: Mapping[str, float],
        distance: Distance,
        settings: Settings,
        absent: frozenset[str] = frozenset(),
    ) -> None:
        """Start from this side's distance to each neighbour heard.

        absent: robots not heard whose models are still in use; named with weight 0 and y = 1.
        """
        self.finished = False
        self.weights: dict[str, float] = {}  # own row of W
        self.z = 0.0
        # Whose models each neighbour uses, itself included, as far as it said.
        self.circles: dict[str, frozenset[str]] = {}
        self.deaf: frozenset[str] = frozenset()  # neighbours that do not hear this agent
        self.stage: Stage = (Phase.DISTANCE, 0, 0)
        self.expected = frozenset(sides)  # who has to answer in this stage
        self._name = name
        self._sides = sides
        self._distance = distance
        self._settings = settings
        self._absent = absent
        self._edges: list[str] = []
        self._d = np.zeros(0)  # distances of the edges, the null edge last
        self._flood = Flood(name, np.zeros((0, 2)))
        self._component: frozenset[str] = frozenset()
        self._lagging = False
        self._lowest = 0.0

    def open(self) -> list[Rows]:
        """Return what to say first."""
        if self._distance.two_sided and self._sides:
            return [self._to_neighbours(Phase.DISTANCE, self._sides)]
        return self._infer(self._sides)

    def close(self, heard: Mapping[str, Dual]) -> list[Rows]:
        """Close the current round with what was heard; returns what to say next."""
        if self.stage[0] == Phase.DISTANCE:
            theirs = self._said_of_me(heard)
            return self._infer({
                robot: float(self._distance.combine(mine, theirs.get(robot, mine)))
                for robot, mine in self._sides.items()
            })
        if self.stage[0] == Phase.WEIGHT:
            theirs = self._said_of_me(heard)
            self.circles = {r: frozenset(m.names) | {r} for r, m in heard.items()}
            self.deaf = frozenset(r for r, m in heard.items() if self._name not in _hears(m))
            # A row spends its budget at most: whatever a peer says, the weight stays bounded.
            return self._finish({
                robot: (mine + min(self._budget, theirs.get(robot, mine))) / 2
                for robot, mine in self._own_row().items()
            })
        return self._close_hop(heard)

    def _infer(self, d: Mapping[str, float]) -> list[Rows]:
        """Set out to find z. Floods go through all neighbours, also where no edge is."""
        self._edges = [robot for robot in sorted(d) if np.isfinite(d[robot])]
        self._d = np.array([d[robot] for robot in self._edges])
        if self._edges:
            self._d = graph.with_null_edge(self._d, self._all, self._settings.null_edge)[0]
        if self._settings.budget != 'global':
            self.z = float(graph.root(self._d, self._all, np.array(self._budget), self._settings))
            self.expected = frozenset(self._edges)
            # Also said to nobody: who has heard this agent's model waits for it.
            say = [self._to_neighbours(Phase.WEIGHT, self._own_row(), sorted(self._absent))]
            return say if self._edges else say + self._finish({})
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
        self._flood = Flood(self._name, np.array(rows, dtype=np.float64), expected)
        self.stage = (phase, number, 0)
        return [Rows(self.stage, *self._flood.gathered())]

    def _close_hop(self, heard: Mapping[str, Dual]) -> list[Rows]:
        phase, number, _ = self.stage
        over = self._flood.close_hop(heard.values())
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
        # Who is not heard is left out of the sum and of the budget. The root is never below the
        # start: holding z there changes nothing unless sums are lost, and then bounds the weights.
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
    def circle(self) -> frozenset[str]:
        """Whose models this agent uses, itself included, as it tells its neighbours."""
        return frozenset(self._edges) | self._absent | {self._name}

    @property
    def _budget(self) -> float:
        """What the own row spends."""
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

    def _to_neighbours(
        self, phase: Phase, numbers: Mapping[str, float], absent: Sequence[str] = ()
    ) -> Rows:
        self.stage = (phase, 0, 0)
        values = [*((number, 0.0) for number in numbers.values()), *((0.0, 1.0) for _ in absent)]
        return Rows(self.stage, (*numbers, *absent), np.array(values).reshape(-1, 2))

    def _said_of_me(self, heard: Mapping[str, Dual]) -> dict[str, float]:
        """Return the numbers neighbours sent for their edge to this agent."""
        return {
            robot: float(message.x[message.names.index(self._name)])
            for robot, message in heard.items()
            if self._name in message.names
        }

    def _finish(self, weights: dict[str, float]) -> list[Rows]:
        self.weights = {robot: w for robot, w in weights.items() if w > 0}
        self.finished = True
        return []


def _hears(row: Dual) -> frozenset[str]:
    """Return whom the sender of a row of weights has heard in this step."""
    return frozenset(name for name, absent in zip(row.names, row.y, strict=True) if not absent)
