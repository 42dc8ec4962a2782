"""Lost and found: search the whole own map, and believe a place only after tracking in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from delama_ros.localization.align import Alignment
from delama_ros.localization.keyframes import Keyframes
from delama_ros.localization.matcher import Motion, fit
from delama_ros.localization.own_map import FINE, OwnMap
from delama_ros.localization.pyramid import search
from delama_ros.localization.se2 import Floats, compose, relative, wrap
from delama_ros.localization.surfels import Surfels
from delama_ros.localization.view import both_ways, contradiction

SUBMAPS = 3  # searched per scan
APART = 2.0  # m between the middles of submaps
WINDOW = 2.5  # m around the middle of a submap
SCORE = 0.5  # of the search, from which on a place is looked at closely
POINTS = 120  # of a scan used for searching
HYPOTHESES = 8  # tracked at the same time
CONFIRMATIONS = 5  # scans that must match near a given pose, and ...
ALONE = 10  # ... without one ...
DISTANCE = 2.0  # m ... while the robot drives this far or ...
TURN = 2.0 * math.pi  # ... turns this far, or a bit of both: rooms of other buildings fit once
FIT = 0.75  # mean fit that a place must reach: known places look better than that
CONTRADICTED = 0.2  # largest share of a scan in known free space ...
THROUGH = 0.08  # ... and of points seen through, both ways, over all scans
DOUBTFUL = 0.01  # share seen through that calls for as much motion again
WITNESSES = 6  # nearest keyframes asked about that
RESUMED = 3.0  # m without a match for which the pose by odometry stays a hypothesis, and ...
AGAIN = 0.5  # ... m on which scans must match there, if they fit less well than usual
RIVAL = 0.9  # of the best fit, from which on another place cannot be ruled out


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A place where the robot may be."""

    pose: Floats  # (3,)
    fit: float  # mean of the matches so far
    confirmed: int
    missed: int
    travelled: float  # m
    turned: float  # rad
    judged: int = 0  # points that should have been seen, both ways ...
    through: int = 0  # ... and those of them seen through
    expected: bool = False  # where odometry says: somebody may only have blocked the view ...
    astray: float = 0.0  # ... for so many m


@dataclass(frozen=True, eq=False)
class Look:
    """One scan of a lost robot."""

    surfels: Surfels  # in the base frame
    profile: Floats  # (360,) m, see view.py
    origin: Floats  # (2,) of the sensor in the base frame


class Relocator:
    """One search for a lost robot; make a new one for the next."""

    def __init__(
        self, hint: Floats | None = None, radius: float | None = None,
        expected: Floats | None = None,
    ) -> None:
        """Begin a search.

        Args:
            hint: (3,) pose near which to search first.
            radius: m around the hint to which the search is limited.
            expected: (3,) pose by odometry of a robot that was tracked until just now.
        """
        self.hint = hint
        self.radius = radius
        self.hypotheses: list[Hypothesis] = []
        if expected is not None:
            self.hypotheses = [Hypothesis(expected, 0.0, 0, 0, 0.0, 0.0, expected=True)]
        self._middles: list[int] | None = None  # ids of submaps still to be searched
        self._swept = False

    @property
    def expected(self) -> bool:
        """Whether the pose by odometry is among the places that are looked at."""
        return any(h.expected for h in self.hypotheses)

    def step(self, own: OwnMap, scan: Look, motion: Motion, around: Floats) -> Floats | None:
        """Take in one scan.

        Args:
            own: the robot's map.
            scan: the scan.
            motion: odometry since the last scan.
            around: (3,) last believed pose; places near it are searched first.

        Returns:
            The pose (3,) once there is no doubt about it.

        """
        self.hypotheses = [
            h for h in (self._follow(own, scan, motion, h) for h in self.hypotheses)
            if h.missed < 2 or (h.expected and h.astray < RESUMED)
        ]
        self._search(own, scan.surfels, around)
        self.hypotheses.sort(key=lambda h: -h.fit)
        self._merge()
        return self._verdict()

    def _verdict(self) -> Floats | None:
        for h in self.hypotheses:
            # Odometry and several scans in a row say the same: no other place is as likely. What
            # blocked the view may have been a door that is open now, but a robot that was carried
            # off meanwhile would find other contradictions: then it has to move a little.
            through = h.through / max(h.judged, 1)
            well = h.fit >= FIT and through <= THROUGH
            moved = h.travelled >= AGAIN and through <= CONTRADICTED
            if h.expected and h.confirmed >= CONFIRMATIONS and not h.missed and (well or moved):
                return h.pose
        if not (self._swept and self.hypotheses):
            return None
        best = self.hypotheses[0]
        hinted = self.hint is not None
        through = best.through / max(best.judged, 1)
        moved = best.travelled / DISTANCE + best.turned / TURN >= 1.0 + through / DOUBTFUL
        if best.confirmed < (CONFIRMATIONS if hinted else ALONE) or not (hinted or moved):
            return None
        if best.missed or best.fit < FIT or through > THROUGH:
            return None
        if any(h.fit > RIVAL * best.fit for h in self.hypotheses[1:]):
            return None
        return best.pose

    def _follow(
        self, own: OwnMap, scan: Look, motion: Motion, hypothesis: Hypothesis
    ) -> Hypothesis:
        prediction = compose(hypothesis.pose, motion.step)
        moved = replace(
            hypothesis,
            pose=prediction,
            travelled=hypothesis.travelled + motion.distance,
            turned=hypothesis.turned + motion.turn,
        )
        rows = own.keyframes.near(prediction, own.settings.local_radius)
        if not len(rows):
            return replace(moved, missed=moved.missed + 1)
        local = own.build(rows[: own.settings.local_keyframes], prediction, FINE)
        found = own.matcher.track(local, scan.surfels, prediction, motion)
        if not plausible(own, found, scan.surfels):
            if moved.expected:  # a view that is still blocked says nothing about the place
                moved = replace(
                    moved, fit=0.0, confirmed=0, judged=0, through=0, travelled=0.0, turned=0.0,
                    astray=moved.astray + motion.distance,
                )
            return replace(moved, missed=moved.missed + 1)
        witnesses = own.keyframes.near(found.pose, own.settings.local_radius)[:WITNESSES]
        judged, through = both_ways(
            own.keyframes, witnesses, scan.surfels, scan.profile, scan.origin, found.pose
        )
        moved = replace(moved, judged=moved.judged + judged, through=moved.through + through)
        if found.weak is not None:  # fits, as it would anywhere along this corridor
            return replace(moved, pose=found.pose, missed=0)
        n = moved.confirmed
        return replace(
            moved,
            pose=found.pose,
            fit=(n * moved.fit + fit(found)) / (n + 1),
            confirmed=n + 1,
            missed=0,
        )

    def _search(self, own: OwnMap, scan: Surfels, around: Floats) -> None:
        if not self._middles:
            self._swept |= self._middles is not None
            self._middles = self._order(own.keyframes, around)
        every = max(1, math.ceil(len(scan) / POINTS))
        thin = scan.every(every)
        known = set(own.keyframes.ids.tolist())
        for _ in range(min(SUBMAPS, len(self._middles))):
            middle = self._middles.pop(0)
            if middle not in known:
                continue
            row = own.keyframes.row(middle)
            pyramid = own.loops.submap(own.keyframes, row)
            hit = search(pyramid, thin, np.zeros(3), WINDOW, math.pi, SCORE)
            if hit is None:
                continue
            found = own.matcher.refine(pyramid.local, scan, hit[0])
            pose = compose(own.keyframes.poses[row], found.pose)
            placed = replace(found, pose=pose)
            if found.weak is None and self._allowed(pose) and plausible(own, placed, scan):
                self.hypotheses.append(Hypothesis(pose, fit(found), 1, 0, 0.0, 0.0))

    def _allowed(self, pose: Floats) -> bool:
        if self.hint is None or self.radius is None:
            return True
        return math.hypot(*(pose - self.hint)[:2]) <= self.radius

    def _order(self, keyframes: Keyframes, around: Floats) -> list[int]:
        """Ids of keyframes that cover the map, those near the last pose (or the hint) first."""
        centre = around if self.hint is None else self.hint
        reach = math.inf if self.radius is None else self.radius + WINDOW
        chosen: list[int] = []
        for row in keyframes.near(centre, reach):
            position = keyframes.poses[row]
            if all(math.hypot(*(position - keyframes.poses[c])[:2]) > APART for c in chosen):
                chosen.append(int(row))
        return [int(keyframes.ids[row]) for row in chosen]

    def _merge(self) -> None:
        """Keep one of hypotheses that mean the same place, and the best of all."""
        kept: list[Hypothesis] = []
        for h in self.hypotheses:
            for k, other in enumerate(kept):
                off = relative(other.pose, h.pose)
                if math.hypot(off[0], off[1]) < 0.4 and abs(wrap(float(off[2]))) < 0.3:
                    if h.expected or (h.confirmed > other.confirmed and not other.expected):
                        kept[k] = h
                    break
            else:
                kept.append(h)
        self.hypotheses = [h for n, h in enumerate(kept) if n < HYPOTHESES or h.expected]


def plausible(own: OwnMap, found: Alignment, scan: Surfels) -> bool:
    """Whether a scan fits the map at a pose and sees through none of its walls."""
    near = own.keyframes.near(found.pose, own.settings.local_radius)
    return (
        own.matcher.good(found)
        and contradiction(own.keyframes, scan, found.pose, near) < CONTRADICTED
    )
