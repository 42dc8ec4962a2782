"""Loop detection: find the recent surroundings again among older keyframes, and verify it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.localization.keyframes import Keyframes
from delama_ros.localization.local_map import build_map
from delama_ros.localization.matcher import Matcher
from delama_ros.localization.pyramid import Pyramid, make_pyramid, search
from delama_ros.localization.se2 import Floats, Ints, compose, relative, relatives, transform
from delama_ros.localization.settings import LocalizationSettings
from delama_ros.localization.surfels import Surfels
from delama_ros.localization.view import seen_through

RECENT = 8  # keyframes that make up the surroundings to be found again ...
LONGER = 3.0  # ... and how many more per metre of uncertainty ...
LONGEST = 24  # ... up to so many, since larger windows hold more places that look alike
CHAIN = 6  # keyframes before and after the candidate that make up a submap, with as many more
REACH = 10.0  # m of surroundings used for searching
POINTS = 250  # at most, of the surroundings; every other one is used for searching
NARROW = (1.0, math.radians(5.0))  # m, rad: window in which a candidate is to be confirmed
SUBMAPS = 2  # searched per keyframe
APART = 2.0  # m between the middles of two submaps searched for one keyframe
RESOLUTION = 0.1  # m, of the search
YAW_MARGIN = math.radians(3.0)
MARGIN = 0.4  # m
CONTRADICTED = 0.08  # largest share of points seen through
CACHED = 16  # submaps kept for the next keyframes
PENDING = 15  # keyframes after which an unconfirmed candidate is dropped
SURE = 0.3  # m, uncertainty up to which one verified match suffices
RIVAL = 0.85  # of the best score, from which on another pose in the window is a rival
AGREE = 0.25  # m, largest disagreement of two candidates at the same place
AGREE_YAW = math.radians(3.0)


@dataclass(frozen=True, eq=False)
class Loop:
    """A match of the newest keyframe with an older one."""

    old: int  # id
    new: int  # id
    measured: Floats  # (3,) pose of new seen from old
    information: Floats  # (3, 3) in the frame of new
    spread: float  # m, standard deviation of their relative position before the match
    inliers: float
    residual: float  # m


@dataclass(frozen=True, eq=False)
class Submap:
    """A chain of keyframes, ready to be searched."""

    ids: Ints  # (C,)
    poses: Floats  # (C, 3) in the frame of the middle one
    pyramid: Pyramid

    def fits(self, ids: Ints, poses: Floats) -> bool:
        """Whether the chain still consists of the same keyframes at the same poses."""
        return np.array_equal(ids, self.ids) and np.array_equal(poses, self.poses)


class LoopFinder:
    """Looks for loops after every keyframe; remembers candidates until others confirm them."""

    def __init__(self, settings: LocalizationSettings, matcher: Matcher) -> None:
        self.settings = settings
        self.matcher = matcher
        self.pending: list[Loop] = []
        self._submaps: dict[int, Submap] = {}
        self.turn = 0

    def forget_submaps(self) -> None:
        """Search submaps anew, since the scans of keyframes have changed."""
        self._submaps.clear()

    def find(self, keyframes: Keyframes, covariances: Floats) -> list[Loop]:
        """Search around the newest keyframe.

        Args:
            keyframes: all of them; the last is the newest.
            covariances: (K, 3, 3) of all keyframes relative to the newest.

        Returns:
            Loops that are verified and confirmed, to be added to the graph.

        """
        candidates = self._candidates(keyframes, covariances)
        new = keyframes.items[-1]
        self.pending = [p for p in self.pending if p.new > new.id - PENDING]
        if not candidates:
            return []
        found = []
        for row, expected in self._expected(keyframes, covariances) + candidates:
            loop = self._match(keyframes, row, covariances[row], expected)
            if loop is not None:
                found.append(loop)
        self.pending += found
        return self._confirmed(keyframes, found)

    def _expected(
        self, keyframes: Keyframes, covariances: Floats
    ) -> list[tuple[int, Floats | None]]:
        """Where the newest pending candidate would put the newest keyframe: row and pose there."""
        ids = keyframes.ids
        for loop in reversed(self.pending):
            if loop.spread <= SURE or not np.isin([loop.old, loop.new], ids).all():
                continue
            step = relative(keyframes.pose(loop.new), keyframes.poses[-1])
            pose = compose(compose(keyframes.pose(loop.old), loop.measured), step)
            for row in keyframes.near(pose, APART):
                spread = math.sqrt(covariances[row, 0, 0] + covariances[row, 1, 1])
                if self.settings.certain < spread < math.inf:
                    return [(int(row), relative(keyframes.poses[row], pose))]
        return []

    def _candidates(
        self, keyframes: Keyframes, covariances: Floats
    ) -> list[tuple[int, Floats | None]]:
        """Rows to search, far-known first; one per neighbourhood."""
        s = self.settings
        spread = np.sqrt(covariances[:, 0, 0] + covariances[:, 1, 1])
        known = np.isfinite(spread)
        spread = np.where(known, spread, 0.0)
        window = np.minimum(s.loop_sigmas * spread, s.loop_window)
        apart = np.hypot(*(keyframes.poses[:, :2] - keyframes.poses[-1, :2]).T)
        rows = np.flatnonzero(known & (spread > s.certain) & (apart < window + APART))
        if not len(rows):
            return []
        order = rows[np.argsort(apart[rows] - 0.5 * window[rows], kind='stable')]
        chosen: list[int] = []
        for row in order:
            p = keyframes.poses[row, :2]
            if all(np.hypot(*(p - keyframes.poses[c, :2])) > APART for c in chosen):
                chosen.append(int(row))
        # The best one is tried every time, the others take turns.
        self.turn += 1
        others = chosen[1:]
        if len(others) > SUBMAPS - 1:
            first = self.turn % len(others)
            others = (others[first:] + others[:first])[: SUBMAPS - 1]
        return [(row, None) for row in chosen[:1] + others]

    def _surroundings(self, keyframes: Keyframes, length: int) -> Surfels:
        rows = range(max(0, len(keyframes) - length), len(keyframes))
        poses = relatives(keyframes.poses[-1], keyframes.poses[list(rows)])
        around = build_map(keyframes.surfels(rows), poses, np.zeros(2), REACH)
        every = max(1, math.ceil(len(around) / POINTS))
        return Surfels(around.points, around.normals, np.ones(len(around)), around.cosines).every(
            every
        )

    def submap(self, keyframes: Keyframes, row: int, chain: int = CHAIN) -> Pyramid:
        """Search pyramid of the chain around a row, in the frame of that keyframe."""
        rows = list(range(max(0, row - chain), min(len(keyframes), row + chain + 1)))
        poses = relatives(keyframes.poses[row], keyframes.poses[rows])
        reach = self.settings.local_radius + self.settings.keyframe_distance * (chain - CHAIN)
        near = np.hypot(poses[:, 0], poses[:, 1]) < reach
        key, ids = int(keyframes.ids[row]), keyframes.ids[rows][near]
        known = self._submaps.get(key)
        if known is not None and known.fits(ids, poses[near]):
            return known.pyramid
        scans = [x for x, n in zip(keyframes.surfels(rows), near, strict=True) if n]
        pyramid = make_pyramid(
            build_map(scans, poses[near], np.zeros(2), self.settings.reach, RESOLUTION)
        )
        self._submaps.pop(key, None)
        if len(self._submaps) >= CACHED:
            del self._submaps[next(iter(self._submaps))]
        self._submaps[key] = Submap(ids, poses[near], pyramid)
        return pyramid

    def _match(
        self, keyframes: Keyframes, row: int, covariance: Floats, expected: Floats | None
    ) -> Loop | None:
        s = self.settings
        spread = math.sqrt(covariance[0, 0] + covariance[1, 1])
        more = min(int(LONGER * spread), LONGEST - RECENT)
        scan = self._surroundings(keyframes, RECENT + more)
        thin = scan.every(2)
        pyramid = self.submap(keyframes, row, CHAIN + more)
        guess = relative(keyframes.poses[row], keyframes.poses[-1])
        window = min(s.loop_sigmas * spread, s.loop_window) + MARGIN
        window_yaw = s.loop_sigmas * math.sqrt(covariance[2, 2]) + YAW_MARGIN
        if expected is not None:
            guess, (window, window_yaw) = expected, NARROW
        hit = search(pyramid, thin, guess, window, window_yaw, s.loop_score)
        if hit is None:
            return None
        found = self.matcher.refine(pyramid.local, scan, hit[0])
        again = self.contradiction(keyframes, row, found.pose)
        ok = (
            found.share >= s.loop_share
            and found.inliers >= s.loop_inliers
            and found.residual <= s.loop_residual
            and again <= CONTRADICTED
        )
        if ok and window > 1.0:
            least = RIVAL * hit[1]
            ok = not search(pyramid, thin, guess, window, window_yaw, least, avoid=found.pose)
        if not ok:
            return None
        information = self.matcher.edge_information(found, np.eye(3))
        old, new = keyframes.items[row].id, keyframes.items[-1].id
        return Loop(old, new, found.pose, information, spread, found.inliers, found.residual)

    def contradiction(self, keyframes: Keyframes, row: int, pose: Floats) -> float:
        """Share of points seen through, both ways, with the newest keyframe at a pose.

        The pose is given in the frame of the keyframe in `row`.
        """
        new = keyframes.items[-1]
        rows = range(max(0, row - CHAIN), min(len(keyframes) - 1, row + CHAIN + 1), 2)
        judged, through = 0, 0
        for r in rows:
            at = relative(keyframes.poses[row], keyframes.poses[r])
            old = keyframes.items[r]
            back = relative(at, pose)  # new seen from old
            points = transform(back, new.surfels.points)
            j, t = seen_through(old.profile, old.origin, np.zeros(3), points)
            judged, through = judged + j, through + t
            j, t = seen_through(new.profile, new.origin, back, old.surfels.points)
            judged, through = judged + j, through + t
        return through / judged if judged else 1.0

    def _confirmed(self, keyframes: Keyframes, found: list[Loop]) -> list[Loop]:
        accepted = []
        for loop in found:
            if loop.spread <= SURE:
                accepted.append(loop)
                continue
            friends = [
                other
                for other in self.pending
                if other is not loop
                and other.new != loop.new
                and self._agree(keyframes, loop, other)
            ]
            needed = 1 if loop.spread < 2.0 else 2
            if len({f.new for f in friends}) >= needed:
                accepted += [loop, *friends]
        if accepted:
            unique = {(a.old, a.new): a for a in accepted}
            self.pending = [p for p in self.pending if (p.old, p.new) not in unique]
            accepted = list(unique.values())
        return accepted

    def _agree(self, keyframes: Keyframes, loop: Loop, other: Loop) -> bool:
        """Whether the way new → old → other old → other new closes."""
        known = set(keyframes.ids.tolist())
        if not {loop.old, loop.new, other.old, other.new} <= known:
            return False
        old = relative(keyframes.pose(loop.old), keyframes.pose(other.old))
        new = relative(keyframes.pose(loop.new), keyframes.pose(other.new))
        off = relative(compose(loop.measured, new), compose(old, other.measured))
        return math.hypot(off[0], off[1]) < AGREE and abs(off[2]) < AGREE_YAW
