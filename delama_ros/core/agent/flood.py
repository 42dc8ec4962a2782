"""Sums over all agents of a connected graph: rows travel hop by hop until none is missing.

In hop h an agent sends the rows of all agents within h hops. When a hop brings no new name, the
agent has its whole connected component. A neighbour that is farther from the edge of the graph may
still lack a name then, and is sent everything once more in a last message.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from delama_ros.core.agent.messages import Dual
from delama_ros.core.blocks import Floats


class Flood:
    """What one agent has gathered in one flood."""

    def __init__(self, name: str, rows: Floats, expected: frozenset[str] | None = None) -> None:
        """Start with the agent's own rows (r, 2); expected: agents that an earlier flood found."""
        self.rows: dict[str, Floats] = {name: rows}
        self.hop = 0
        self._expected = expected
        # Whether some neighbour did not have all names when this agent had them.
        self.lagging = False

    @property
    def names(self) -> frozenset[str]:
        """All agents found so far, including itself."""
        return frozenset(self.rows)

    def close_hop(self, received: Iterable[Dual]) -> bool:
        """Add one hop's messages; returns whether the flood is over for this agent.

        It is also over if messages were lost and the hop brought nothing new: agents that are not
        received are left out.
        """
        messages = [(message, _by_name(message)) for message in received]
        before = len(self.rows)
        for _, rows in messages:
            for name, values in rows.items():
                if self._expected is None or name in self._expected:
                    self.rows.setdefault(name, values)
        if self._expected is not None:
            over = len(self.rows) in (len(self._expected), before)
        else:
            over = len(self.rows) == before
        self.lagging = any(len(rows) < len(self.rows) for _, rows in messages)
        self.hop += 1
        return over

    def gathered(self) -> tuple[tuple[str, ...], Floats]:
        """Return all rows, with the name of each, in the order of names."""
        names = sorted(self.rows)
        repeated = tuple(name for name in names for _ in range(len(self.rows[name])))
        return repeated, np.concatenate([self.rows[name] for name in names])


def _by_name(message: Dual) -> dict[str, Floats]:
    rows: dict[str, list[tuple[float, float]]] = {}
    for name, x, y in zip(message.names, message.x, message.y, strict=True):
        rows.setdefault(name, []).append((float(x), float(y)))
    return {name: np.array(values) for name, values in rows.items()}
