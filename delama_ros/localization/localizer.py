"""The localizer: one robot's SLAM as a state machine without clock, threads or ROS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import process_time

import numpy as np
import numpy.typing as npt

from delama_ros.localization.align import Alignment
from delama_ros.localization.check import checked_covariance, checked_points, checked_pose
from delama_ros.localization.estimate import Estimate, Status
from delama_ros.localization.graph import Prior
from delama_ros.localization.history import History
from delama_ros.localization.judge import judge
from delama_ros.localization.keyframes import Keyframe
from delama_ros.localization.local_map import LocalMap
from delama_ros.localization.matcher import Matcher, Motion
from delama_ros.localization.own_map import FINE, Grown, OwnMap
from delama_ros.localization.relocate import Look, Relocator
from delama_ros.localization.se2 import (
    Floats,
    Ints,
    compose,
    composes,
    inverse_spd,
    relative,
    rotation,
)
from delama_ros.localization.settings import LocalizationSettings
from delama_ros.localization.surfels import Surfels, make_surfels
from delama_ros.localization.trajectory import Trajectory
from delama_ros.localization.view import make_profile

LOST = (1.0, 0.5)  # m, and m per metre driven: standard deviation of a lost robot's position


class Localizer:
    """Tracks a robot in its own map, extends the map, closes loops, finds the robot again.

    Scans go in one by one with `add`, estimates come out. The map frame is the base frame of the
    first scan, unless `set_pose` was called before. The same input gives the same output.

    >>> import numpy as np
    >>> wall = np.linspace(-2.0, 2.0, 80)
    >>> ends = np.full(80, 2.0)
    >>> room = np.concatenate([np.c_[wall, ends], np.c_[wall, -ends], np.c_[ends, wall]])
    >>> localizer = Localizer()
    >>> localizer.add(0.0, (5.0, 0.0, 0.0), room).keyframe
    0
    >>> estimate = localizer.add(0.1, (5.12, 0.0, 0.0), room - [0.1, 0.0])  # moved by 0.10 m
    >>> estimate.status.value, bool(abs(estimate.pose[0] - 0.1) < 0.01)
    ('tracking', True)
    """

    def __init__(self, settings: LocalizationSettings | None = None, record: bool = False) -> None:
        """Start without a map.

        Args:
            settings: parameters; the defaults serve every robot known so far.
            record: keep the pose of every scan (for evaluation; grows with the path).

        """
        self.settings = settings or LocalizationSettings()
        self.matcher = Matcher(self.settings)
        self.own = OwnMap(self.settings, self.matcher)
        self.trajectory = Trajectory() if record else None
        self.timings: dict[str, float] = {}  # s of CPU time for the last scan, by stage
        self.pose: Floats = np.zeros(3)  # of the last scan, in the map frame
        self.odometry: Floats | None = None  # of the last scan, raw
        self.trusted: Floats = np.zeros(3)  # corrected odometry of the last scan that matched
        self.failures = 0  # scans in a row that did not match
        self.history = History()
        self.map: LocalMap | None = None  # what scans are tracked in, made of ...
        self.map_ids: Ints = np.empty(0, np.int64)  # ... these keyframes ...
        self.map_centre: Floats = np.zeros(2)  # ... around this point
        self.relocator: Relocator | None = None
        self._moved: dict[int, Floats] = {}  # to be reported with the next estimate

    @property
    def lost(self) -> bool:
        """Whether the robot does not know where it is."""
        return self.relocator is not None

    def add(
        self,
        stamp: float,
        odometry: npt.ArrayLike,
        points: npt.ArrayLike,
        origin: npt.ArrayLike = (0.0, 0.0),
    ) -> Estimate:
        """Localise one scan and keep it if it shows something new.

        Args:
            stamp: s; used for a constant-velocity prediction only, need not be regular.
            odometry: (3,) x, y (m), yaw (rad) of the base in the odom frame at that time.
            points: (N, 2) where beams ended, in the base frame, de-skewed; any order.
            origin: (2,) of the sensor in the base frame.

        Returns:
            The estimate.

        Raises:
            ValueError: for values that are not finite or of another shape.

        """
        odom, own = checked_pose('odometry', odometry), checked_points(points)
        at = np.asarray(origin, np.float64)
        if at.shape != (2,) or not np.isfinite(at).all() or not math.isfinite(stamp):
            raise ValueError(
                f'stamp is {stamp} and the sensor origin {origin!r}, expected finite numbers, (2,)'
            )
        self.timings = {}
        began = process_time()
        own = self.own.range_bias.correct(own, at)
        scan = make_surfels(own, at, self.settings.reach, self.settings.spacing)
        last = self.own.calibration.pose
        if self.odometry is None or self.map is None:
            self.odometry, self.trusted = odom, last
            return self._start(self._keyframe(0, stamp, last, scan, own, at))
        odom, self.odometry = self.own.calibration.advance(relative(self.odometry, odom)), odom
        step, since = self.own.motion(last, odom), self.own.motion(self.trusted, odom)
        prediction = compose(self.pose, step.step)
        if self.relocator is not None:
            look = Look(scan, make_profile(own, at), at)
            return self._find(stamp, look, step, prediction, self.relocator)
        others = self.history.predictions(stamp, odom)
        found = self.matcher.track(self.map, scan, prediction, since, others)
        self.pose, status = judge(self.own, found, prediction, scan, step)
        self.timings['scan'] = process_time() - began
        if status is Status.FAILED:
            self.failures += 1
            if self.failures >= self.settings.lost_after:
                self.relocator, status = Relocator(expected=self.pose), Status.LOST
        else:
            self.failures, self.trusted = 0, odom
            self.history.add(stamp, odom, self.pose)
        grown = None
        if self.failures == 0 and self._keyframe_due():
            began = process_time()
            new = self._keyframe(self.own.keyframes.next_id, stamp, odom, scan, own, at)
            grown = self._grow(new, found)
            self.timings |= self.own.timings
            self.timings['keyframe'] = process_time() - began
        return self._estimate(stamp, status, found, grown)

    def _find(
        self, stamp: float, scan: Look, step: Motion, prediction: Floats, relocator: Relocator
    ) -> Estimate:
        """Go on looking for the place of a lost robot; odometry bridges the time."""
        began = process_time()
        self.pose = prediction
        pose = relocator.step(self.own, scan, step, prediction)
        status = Status.LOST
        if pose is not None:
            status, self.relocator, self.failures = Status.RELOCALISED, None, 0
            self.pose, self.trusted = pose, self.own.calibration.pose
            self.history.clear()
            self.history.add(stamp, self.trusted, pose)
            self.own.refer_to(pose)
            self._rebuild()
        self.timings['relocate'] = process_time() - began
        assert self.map is not None
        found = self.matcher.refine(self.map, scan.surfels, self.pose)
        return self._estimate(stamp, status, found, None)

    def _start(self, keyframe: Keyframe) -> Estimate:
        self.own.start(keyframe, self.pose)
        self.history.add(keyframe.stamp, keyframe.odometry, self.pose)
        self._rebuild()
        points = float(keyframe.surfels.weights.sum())
        perfect = Alignment(self.pose, np.zeros((3, 3)), 1.0, 0.0, 1.0, None, 1.0, points, 0.0, 0.0)
        status = Status.TRACKING if self.matcher.good(perfect) else Status.WEAK
        return self._estimate(keyframe.stamp, status, perfect, Grown(0, (), {}, False))

    def _keyframe_due(self) -> bool:
        step = relative(self.own.keyframes.pose(self.own.reference), self.pose)
        return (
            math.hypot(step[0], step[1]) >= self.settings.keyframe_distance
            or abs(float(step[2])) >= self.settings.keyframe_turn
        )

    def _keyframe(
        self, name: int, stamp: float, odom: Floats, scan: Surfels, points: Floats, at: Floats
    ) -> Keyframe:
        return Keyframe(name, stamp, odom, scan, at, make_profile(points, at))

    def _grow(self, keyframe: Keyframe, found: Alignment) -> Grown:
        known = self.own.keyframes.reported.copy(), self.own.keyframes.ids
        grown = self.own.grow(keyframe, self.pose, found)
        self._follow(self.own.keyframes.pose(keyframe.id))
        for removed, pose in grown.removed.items():
            reported = known[0][np.searchsorted(known[1], removed)]
            if self._noticeable(relative(reported, pose)):
                self._moved[removed] = pose
            if self.trajectory is not None:
                heir = self.own.heirs[removed]
                self.trajectory.move(removed, heir, relative(self.own.keyframes.pose(heir), pose))
        self._rebuild()
        return grown

    def _noticeable(self, step: Floats) -> bool:
        return (
            math.hypot(step[0], step[1]) > self.settings.report
            or abs(float(step[2])) > self.settings.report_yaw
        )

    def _follow(self, pose: Floats) -> None:
        """Go where the map went."""
        self.history.move(self.pose, pose)
        self.pose = pose

    def _rebuild(self) -> None:
        rows = self.own.local_rows(self.pose)
        self.map_ids, self.map_centre = self.own.keyframes.ids[rows], self.pose[:2].copy()
        self.map = self.own.build(rows, self.map_centre, FINE)

    def _estimate(
        self, stamp: float, status: Status, found: Alignment, grown: Grown | None
    ) -> Estimate:
        own, reference = self.own, self.own.reference
        if self.trajectory is not None:
            step = relative(own.keyframes.pose(reference), self.pose)
            self.trajectory.add(stamp, reference, step)
        moved = own.keyframes.report(self.settings.report, self.settings.report_yaw) | self._moved
        self._moved = {}
        drift = own.covariance_of(self.pose, own.looped)
        return Estimate(
            stamp,
            self.pose.copy(),
            self._covariance(found, status),
            status,
            found.quality if status.trusted else 0.0,
            found.residual,
            None if found.weak is None else direction(found),
            math.sqrt(max(drift[0, 0] + drift[1, 1], 0.0)),
            None if grown is None else grown.keyframe,
            () if grown is None else tuple((loop.old, loop.new) for loop in grown.loops),
            moved,
            () if grown is None else tuple(grown.removed),
        )

    def _covariance(self, found: Alignment, status: Status) -> Floats:
        """Covariance relative to the first keyframe, in map axes; wide when lost."""
        out = self.own.covariance_of(self.pose, int(self.own.keyframes.ids[0]))
        if status in (Status.FAILED, Status.LOST):
            way = relative(self.trusted, self.own.calibration.pose)
            wide = LOST[0] + LOST[1] * math.hypot(way[0], way[1])
            return out + np.diag([wide**2, wide**2, 1.0])
        prior = self.matcher.prior_covariance(Motion(np.zeros(3)))
        r = rotation(float(self.pose[2]))
        own = inverse_spd(self.matcher.edge_information(found, prior))
        return np.asarray(out + r @ own @ r.T)

    def relocalize(self, hint: npt.ArrayLike | None = None, radius: float | None = None) -> None:
        """Give up the current pose and search the map for the robot with the next scans.

        Args:
            hint: (3,) pose near which to search first; only x and y matter.
            radius: m around the hint to which the search is limited; None for the whole map.

        Raises:
            ValueError: without a map, or for a bad hint or radius.

        """
        if self.map is None:
            raise ValueError('there is no map to relocalise in: add scans first')
        if radius is not None and not (math.isfinite(radius) and radius > 0):
            raise ValueError(f'radius is {radius}, expected metres or None')
        at = None if hint is None else checked_pose('hint', hint)
        self.relocator = Relocator(at, radius)
        self.failures = self.settings.lost_after

    def set_pose(self, pose: npt.ArrayLike, covariance: npt.ArrayLike) -> None:
        """Tell the localizer where the robot is.

        Before the first scan this chooses the map frame. Afterwards the robot counts as lost
        until its scans confirm a place within three standard deviations plus a metre.

        Args:
            pose: (3,) in the map frame.
            covariance: (3, 3) of it.

        """
        at = checked_pose('pose', pose)
        spread = checked_covariance('covariance', covariance)
        self.pose = at
        if self.map is not None:
            largest = float(np.linalg.eigvalsh(spread[:2, :2])[-1])
            self.relocalize(at, 1.0 + 3.0 * math.sqrt(max(largest, 0.0)))

    def set_priors(self, priors: Mapping[str, Prior]) -> dict[int, Floats]:
        """Replace all robust unary edges, such as matches with other robots' maps, and optimise.

        Args:
            priors: by name; those of keyframes that are gone are left out.

        Returns:
            Poses (3,) of keyframes that moved.

        Raises:
            ValueError: for bad numbers; nothing is changed then.

        """
        for key, prior in priors.items():
            checked_pose(f'pose of prior {key}', prior.pose)
            checked_covariance(f'information of prior {key}', prior.information)
        own = self.own
        known = set(own.keyframes.ids.tolist())
        own.graph.priors = {key: p for key, p in priors.items() if p.keyframe in known}
        if self.map is None:
            return {}
        step = relative(own.keyframes.pose(own.reference), self.pose)
        own.optimise()
        self._follow(compose(own.keyframes.pose(own.reference), step))
        self._rebuild()
        return own.keyframes.report(self.settings.report, self.settings.report_yaw)

    def transform(self, shift: npt.ArrayLike) -> None:
        """Re-express everything in another frame, in which the map frame is at `shift` (3,)."""
        by = checked_pose('shift', shift)
        keyframes = self.own.keyframes
        keyframes.poses = composes(by, keyframes.poses)
        keyframes.reported = composes(by, keyframes.reported)  # the caller re-expresses these too
        for key, prior in self.own.graph.priors.items():
            moved = compose(by, prior.pose)
            self.own.graph.priors[key] = Prior(prior.keyframe, moved, prior.information)
        self._follow(compose(by, self.pose))
        if self.relocator is not None:
            hint, expected = self.relocator.hint, self.relocator.expected
            self.relocator = Relocator(
                None if hint is None else compose(by, hint), self.relocator.radius,
                self.pose if expected else None,
            )
        if self.map is not None:
            self._rebuild()


def direction(found: Alignment) -> Floats:
    """Weak direction as a unit vector (x, y, yaw) in map axes, yaw in radians."""
    assert found.weak is not None
    out = found.weak.copy()
    out[2] /= found.lever
    return out / float(np.linalg.norm(out))
