"""Which peer to try next, within a budget of time: attempts that never hold up a step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from delama_ros.rendezvous.attempt import Search, check
from delama_ros.rendezvous.outcome import Outcome, Reason, Rule
from delama_ros.rendezvous.se2 import IDENTITY, Floats
from delama_ros.rendezvous.surface import Surface, Tiles, surface_of
from delama_ros.rendezvous.voting import Known
from delama_ros.rendezvous.window import StartPrior

BUDGET = 0.3  # s of one core per call
GROWTH = 0.05  # share by which the surface of a pair must have grown to search again
MAX_PEERS = 256


@dataclass
class _Model:
    """A model and its surface, found when it is needed."""

    tiles: Tiles
    version: int
    known: Surface | None = None

    @property
    def surface(self) -> Surface:
        if self.known is None:
            self.known = surface_of(self.tiles)
        return self.known


@dataclass
class _Work:
    """What was tried with one peer."""

    checked: tuple[int, int] = (-1, -1)  # versions of both models at the last check
    searched: float = 0.0  # m of surface of both at the last search
    turn: int = 0  # when it was last searched
    search: Search | None = None  # under way
    known: Known = field(default_factory=Known)  # what searches of large maps found out
    lost: bool = False  # the last check found too little in common, or contradictions

    def begin_anew(self) -> None:
        """Forget searches, since a frame changed."""
        self.search, self.searched, self.known = None, 0.0, Known()


@dataclass(frozen=True, eq=False)
class Task:
    """A peer to be looked at, as of now."""

    peer: str
    transform: Floats | None  # believed so far; None: search
    prior: StartPrior | None = None  # how well it is known that the frames coincide, if it is
    windows: bool = True  # search maps larger than a flat as well, which takes long
    shared: bool = False  # the frame is the same: corrected maps lie as they are


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a task."""

    peer: str
    outcome: Outcome
    searched: bool  # False: only the believed transform was looked at
    seconds: float = field(default=0.0)


class Attempts:
    """A queue of attempts over all peers; use it from one thread at a time.

    Checks of believed transforms come first, as they are cheap, then searches, the peer that has
    waited longest first. A search that is not finished goes on in the next call.
    """

    def __init__(
        self, rule: Rule | None = None, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._rule = rule or Rule()
        self._clock = clock
        self._own: _Model | None = None
        self._peers: dict[str, _Model] = {}
        self._work: dict[str, _Work] = {}
        self._versions = self._turns = 0

    def set_own(self, tiles: Tiles, *, moved: bool = False) -> None:
        """Take this robot's model as it is now; moved: its frame changed, searches begin anew."""
        self._own = self._model(tiles)
        for work in self._work.values():
            if moved:
                work.begin_anew()

    def set_peer(self, peer: str, tiles: Tiles, *, moved: bool = False) -> None:
        """Take a peer's model as it was received; moved: its frame changed."""
        if peer not in self._peers and len(self._peers) >= MAX_PEERS:
            raise ValueError(f'{len(self._peers)} peers already, expected at most {MAX_PEERS}')
        self._peers[peer] = self._model(tiles)
        work = self._work.setdefault(peer, _Work())
        if moved:
            work.begin_anew()

    def drop(self, peer: str) -> None:
        """Forget a peer."""
        self._peers.pop(peer, None)
        self._work.pop(peer, None)

    def surfaces(self, peer: str) -> tuple[Surface, Surface]:
        """Return the surfaces of this robot's model and of a peer's, which must be set."""
        assert self._own is not None
        return self._own.surface, self._peers[peer].surface

    def run(self, tasks: list[Task], budget: float = BUDGET) -> list[Result]:
        """Work on peers for at most `budget` seconds, and one pair of patches at least.

        Returns:
            Outcomes, in the order they were found; peers without news are left out.

        """
        if self._own is None:
            return []
        began = self._clock()
        known = [task for task in tasks if task.peer in self._peers]
        results: list[Result] = []
        for task in known:
            if task.transform is not None and self._changed(task.peer):
                start = self._clock()
                if results and start - began > budget:
                    return results
                results.append(self._check(task, start))
        longest = 0.0
        for task in sorted(known, key=lambda task: (self._work[task.peer].turn, task.peer)):
            search = self._search(task)
            while search is not None:
                start = self._clock()
                if start - began + longest > budget and (longest or results):
                    return results
                outcome = search.step()
                end = self._clock()
                longest = max(longest, end - start)
                if outcome is not None:
                    self._done(task.peer, outcome)
                    results.append(Result(task.peer, outcome, True, end - start))
                    search = None
        return results

    def _model(self, tiles: Tiles) -> _Model:
        self._versions += 1
        return _Model(tiles, self._versions)

    def _changed(self, peer: str) -> bool:
        assert self._own is not None
        return self._work[peer].checked != (self._own.version, self._peers[peer].version)

    def _check(self, task: Task, start: float) -> Result:
        assert self._own is not None
        assert task.transform is not None
        peer, work = self._peers[task.peer], self._work[task.peer]
        starts = [task.transform, IDENTITY] if task.shared else [task.transform]
        outcomes = [check(self._own.surface, peer.surface, s, self._rule) for s in starts]
        outcome = max(outcomes, key=lambda o: (o.accepted, o.score))
        work.checked = self._own.version, peer.version
        wrong = outcome.reason in (Reason.LITTLE_SHARED, Reason.CONTRADICTED)
        work.lost = wrong or outcome.doubtful
        return Result(task.peer, outcome, False, self._clock() - start)

    def _search(self, task: Task) -> Search | None:
        """Return the search to go on with, a new one if the maps have grown, or None."""
        assert self._own is not None
        work, peer = self._work[task.peer], self._peers[task.peer]
        if task.transform is not None and not work.lost:
            work.search = None
            return None
        if work.search is None:
            length = self._own.surface.length + peer.surface.length
            # A map can also shrink: guests from other frames stay in it for one step only.
            if abs(length - work.searched) < GROWTH * work.searched:
                return None
            if not task.windows and Search.votes(self._own.surface, peer.surface):
                return None
            work.search = Search(
                self._own.surface, peer.surface, self._rule, prior=task.prior, known=work.known
            )
            work.searched = length
        return work.search

    def _done(self, peer: str, outcome: Outcome) -> None:
        self._turns += 1
        work = self._work[peer]
        work.turn = self._turns
        if work.search is not None and not (outcome.accepted or work.search.complete):
            work.searched = 0.0  # the next search goes on where this one ran out of time
        work.search = None
