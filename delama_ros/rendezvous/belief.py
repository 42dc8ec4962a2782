"""What a robot believes of one peer's frame: from a first match to a transform it relies on.

A pure state machine: no clock, no threads. It is updated with the outcomes of attempts, one at a
time. Metres of matched wall add up over attempts that agree; where attempts were ambiguous, more
of them are asked for.
A belief that later evidence contradicts is withdrawn and harder to earn the next time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from delama_ros.rendezvous.frames import Bond, Link
from delama_ros.rendezvous.outcome import Outcome, Reason
from delama_ros.rendezvous.se2 import (
    Floats,
    compose,
    compose_covariance,
    difference,
)


class State(IntEnum):
    """Of the belief in a peer's frame."""

    SEARCHING = 0  # no transform fits yet
    CANDIDATE = 1  # one fits, and has to be confirmed
    JOINED = 2  # believed
    WITHDRAWN = 3  # was believed until it was contradicted; searching again
    REFUSED = 4  # not searched for: another model, or on request of an operator


@dataclass(frozen=True)
class Rules:
    """When a belief is formed and given up; metres are of matched wall."""

    sure: float = 3.0  # m, lead of all attempts that agree, to be believed ...
    sure_large: float = 24.0  # ... and for maps larger than a flat, which offer more to choose from
    doubt: float = 9.0  # m, lead that each ambiguous attempt asks for besides ...
    doubts: int = 4  # ... of the last ones
    wall: float = 0.0  # m, score that one attempt must reach as well
    most: float = 192.0  # m that are asked for at most, after withdrawals
    strikes: int = 2  # contradictions in a row that end a belief
    patience: int = 3  # outcomes without a match that end a candidate
    shift: float = 0.3  # m, at the matched wall, and
    turn: float = math.radians(3.0)  # rad, within which outcomes agree
    drift: float = 0.01  # m per step that a believed transform may change, standard deviation


class Belief:
    """About one peer; transforms map the peer's frame into this robot's."""

    def __init__(self, peer: str, rules: Rules | None = None) -> None:
        """Begin without a transform."""
        self.peer = peer
        self.rules = rules or Rules()
        self.state = State.SEARCHING
        self.reason = Reason.NOTHING_YET
        self.withdrawals = 0
        self._doubts = 0
        self._clear()

    def _clear(self) -> None:
        self._transform: Floats | None = None
        self._covariance = np.zeros((3, 3))
        self.matched = self.against = 0.0  # m of wall, of the last match
        self.overlap = 0.0  # share of the smaller map that is matched
        self._agreed = 0.0  # m, lead of attempts that agree
        self._effort = 1.0  # share of the metres of `rules` that decide
        self._score = 0.0  # m, of the last check
        self._doubtful = False  # the last check found more contradictions than one place has
        self._strikes = self._missed = 0

    # -- what is held -----------------------------------------------------------------------------

    @property
    def transform(self) -> Floats | None:
        """Peer's frame → own frame, (3,), if there is a candidate or a belief."""
        return None if self._transform is None else self._transform.copy()

    @property
    def covariance(self) -> Floats:
        """Of the transform, (3, 3)."""
        return self._covariance.copy()

    @property
    def joined(self) -> bool:
        """Whether the transform may be used."""
        return self.state is State.JOINED

    @property
    def link(self) -> Link:
        """What FrameChoice wants to know."""
        if self.state is State.JOINED and self._transform is not None:
            return Link(Bond.HELD, self._transform.copy(), self._covariance.copy())
        if self.state is State.WITHDRAWN:
            return Link(Bond.OPPOSED)
        return Link(Bond.NONE)

    def near(self, point: Floats) -> bool:
        """Whether it is believed, and hardly moves a point (x, y, 0) of the peer's frame."""
        if self.state is not State.JOINED or self._transform is None:
            return False
        gap = difference(point, compose(self._transform, point))
        return self._within(gap)

    def explain(self) -> str:
        """Return one line for a status message."""
        if self._transform is None:
            return f'{self.state.name.lower()}: {self.reason.text}'
        x, y, yaw = self._transform.tolist()
        sigma = math.sqrt(max(float(np.linalg.eigvalsh(self._covariance[:2, :2])[-1]), 0.0))
        where = f'x {x:.2f} m, y {y:.2f} m, yaw {math.degrees(yaw):.1f}°'
        grounds = f'{self.matched:.0f} m matched, {self.against:.1f} m against'
        if self.state is State.JOINED:
            turn = math.degrees(math.sqrt(max(float(self._covariance[2, 2]), 0.0)))
            return f'joined: {where} (± {100 * sigma:.0f} cm, {turn:.1f}°), {grounds}'
        return (
            f'candidate, {self._agreed:.0f} of {self._wanted(1):.0f} m: overlap '
            f'{100 * self.overlap:.0f} %, '
            f'{grounds}'
        )

    # -- what happens -----------------------------------------------------------------------------

    def update(self, outcome: Outcome) -> State:
        """Take in the outcome of an attempt; returns the state afterwards."""
        if self.state is State.REFUSED:
            return self.state
        self.reason = outcome.reason
        if self.state is State.JOINED:
            self._check(outcome)
        elif outcome.accepted or outcome.promising:
            self._confirm(outcome)
        elif outcome.reason is Reason.AMBIGUOUS:
            # A place that looks like another: ask for more before anything is believed here.
            self._doubts = min(self._doubts + 1, self.rules.doubts)
            self._back(self.state if self.state is State.WITHDRAWN else State.SEARCHING,
                       Reason.AMBIGUOUS)
        elif self.state is State.CANDIDATE:
            self._missed += 1
            if outcome.reason is Reason.CONTRADICTED or self._missed >= self.rules.patience:
                self._back(State.SEARCHING, outcome.reason)
        return self.state

    def give(self, transform: Floats, covariance: Floats) -> None:
        """Believe a transform that is known otherwise: exact or rough starts, a shared frame."""
        self._clear()
        self.state, self.reason = State.JOINED, Reason.GIVEN
        self._transform = np.array(transform, np.float64)
        self._covariance = np.array(covariance, np.float64)

    def refuse(self, reason: Reason) -> None:
        """Stop searching for a transform."""
        self._back(State.REFUSED, reason)

    def forget(self) -> None:
        """Begin anew, as an operator may ask."""
        self.withdrawals = self._doubts = 0
        self._back(State.SEARCHING, Reason.FORGOTTEN)

    def move_own(self, move: Floats) -> None:
        """Go on after this robot's frame has changed: move (3,) maps the old one into the new."""
        if self._transform is not None:
            zero = np.zeros((3, 3))
            self._covariance = compose_covariance(move, zero, self._transform, self._covariance)
            self._transform = compose(move, self._transform)

    def move_peer(self, move: Floats) -> None:
        """Go on after the peer's frame has changed: move (3,) maps the new one into the old."""
        if self._transform is not None:
            zero = np.zeros((3, 3))
            self._covariance = compose_covariance(self._transform, self._covariance, move, zero)
            self._transform = compose(self._transform, move)

    # -- rules ------------------------------------------------------------------------------------

    def _wanted(self, windows: int) -> float:
        """Return the metres that attempts must add up to."""
        wanted = self.rules.sure_large if windows > 1 else self.rules.sure * self._effort
        wanted *= 2.0 ** min(self.withdrawals, 16)
        doubts = self._doubts * self.rules.doubt * self._effort
        return min(wanted + doubts, self.rules.most)

    def _confirm(self, outcome: Outcome) -> None:
        if self._transform is None or not self._agrees(outcome):
            self._clear()
        self.state = State.CANDIDATE
        # Successive maps of a flat share their data: what one attempt shows is no news in the next.
        # Searches of large maps go on where maps changed, so theirs is.
        large = outcome.windows > 1
        self._agreed = self._agreed + outcome.lead if large else max(self._agreed, outcome.lead)
        self._effort = outcome.effort
        self._missed = 0
        self._take(outcome)
        enough = outcome.score >= self.rules.wall and self._agreed >= self._wanted(outcome.windows)
        if outcome.accepted and enough:
            self.state, self._strikes, self._doubts = State.JOINED, 0, 0

    def _check(self, outcome: Outcome) -> None:
        if outcome.bent:
            contradicted = self._check_bent(outcome)
        elif outcome.searched:
            # Two rooms that are alike: by now another transform fits better, or just as well. Where
            # maps have nothing in common, any chance match would be better, and proves nothing.
            better = outcome.accepted and outcome.score > self._score
            other = better and not self._agrees(outcome)
            contradicted = other or (self._doubtful and outcome.reason is Reason.AMBIGUOUS)
            if outcome.accepted and not contradicted:
                self._doubtful = False  # things have moved, but no other transform explains it
        else:
            self._score, self._doubtful = outcome.score, outcome.doubtful
            wandered = outcome.accepted and not self._agrees(outcome)
            contradicted = wandered or outcome.reason is Reason.CONTRADICTED
        if contradicted:
            self._strikes += 1
            if self._strikes >= self.rules.strikes:
                self.withdrawals += 1
                self._back(State.WITHDRAWN, Reason.CONTRADICTED)
        elif outcome.accepted and self._agrees(outcome):
            if not self._doubtful:
                self._strikes = 0
            self._filter(outcome)

    def _check_bent(self, outcome: Outcome) -> bool:
        """Return whether a large map is contradicted, after its parts may have moved.

        When a robot closes a loop, a large part of its map moves by metres at once. A transform
        that windows agree on again replaces the one that is believed; only if there is none, the
        belief is in doubt.
        """
        if outcome.accepted:
            self._doubtful = False
            if not self._agrees(outcome):
                self._take(outcome)
            return False
        if outcome.searched:
            return self._doubtful and outcome.complete
        self._doubtful = outcome.reason is Reason.CONTRADICTED
        return False

    def _agrees(self, outcome: Outcome) -> bool:
        assert self._transform is not None
        # Compared where the matched wall is: far from it, a small turn is a large shift.
        centre = np.array([*outcome.centre.tolist(), 0.0])
        gap = difference(compose(self._transform, centre), compose(outcome.transform, centre))
        return self._within(gap)

    def _within(self, gap: Floats) -> bool:
        return bool(
            math.hypot(gap[0], gap[1]) <= self.rules.shift and abs(gap[2]) <= self.rules.turn
        )

    def _take(self, outcome: Outcome) -> None:
        self._transform = outcome.transform.copy()
        self._covariance = outcome.covariance.copy()
        self.matched, self.against = outcome.matched, outcome.against
        self.overlap = outcome.share

    def _filter(self, outcome: Outcome) -> None:
        """Kalman step about the matched wall; successive maps share their data.

        Only what the transform may have drifted since makes room for news.
        """
        assert self._transform is not None
        x, y = outcome.centre.tolist()
        at = np.array([x, y, 0.0])
        zero = np.zeros((3, 3))
        held = compose(self._transform, at)
        seen = compose(outcome.transform, at)
        spread = compose_covariance(self._transform, self._covariance, at, zero)
        spread = spread + np.diag([1.0, 1.0, 0.01]) * self.rules.drift**2
        noise = compose_covariance(outcome.transform, outcome.covariance, at, zero)
        gap = seen - held
        gap[2] = math.remainder(gap[2], 2 * math.pi)
        gain = np.linalg.solve(spread + noise, spread).T
        back = np.array([-x, -y, 0.0])
        joined = gain @ noise
        self._transform = compose(held + gain @ gap, back)
        self._covariance = compose_covariance(
            held + gain @ gap, 0.5 * (joined + joined.T), back, zero
        )
        self.matched, self.against = outcome.matched, outcome.against
        self.overlap = outcome.share

    def _back(self, state: State, reason: Reason) -> None:
        self._clear()
        self.state, self.reason = state, reason
