"""Large maps: windows of one are looked for all over the other, and those that agree decide.

Large maps bend, so they are not one rigid body; and one match proves nothing where there is much
to choose from, but windows apart from each other that say the same do. Places that look alike
propose where a window may lie. Windows that cover the map come first, and a search of maps that
have grown goes on with windows that were not looked for yet, or have changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.poses import as_pose
from delama_ros.rendezvous.candidates import Candidate
from delama_ros.rendezvous.outcome import VOTE, Placed, Reason, Rule, agree, place
from delama_ros.rendezvous.patches import RIGID, Patch, layers, patches_of, search_patches_of
from delama_ros.rendezvous.places import Places, propose
from delama_ros.rendezvous.register import FIRST_ROUNDS, SAME, settled
from delama_ros.rendezvous.se2 import apply, compose
from delama_ros.rendezvous.surface import Surface

VOTERS = 64  # matches of windows that vote at most: the best ones
REFINED = 8  # candidates of one window that are refined
KEPT = 4  # matches of one window
CHANGED = 0.05  # share of its wall by which a map must have changed to be looked at again
OWN, PEER = 0.5, 1.0  # m between places: one map densely, so that every place meets one nearby

Key = tuple[float, float]  # centre of a patch


@dataclass
class Seen:
    """What is known of one window: its wall and that of the map it was looked for in, m."""

    length: float = 0.0
    own: float = 0.0
    turn: int = 0  # when it was looked for
    good: list[Candidate] = field(default_factory=list)  # transforms of the peer's frame that fit


@dataclass
class Known:
    """What earlier searches between two frames found, by window."""

    windows: dict[Key, Seen] = field(default_factory=dict)
    turns: int = 0


class WindowSearch:
    """Looks for windows of the peer's map in this robot's, one per step."""

    def __init__(self, own: Surface, peer: Surface, rule: Rule, known: Known | None = None) -> None:
        """Prepare a search; known: of an earlier one between the same frames, filled further."""
        self._rule = rule
        self._known = known if known is not None else Known()
        cut = patches_of(peer, whole=RIGID)
        cut = [p for p in cut if p.length >= rule.total / rule.windows]
        windows = [window for layer in layers(cut) for window in layer]
        self._windows = sorted(windows, key=self._order)
        self._fine = search_patches_of(own)  # that windows are refined on
        self._centres = np.array([patch.centre for patch in self._fine])
        self._length = own.length
        self._own, self._peer = Places(own, OWN), Places(peer, PEER)
        self._at = 0  # window
        self._left = rule.pairs
        self.found: list[Placed] = []
        self.done = not (self._windows and self._fine)

    def step(self) -> bool:
        """Go on with the next window; returns whether one was completed, or the search."""
        if self.done:
            return True
        if not (self._own.describe() and self._peer.describe()):
            return False
        window = self._windows[self._at]
        seen = self._known.windows.setdefault(_key(window), Seen())
        candidates = list(seen.good)
        if not (_same(seen.length, window.length) and _same(seen.own, self._length)):
            self._left -= 1
            self._known.turns += 1
            seen.length, seen.own, seen.turn = window.length, self._length, self._known.turns
            candidates += propose(window, self._peer, self._own, REFINED)
        seen.good = self._place(window, candidates)
        self._at += 1
        self.done = self._at >= len(self._windows) or self._left <= 0
        return True

    @property
    def complete(self) -> bool:
        """Whether all windows were searched for; if not, the next search takes the rest."""
        return self._at >= len(self._windows) or not self._fine

    def _order(self, window: Patch) -> tuple[bool, int]:
        """Return when to look at a window: matches that are known first, then what is new."""
        seen = self._known.windows.get(_key(window), Seen())
        return not seen.good, seen.turn

    def _place(self, window: Patch, candidates: list[Candidate]) -> list[Candidate]:
        """Refine candidates of a window and keep matches that differ; returns good ones.

        Good ones are tried again in a later search, when both maps may have moved a little.
        """
        placed: list[Placed] = []
        for candidate in candidates:
            at = apply(np.array(candidate.transform), window.centre)
            near = self._fine[int(np.argmin(np.abs(self._centres - at).max(1)))]
            begin = np.array([*(at - near.centre).tolist(), candidate.transform[2]])
            first = settled(near, window, begin, FIRST_ROUNDS)
            placed.append(place(near, window, first, VOTE))
        placed.sort(key=lambda p: -p.score)
        kept: list[Placed] = []
        for match in placed:
            if len(kept) < KEPT and not any(agree(match, other, SAME) for other in kept):
                kept.append(match)
        kept = [_again(p) for p in kept[:1]] + kept[1:]
        self.found += kept
        good = [p for p in kept if p.score >= 0.5 * self._rule.window]
        return [Candidate(as_pose(p.transform), math.inf) for p in good]

    def vote(self) -> tuple[list[Placed], float, Reason]:
        """Find the transform that most windows apart from each other agree on.

        Returns:
            Matches that agree, the score of the best other transform, and what follows.
        """
        rule = self._rule
        good = sorted(
            (p for p in self.found if p.score >= rule.window and p.evidence.weak >= rule.weak / 2),
            key=lambda p: -p.strength,
        )[:VOTERS]
        if not good:
            return [], 0.0, Reason.LITTLE_SHARED
        alike = _agreements(good, rule.bend)
        gaps = np.array([p.centre for p in good])
        reach = max(max(window.open.shape) * window.resolution for window in self._windows)
        apart = np.abs(gaps[:, None] - gaps[None]).max(-1) >= 0.99 * reach
        camps = []
        for leader in range(len(good)):
            camp: list[int] = []
            for other in np.flatnonzero(alike[leader]).tolist():
                if apart[other, camp].all():
                    camp.append(other)
            camps.append([good[k] for k in camp])
        camps.sort(key=lambda camp: -sum(p.strength for p in camp))
        best = camps[0]
        total = sum(p.score for p in best)
        rivals = [
            sum(p.score for p in camp) for camp in camps
            if not agree(camp[0], best[0], (2 * rule.bend[0], 2 * rule.bend[1]))
        ]
        second = max(rivals, default=0.0)
        if len(best) < rule.windows:
            reason = Reason.ONE_WINDOW
        elif sum(p.strength for p in best) < rule.total:
            reason = Reason.LITTLE_SHARED
        elif second >= rule.rival * total:
            reason = Reason.AMBIGUOUS
        else:
            reason = Reason.MATCHED
        return best, second, reason


def _again(match: Placed) -> Placed:
    """Refine a match to the end."""
    own, peer = match.patches
    begin = compose(match.transform, np.array([*peer.centre.tolist(), 0.0]))
    settled_at = settled(own, peer, begin - np.array([*own.centre.tolist(), 0.0]))
    return place(own, peer, settled_at, VOTE)


def _key(patch: Patch) -> Key:
    x, y = patch.centre.tolist()
    return x, y


def _same(before: float, now: float) -> bool:
    return abs(now - before) <= CHANGED * before


def _agreements(placed: list[Placed], within: tuple[float, float]) -> npt.NDArray[np.bool_]:
    """Return which of n matches agree with which, (n, n)."""
    yaw = np.array([p.transform[2] for p in placed])
    shift = np.array([p.transform[:2] for p in placed])
    centres = np.array([p.centre for p in placed])
    middle = 0.5 * (centres[:, None] + centres[None])
    cos, sin = np.cos(yaw), np.sin(yaw)
    turns = np.moveaxis(np.array([[cos, -sin], [sin, cos]]), -1, 0)  # (n, 2, 2)
    spots = np.einsum('iab,ijb->ija', turns, middle) + shift[:, None]  # i applied half-way to j
    gap = np.linalg.norm(spots - spots.swapaxes(0, 1), axis=-1)
    turned = np.abs(np.remainder(yaw[:, None] - yaw[None] + np.pi, 2 * np.pi) - np.pi)
    alike: npt.NDArray[np.bool_] = (gap < within[0]) & (turned < within[1])
    return alike
