"""What came of an attempt, or of a part of it: reasons, rules and transforms between maps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from delama_ros.rendezvous.patches import Patch
from delama_ros.rendezvous.register import CONTRADICTION, Match
from delama_ros.rendezvous.se2 import Floats, apply, compose, compose_covariance, difference
from delama_ros.rendezvous.verify import Evidence

# Of 844 right matches in generated plans, the worst had 0.6 m of contradiction; with
# 4 cm of noise in every pose it was 1.1 m.
HONEST, SHARE = 1.0, 0.02  # m, and per metre of matched wall
STRICT = 20.0  # m of matched wall that a metre of contradiction outweighs before a match is used
VOTE = 0.5  # of that, for a window of a large map, which bends and does not decide alone


class Reason(IntEnum):
    """Why there is a transform, or none."""

    NOTHING_YET = 0
    MATCHED = 1
    GIVEN = 2
    LITTLE_MAPPED = 3
    LITTLE_SHARED = 4
    CONTRADICTED = 5
    AMBIGUOUS = 6
    WEAK_DIRECTION = 7
    ONE_WINDOW = 8
    OTHER_MODEL = 9
    FORGOTTEN = 10
    REPEATED = 11

    @property
    def text(self) -> str:
        """In words."""
        return _TEXTS[self]


_TEXTS = {
    Reason.NOTHING_YET: 'nothing tried yet',
    Reason.MATCHED: 'walls match',
    Reason.GIVEN: 'transform was given',
    Reason.LITTLE_MAPPED: 'too little mapped',
    Reason.LITTLE_SHARED: 'too little wall in common',
    Reason.CONTRADICTED: 'walls of one stand in free space of the other',
    Reason.AMBIGUOUS: 'several transforms fit',
    Reason.WEAK_DIRECTION: 'walls leave one direction open',
    Reason.ONE_WINDOW: 'only one window matches',
    Reason.OTHER_MODEL: 'the peer uses another model',
    Reason.FORGOTTEN: 'forgotten on request',
    Reason.REPEATED: 'what matches is there more than once',
}


@dataclass(frozen=True)
class Rule:
    """What a match needs to count; m of wall."""

    least: float = 6.0  # strength of a match at all
    lead: float = 3.0  # lead of a match that decides
    hint: float = 1.0  # lead of a candidate
    weak: float = 2.0  # m that constrain the least constrained shift
    ambiguous: float = 0.5  # of the best score: a second match must stay below
    window: float = 4.0  # score of one window's match
    windows: int = 2  # that must agree, without sharing wall, ...
    total: float = 16.0  # strength of all together
    rival: float = 0.4  # of their score: other windows that agree must stay below
    bend: tuple[float, float] = (1.0, math.radians(5.0))  # m and rad between windows that agree
    pairs: int = 60  # of patches that are tried at most, or windows of a large map


@dataclass(frozen=True, eq=False)
class Outcome:
    """Of an attempt or a check; the transform maps the peer's frame into this robot's."""

    accepted: bool
    reason: Reason
    transform: Floats  # (3,)
    covariance: Floats  # (3, 3)
    centre: Floats  # (2,), m in the peer's frame, about where the matched wall is
    matched: float = 0.0  # m
    against: float = 0.0  # m
    share: float = 0.0  # of the smaller of the two surfaces
    score: float = 0.0  # m
    second: float = 0.0  # m, score of the best other match
    windows: int = 0  # that agree
    lead: float = 0.0  # m of strength that neither another match nor a repetition explains
    searched: bool = False  # the best of all transforms; False: the one that was believed
    complete: bool = True  # everything was searched; False: the next attempt looks at the rest
    bent: bool = False  # of maps so large that they may be bent: no one transform fits all of them
    promising: bool = False  # not accepted, but worth showing as a candidate
    effort: float = 1.0  # share of the usual metres that decide, as few transforms are possible

    @property
    def strength(self) -> float:
        """Metres of matched wall less what contradictions take back when all must be explained."""
        return strength_of(self.matched, self.against, self.effort)

    @property
    def doubtful(self) -> bool:
        """Whether there is more contradiction than maps of one place have."""
        return self.against > HONEST * max(self.windows, 1) + SHARE * self.matched


def strength_of(matched: float, against: float, effort: float) -> float:
    """Return metres of matched wall less those that contradictions outweigh.

    The fewer transforms are possible, the less likely is a match by chance, which nearly always
    has contradictions; what is left of them are errors of the maps.
    """
    return matched - max(STRICT * effort, CONTRADICTION) * against


def nothing(reason: Reason) -> Outcome:
    """Return an outcome without a match."""
    return Outcome(False, reason, np.zeros(3), np.eye(3), np.zeros(2))


@dataclass(frozen=True, eq=False)
class Placed:
    """A match as a transform between the maps."""

    transform: Floats  # (3,), peer's frame → own frame
    covariance: Floats
    centre: Floats  # (2,), of the peer's patch, in its frame
    evidence: Evidence
    score: float
    patches: tuple[Patch, Patch]  # own and peer's
    effort: float = 1.0  # as of an outcome

    @property
    def strength(self) -> float:
        """As of an outcome."""
        return strength_of(self.evidence.matched, self.evidence.against, self.effort)


def place(own: Patch, peer: Patch, match: Match, effort: float = 1.0) -> Placed:
    """Return a match of two patches as a transform between their maps."""
    at = match.refined.transform + np.array([*own.centre.tolist(), 0.0])
    back = np.array([*(-peer.centre).tolist(), 0.0])
    covariance = compose_covariance(at, match.refined.covariance, back, np.zeros((3, 3)))
    return Placed(
        compose(at, back), covariance, peer.centre, match.evidence, match.score, (own, peer), effort
    )


def agree(a: Placed, b: Placed, within: tuple[float, float]) -> bool:
    """Whether two matches mean one transform, compared half-way between their patches."""
    centre = np.array([*(0.5 * (a.centre + b.centre)).tolist(), 0.0])
    gap = difference(compose(a.transform, centre), compose(b.transform, centre))
    return math.hypot(gap[0], gap[1]) < within[0] and abs(gap[2]) < within[1]


def mean(placed: list[Placed]) -> tuple[Floats, Floats, Floats]:
    """Return the mean transform of matches that agree, its covariance, and about which point."""
    if len(placed) == 1:
        return placed[0].transform, placed[0].covariance, placed[0].centre
    weights = np.array([p.score for p in placed])
    weights = weights / weights.sum()
    centre = weights @ np.array([p.centre for p in placed])
    spots = np.array([apply(p.transform, centre) for p in placed])
    yaw0 = float(placed[0].transform[2])
    turns = np.array([math.remainder(p.transform[2] - yaw0, 2 * math.pi) for p in placed])
    spot, turn = weights @ spots, float(weights @ turns)
    gaps = np.column_stack([spots - spot, turns - turn])
    spread = (gaps * weights[:, None]).T @ gaps  # maps bend: how much windows differ
    at = np.array([*spot.tolist(), math.remainder(yaw0 + turn, 2 * math.pi)])
    back = np.array([*(-centre).tolist(), 0.0])
    own = np.mean([
        compose_covariance(p.transform, p.covariance, [*centre.tolist(), 0.0], np.zeros((3, 3)))
        for p in placed
    ], axis=0)
    covariance = compose_covariance(at, spread + own / len(placed), back, np.zeros((3, 3)))
    return compose(at, back), covariance, centre
