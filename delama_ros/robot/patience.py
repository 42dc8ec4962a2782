"""For whom a robot waits: a peer that lets a deadline pass costs it once, not in every step.

A peer that missed a deadline is left out until it is received again. That is all at the first miss
of one that has answered before: robots die and return. Otherwise, and more so after each further
miss, it has to answer through some steps within a short time, before it is. Where peers that
are hardly known let deadlines pass, all that come after them have to show first that they answer.
"""

from __future__ import annotations

from collections.abc import Iterable

KNOWN = 10  # steps that a peer must have completed to be well known
RELIABLE = 2  # steps in a row after which its models are held at any size
FREE = 1  # misses of peers hardly known until newcomers have to show something
FACTOR = 4  # by which the number of steps grows with each miss
MOST = 256


class Patience:
    """How many steps each peer must complete before it is waited for."""

    def __init__(self) -> None:
        """Wait for everybody."""
        self.silent: set[str] = set()  # missed a deadline, not received since
        self._owed: dict[str, int] = {}  # steps, by peer
        self._misses: dict[str, int] = {}
        self._done: dict[str, int] = {}  # steps completed since the last miss
        self._strange = 0  # misses of peers hardly known, of late
        self._quiet = 0  # steps since somebody hardly known missed a deadline

    def hear(self, peer: str) -> None:
        """Take note that a peer was received."""
        self.silent.discard(peer)

    def unhurried(self, peers: Iterable[str]) -> frozenset[str]:
        """Return those of the peers of a step for whom it is not worth waiting long."""
        late = self._strange - FREE
        entry = min(FACTOR**late, MOST) if late > 0 else 0
        return frozenset(peer for peer in peers if self._owed.setdefault(peer, entry) > 0)

    def miss(self, peers: Iterable[str], unhurried: Iterable[str] = ()) -> None:
        """Take note that peers were waited for in vain; for a short time only if unhurried."""
        strange = False
        self.silent.update(unhurried)
        for peer in peers:
            self.silent.add(peer)
            misses = self._misses[peer] = self._misses.get(peer, 0) + 1
            done = self._done.pop(peer, 0)
            self._owed[peer] = 0 if misses == 1 and done else min(FACTOR ** (misses - 1), MOST)
            strange |= done < KNOWN
        if strange:
            self._strange, self._quiet = self._strange + 1, 0

    def complete(self, peers: Iterable[str]) -> None:
        """End a step in which these peers answered in every round."""
        self._quiet += 1
        if self._quiet >= MOST:
            self._strange, self._quiet = max(self._strange - 1, 0), 0
        for peer in peers:
            self._owed[peer] = max(self._owed.get(peer, 0) - 1, 0)
            done = self._done[peer] = self._done.get(peer, 0) + 1
            if done >= KNOWN and done % KNOWN == 0:
                self._misses[peer] = max(self._misses.get(peer, 0) - 1, 0)

    def reliable(self, peers: Iterable[str]) -> frozenset[str]:
        """Return those that have answered in all rounds of the last steps."""
        return frozenset(peer for peer in peers if self._done.get(peer, 0) >= RELIABLE)

    def forget(self, peer: str) -> None:
        """Drop what is known of a peer; it is a newcomer if it returns."""
        self.silent.discard(peer)
        for held in (self._owed, self._misses, self._done):
            held.pop(peer, None)
