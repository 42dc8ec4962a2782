"""The robot's own map: keyframes, the pose graph that joins them, and what of it is near."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

from delama_ros.localization.align import Alignment
from delama_ros.localization.calibration import Calibration
from delama_ros.localization.graph import PoseGraph, adjoint
from delama_ros.localization.keyframes import Keyframe, Keyframes, chains
from delama_ros.localization.local_map import LocalMap, build_map
from delama_ros.localization.loops import Loop, LoopFinder
from delama_ros.localization.matcher import Matcher, Motion
from delama_ros.localization.range_bias import RangeBias
from delama_ros.localization.se2 import Floats, Ints, compose, inverse_spd, relative, rotation
from delama_ros.localization.settings import LocalizationSettings
from delama_ros.localization.uncertainty import relative_covariances

RECENT = 10  # newest keyframes, always in the local map and never removed
CHAIN = 6  # keyframes before and after the nearest one of an older chain
CHAIN_EDGES = 2  # older chains that the newest keyframe is joined with ...
CHAIN_NEAR = 2.0  # m ... if they come this close
TENSION = 12.0  # squared standard deviations of new edges that call for an optimisation
SURE = 0.05  # share of the constraints from which on a match says more than its odometry prior
ALONG = 0.3  # yaw in a weak direction (a unit vector) up to which the match still tells the turn
FINE = 0.05  # m, resolution of the field that scans are tracked with


@dataclass(frozen=True, eq=False)
class Grown:
    """What a new keyframe brought about."""

    keyframe: int  # its id
    loops: tuple[Loop, ...]
    removed: dict[int, Floats]  # keyframes forgotten, with the poses they had
    optimised: bool


class OwnMap:
    """Keyframes and pose graph, and the reference keyframe the robot is tracked from."""

    def __init__(self, settings: LocalizationSettings, matcher: Matcher) -> None:
        self.settings = settings
        self.matcher = matcher
        self.keyframes = Keyframes()
        self.graph = PoseGraph(settings.edge_kernel)
        self.loops = LoopFinder(settings, matcher)
        self.calibration = Calibration()
        self.range_bias = RangeBias()
        self.reference = 0  # id of the keyframe the robot is tracked from
        self.looped = 0  # id of the keyframe at which the last loop was closed
        self.tension = 0.0  # disagreement of edges added since the last optimisation
        self.heirs: dict[int, int] = {}  # of keyframes removed with the last growth
        self.covariances: Floats = np.zeros((0, 3, 3))  # (K, 3, 3) relative to the reference
        self.timings: dict[str, float] = {}  # s of CPU, by stage of the last growth

    def start(self, keyframe: Keyframe, pose: Floats) -> None:
        """Begin with the first keyframe."""
        self.keyframes.add(keyframe, pose)
        self.update_covariances()

    def refer_to(self, pose: Floats) -> None:
        """Track from the keyframe nearest to a pose, since the robot was found there."""
        self.reference = int(self.keyframes.ids[self.keyframes.near(pose, math.inf)[0]])
        self.update_covariances()

    def grow(self, keyframe: Keyframe, pose: Floats, found: Alignment) -> Grown:
        """Add a keyframe with its edges, close loops, optimise and thin.

        Args:
            keyframe: the new one.
            pose: (3,) where it was tracked.
            found: the match that tracked it.

        Returns:
            What changed; poses of all keyframes may have.

        """
        self.timings = {}
        local = self.local_rows(pose)
        last = self.reference
        self.keyframes.add(keyframe, pose)
        self._join_recent(last, keyframe, pose, local, found)
        self._join_chains(local, keyframe, pose)
        self.reference = keyframe.id
        self.update_covariances()
        began = process_time()
        self._learn_range(found, pose)
        loops = self.loops.find(self.keyframes, self.covariances)
        self.timings['loops'] = process_time() - began
        for loop in loops:
            self.graph.add(loop.old, loop.new, loop.measured, loop.information, robust=True)
            self.looped = loop.new
        optimised = bool(loops) or self.tension > TENSION
        if optimised:
            began = process_time()
            self.optimise()
            self.timings['optimise'] = process_time() - began
        return Grown(keyframe.id, tuple(loops), self._thin(), optimised)

    def optimise(self) -> None:
        """Move all keyframes to where the edges agree best."""
        self.keyframes.poses = self.graph.optimize(self.keyframes.ids, self.keyframes.poses)
        self.tension = 0.0
        self.update_covariances()

    def update_covariances(self) -> None:
        """Propagate covariances from the reference keyframe."""
        self.covariances = relative_covariances(
            self.graph, self.keyframes.ids, self.keyframes.poses, self.reference
        )

    def motion(self, before: Floats, after: Floats) -> Motion:
        """Motion between two poses (3,) of corrected odometry."""
        step = relative(before, after)
        return Motion(step, self.calibration.doubt(step))

    def local_rows(self, pose: Floats) -> Ints:
        """Rows near a pose that are known well relative to the reference keyframe."""
        s = self.settings
        near = self.keyframes.near(pose, s.local_radius)
        spread = np.sqrt(self.covariances[near, 0, 0] + self.covariances[near, 1, 1])
        recent = np.abs(near - self.keyframes.row(self.reference)) < RECENT
        kept: Ints = near[(spread < s.certain) | recent]
        return kept[: s.local_keyframes]

    def build(self, rows: Ints, centre: Floats, resolution: float | None) -> LocalMap:
        """Map of some rows around a centre."""
        return build_map(
            self.keyframes.surfels(rows),
            self.keyframes.poses[rows],
            centre[:2],
            self.settings.reach,
            resolution,
        )

    def covariance_of(self, pose: Floats, keyframe: int) -> Floats:
        """Covariance (3, 3) of the robot's pose relative to a keyframe, in map axes."""
        row, reference = self.keyframes.row(keyframe), self.keyframes.row(self.reference)
        back = adjoint(relative(self.keyframes.poses[reference], self.keyframes.poses[row]))
        own = back @ self.covariances[row] @ back.T
        # From the frame of the reference to that of the robot, then to map axes.
        step = adjoint(relative(pose, self.keyframes.poses[reference]))
        r = rotation(float(pose[2]))
        return np.asarray(r @ step @ own @ step.T @ r.T)

    def _join_recent(
        self, last: int, new: Keyframe, pose: Floats, local: Ints, found: Alignment
    ) -> None:
        """Join a keyframe with the reference, by a match with the chain before it."""
        row = self.keyframes.row(last)
        before = self.keyframes.items[row]
        since = self.motion(before.odometry, new.odometry)
        rows, followed = np.arange(max(0, row + 1 - RECENT), row + 1), True
        if row < len(self.keyframes) - 2:  # found again: the chain says nothing about odometry
            since, rows = Motion(relative(self.keyframes.poses[row], pose)), local
            followed = False
        prior = self.matcher.prior_covariance(since)
        r = rotation(float(pose[2]))
        own = self.matcher.refine(
            self.build(rows, pose, None),
            new.surfels,
            pose,
            compose(self.keyframes.poses[row], since.step),
            r @ inverse_spd(prior) @ r.T,
        )
        if not self.matcher.good(own) or math.hypot(*(own.pose - pose)[:2]) > 0.2:
            own = found
        at = pose if own is found else own.pose
        if at is pose and not np.array_equal(pose, found.pose):
            # Placed by odometry, which is all the edge may say.
            own, followed = replace(own, information=np.zeros((3, 3))), False
        information = self.matcher.edge_information(own, prior)
        measured = relative(self.keyframes.poses[row], at)
        self.graph.add(last, new.id, measured, information, robust=False)
        if followed and self.matcher.good(own):
            sure = own.share >= SURE
            turns = sure or (own.weak is not None and abs(float(own.weak[2])) < ALONG)
            self.calibration.learn(since.step, measured, along=sure, yaw=turns)

    def _learn_range(self, found: Alignment, pose: Floats) -> None:
        """Learn the laser's range error from a match, and free all scans from it."""
        if np.array_equal(pose, found.pose) and self.matcher.good(found):
            more = self.range_bias.learn(found.too_far, found.too_far_information)
            if more != 0.0:
                self.keyframes.take_off(more)
                self.loops.forget_submaps()

    def _join_chains(self, local: Ints, new: Keyframe, pose: Floats) -> None:
        """Join a keyframe with older chains that it sees again."""
        reference = self.keyframes.row(self.reference)
        older = local[np.abs(local - reference) >= RECENT]
        poses = self.keyframes.poses
        runs = []
        for run in chains(older):
            apart = np.hypot(*(poses[run, :2] - pose[:2]).T)
            if len(run) >= 3 and apart.min() < CHAIN_NEAR:
                runs.append((float(apart.min()), int(run[np.argmin(apart)]), run))
        for _, middle, run in sorted(runs, key=lambda r: r[:2])[:CHAIN_EDGES]:
            near = run[np.abs(run - middle) <= CHAIN]
            own = self.matcher.refine(self.build(near, pose, None), new.surfels, pose)
            if own.weak is None and self.matcher.good(own):
                information = self.matcher.edge_information(own, np.eye(3))
                measured = relative(poses[middle], own.pose)
                off = relative(own.pose, pose)
                self.tension += float(off @ information @ off)
                self.graph.add(
                    int(self.keyframes.ids[middle]), new.id, measured, information, robust=True
                )

    def _thin(self) -> dict[int, Floats]:
        """Forget a keyframe where a place holds too many; its edges pass to its neighbours."""
        s = self.settings
        self.heirs = {}
        held = {p.keyframe for p in self.graph.priors.values()}
        spare = self.keyframes.redundant(s.place_radius, s.place_turn, s.place_keyframes, RECENT)
        if spare is None or spare in held:
            return {}
        joined = self.graph.neighbours(spare)
        if not len(joined):
            return {}
        row = self.keyframes.row(spare)
        pose = self.keyframes.pose(spare)
        heir = int(joined[np.argmin(np.abs(joined - spare))])
        self.heirs = {spare: heir}
        self.graph.remove(spare, self.keyframes.ids, self.keyframes.poses)
        self.keyframes.remove(spare)
        self.covariances = np.delete(self.covariances, row, axis=0)
        self.looped = heir if self.looped == spare else self.looped
        return {spare: pose}
