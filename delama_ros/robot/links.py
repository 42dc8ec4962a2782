"""Which peers a radio lets this robot receive, over time."""

from __future__ import annotations

from collections import deque

LENGTH = 100  # changes remembered
MARGIN = 1e-6  # s, rounding of stamps


class LinkHistory:
    """Sets of peers in range, each valid from its stamp on; empty if no radio reports any."""

    def __init__(self) -> None:
        self._sets: deque[tuple[float, frozenset[str]]] = deque(maxlen=LENGTH)

    def add(self, stamp: float, names: frozenset[str]) -> None:
        """Note that from `stamp` s on exactly these peers are received."""
        self._sets.append((stamp, names))

    def at(self, time: float) -> frozenset[str] | None:
        """Return the peers in range at a time, None if no radio has reported any."""
        if not self._sets:
            return None
        valid = [names for stamp, names in self._sets if stamp <= time + MARGIN]
        return valid[-1] if valid else self._sets[0][1]
