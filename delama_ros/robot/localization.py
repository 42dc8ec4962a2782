"""A robot's localization: scans and odometry in; poses, and edits of the map, out.

With slam the robot tracks itself in its own keyframes and only keyframes are mapped, so that the
map follows when their poses are corrected. Otherwise poses come from outside and every scan is
mapped where it was taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.grid import Floats, Pose
from delama_ros.geometry.poses import as_pose, compose, inverse, relative
from delama_ros.localization.estimate import Estimate, Status
from delama_ros.localization.graph import Prior
from delama_ros.localization.heading import wall_direction
from delama_ros.localization.localizer import Localizer
from delama_ros.localization.no_return import NoReturnFilter
from delama_ros.localization.scan import PreparedScan, Sweep, prepare
from delama_ros.localization.state import restore, save
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan, within
from delama_ros.robot.parameters import pose_option, uncertainty_option
from delama_ros.robot.status import LocalizationState, LocalizationStatus
from delama_ros.robot.sweep_order import SweepOrder, ordered
from delama_ros.robot.timed_scan import TimedScan

Edit = Callable[[Mapper], None]
PEER_RADIUS = 0.3  # m around a peer in which returns are taken to come from it
PREFIX = 'localization_'  # of the arrays in a memory file
KNOWN = np.diag([0.05**2, 0.05**2, math.radians(2.0) ** 2])  # covariance of a start pose
STATES = {
    Status.TRACKING: LocalizationState.TRACKING,
    Status.RELOCALISED: LocalizationState.TRACKING,
    Status.WEAK: LocalizationState.WEAK,
    Status.FAILED: LocalizationState.WEAK,
    Status.LOST: LocalizationState.LOST,
}


@dataclass(frozen=True, eq=False)
class Located:
    """Where the robot was at a scan."""

    stamp: float  # s
    pose: Pose  # of the base in the map
    covariance: Floats | None  # (3, 3) of the pose, if it is known
    correction: Pose | None  # of odom in the map, with slam

    def moved(self, shift: Pose) -> Located:
        """Return the same in another frame, in which the present one is at `shift`."""
        spread, correction = self.covariance, self.correction
        turn = np.eye(3)
        turn[:2, :2] = [[math.cos(shift[2]), -math.sin(shift[2])],
                        [math.sin(shift[2]), math.cos(shift[2])]]  # fmt: skip
        return Located(
            self.stamp,
            as_pose(compose(shift, self.pose)),
            None if spread is None else turn @ spread @ turn.T,
            None if correction is None else as_pose(compose(shift, correction)),
        )


class Localization:
    """Localises one robot's scans; not thread-safe."""

    def __init__(self, options: Mapping[str, Any], *, record: bool = False) -> None:
        """Start without a map.

        Args:
            options: values of the parameters in `parameters.ROBOT`. Without a start pose the map
                frame begins where the base is at the first scan, its axes along the walls.
            record: keep the pose of every scan (for evaluation; grows with the path).
        """
        self._record = record
        self._mode = options['no_return']
        self._order_option = options['sweep_order']
        self._reach = options['reach']
        self._start = pose_option(options, 'start_pose')
        self._start_odometry = pose_option(options, 'start_odometry')
        self._uncertainty = uncertainty_option(options)
        self.reset()

    def reset(self) -> None:
        """Forget keyframes and poses."""
        self._filter = NoReturnFilter(self._mode)
        self._order = SweepOrder(self._order_option)
        self._localizer = Localizer(record=self._record)
        self._started = False
        self._anchor: Pose | None = None  # of odom in the map, with mode odometry
        self._correction: Pose | None = None  # of odom in the map, with slam
        self._estimate: Estimate | None = None
        self._loops = 0
        self._bias = 0.0  # m by which the laser measures too far, as the map knows

    def add(self, timed: TimedScan) -> tuple[Located, list[Edit]]:
        """Localise a scan; returns its pose and what it changes in the map.

        Raises:
            ValueError: if the scan cannot be used.
        """
        if timed.mode == 'slam':
            timed = ordered(timed, self._order.choose(timed, self._localizer))
        else:  # nothing to find the order with
            timed = ordered(timed, 'none' if self._order_option == 'auto' else self._order_option)
        scan = prepare(
            timed.sweep, self._filter, begin=timed.begin, end=timed.end, mount=timed.mount
        )
        if timed.mode != 'slam':
            base = self._known_pose(timed)
            sensor = as_pose(compose(base, timed.mount))
            mapped, peers = self._mapped_scan(scan), timed.peers
            return Located(timed.stamp, base, None, None), [
                lambda mapper: mapper.add_scan(mapped, sensor, peers)
            ]
        if not self._started:
            self._started = True
            start = self._start_at(timed.begin)
            if start is None:  # a frame that is free to choose follows the walls
                start = 0.0, 0.0, -wall_direction(scan.points[scan.valid])
            self._localizer.set_pose(start, KNOWN)
        points = self._without_peers(scan.points[scan.valid], timed)
        estimate = self._localizer.add(timed.stamp, timed.begin, points, scan.origin)
        self._estimate = estimate
        self._loops += len(estimate.loops)
        pose = as_pose(estimate.pose)
        self._correction = as_pose(compose(pose, inverse(timed.begin)))
        located = Located(timed.stamp, pose, estimate.covariance, self._correction)
        return located, self._edits(estimate, scan, timed.peers)

    def _without_peers(self, points: Floats, timed: TimedScan) -> Floats:
        """Return the points (N, 2) that do not lie on peers, which move."""
        if not timed.peers or self._correction is None:
            return points
        predicted = compose(self._correction, timed.begin)
        peers = np.column_stack([timed.peers, np.zeros(len(timed.peers))])
        at = relative(predicted, peers)[:, :2]
        gaps = np.linalg.norm(points[:, None] - at, axis=-1)  # (N, P)
        apart: Floats = points[(gaps >= PEER_RADIUS).all(1)]
        return apart

    def _start_at(self, odometry: Pose) -> Pose | None:
        """Return the pose of the base in the map at the first scan, None if it is not known.

        The scan that `start_pose` was meant for may have been lost, and the robot moved since.
        """
        if self._start is None or self._start_odometry is None:
            return self._start
        return as_pose(compose(self._start, relative(self._start_odometry, odometry)))

    def _known_pose(self, timed: TimedScan) -> Pose:
        """Return the pose of the base in the map according to TF or odometry."""
        if timed.mode == 'tf':
            return timed.begin
        if self._anchor is None:
            start = self._start_at(timed.begin) or (0.0, 0.0, 0.0)
            self._anchor = as_pose(compose(start, inverse(timed.begin)))
        return as_pose(compose(self._anchor, timed.begin))

    def _edits(
        self, estimate: Estimate, scan: PreparedScan, peers: list[tuple[float, float]]
    ) -> list[Edit]:
        edits: list[Edit] = []
        moved = {name: as_pose(pose) for name, pose in estimate.moved.items()}
        name, removed = estimate.keyframe, estimate.removed
        if name is not None:
            pose = moved.pop(name, as_pose(estimate.pose))
            sensor, mapped = as_pose(compose(pose, scan.mount)), self._mapped_scan(scan)
            edits.append(lambda mapper: mapper.add_keyframe(name, pose, sensor, mapped, peers))
        if moved:
            edits.append(lambda mapper: mapper.move_keyframes(moved))
        if removed:
            edits.append(lambda mapper: mapper.remove_keyframes(removed))
        bias = self._localizer.own.range_bias.used
        if bias != self._bias:
            self._bias = bias
            edits.append(lambda mapper: mapper.set_range_bias(bias))
        return edits

    def _mapped_scan(self, scan: PreparedScan) -> Scan:
        """Return what is mapped of a scan."""
        ranges = Scan(
            scan.ranges, scan.angle_min, scan.angle_increment, scan.range_min, scan.range_max
        )
        return within(ranges, self._reach)

    @property
    def free(self) -> bool:
        """Whether the map frame is the robot's own, as its start is not known exactly."""
        return self._started and (self._start is None or self._uncertainty is not None)

    @property
    def spread(self) -> tuple[float, float] | None:
        """Standard deviations of the start pose, m and rad; None if it is unknown or exact."""
        return None if self._start is None else self._uncertainty

    def trajectory(self) -> Floats:
        """Return the poses (T, 3) of the base at all scans with all corrections, if recorded."""
        recorded = self._localizer.trajectory
        if recorded is None:
            raise ValueError('poses of scans were not recorded')
        return recorded.poses(self._localizer.own.keyframes)[1]

    def transform(self, shift: Floats) -> None:
        """Re-express everything in another frame, in which the map frame is at `shift` (3,)."""
        self._localizer.transform(shift)
        if self._correction is not None:
            self._correction = as_pose(compose(shift, self._correction))

    def set_priors(self, priors: Mapping[str, Prior]) -> list[Edit]:
        """Let keyframes be where peers' maps place them; returns what that changes in the map."""
        before = self._localizer.pose
        moved = {name: as_pose(pose) for name, pose in self._localizer.set_priors(priors).items()}
        if self._correction is not None:
            shift = compose(self._localizer.pose, inverse(before))
            self._correction = as_pose(compose(shift, self._correction))
        return [lambda mapper: mapper.move_keyframes(moved)] if moved else []

    def set_pose(self, pose: Pose, covariance: npt.ArrayLike) -> None:
        """Set the pose of the base in the map; scans then confirm it.

        Raises:
            ValueError: for values that are not finite.
        """
        self._localizer.set_pose(pose, covariance)
        self._started = True

    def relocalize(self) -> None:
        """Search the whole map for the robot; ValueError if there is no map yet."""
        self._localizer.relocalize()

    def status(self) -> LocalizationStatus:
        """Return how well the robot knows where it is."""
        estimate = self._estimate
        if estimate is None:
            return LocalizationStatus()
        lost = self._localizer.lost
        return LocalizationStatus(
            state=LocalizationState.LOST if lost else STATES[estimate.status],
            match_quality=estimate.quality,
            drift=estimate.drift,
            loops=self._loops,
            keyframes=len(self._localizer.own.keyframes),
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return keyframes and pose graph as arrays; empty before the first scan."""
        if self._localizer.odometry is None:
            return {}
        return {PREFIX + name: array for name, array in save(self._localizer).items()}

    def read(self, state: Mapping[str, npt.NDArray[Any]]) -> Localizer | None:
        """Return the localizer saved by `state`, None if there is none; ValueError if damaged."""
        own = {
            name.removeprefix(PREFIX): array
            for name, array in state.items()
            if name.startswith(PREFIX)
        }
        if not own:
            return None
        localizer = Localizer()
        restore(localizer, own)
        return localizer

    def adopt(self, localizer: Localizer | None) -> None:
        """Continue with a localizer that was read, or without a map."""
        self.reset()
        if localizer is not None:
            self._localizer, self._started = localizer, True


def warm_up(localization: Localization) -> None:
    """Compile what the localizer needs, on an object that is not used otherwise."""
    angles = np.arange(180) * (math.pi / 90)
    c, s = np.cos(angles), np.sin(angles)
    for step in range(8):
        x = 0.15 * step
        with np.errstate(divide='ignore'):
            along = np.where(c > 0, (3.0 - x) / c, (-2.0 - x) / c)
            across = np.where(s > 0, 2.0 / s, -1.5 / s)
        ranges = np.minimum(along, across)
        sweep = Sweep(ranges, 0.0, math.pi / 90, 0.1, 8.0)
        moving = (x + 0.01, 0.0, 0.0) if step == 7 else None
        pose = (x, 0.0, 0.0)
        localization.add(
            TimedScan(0.2 * step, sweep, pose, moving, (0.0, 0.0, 0.0), 'slam', [])
        )
