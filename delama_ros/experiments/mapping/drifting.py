"""Robots that drive with drifting odometry, localise themselves as asked, and map."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from delama_ros.geometry.anchors import Anchors
from delama_ros.geometry.grid import Floats, OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose, compose, inverse, relative
from delama_ros.localization import Localizer
from delama_ros.localization.graph import Prior, adjoint
from delama_ros.localization.heading import wall_direction
from delama_ros.localization.no_return import NoReturnFilter
from delama_ros.localization.scan import Sweep, prepare
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.default import make_mapper
from delama_ros.mapping.scan import Scan
from delama_ros.robot.rendezvous import Rendezvous
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import Encoding
from delama_sim import protocol as simulated
from delama_sim.lidar import Lidar

ROUGH = 0.2, math.radians(3.0)  # m and rad, standard deviations of rough starts
ROUGHLY = ('slam_rough', 'slam_rough_but_one')  # robots know their starts about
FREE = (*ROUGHLY, 'slam_unknown', 'slam_alone')  # robots begin in frames of their own
KNOWN = np.diag([0.01**2, 0.01**2, math.radians(0.5) ** 2])  # covariance of a start pose


class DriftingRobot:
    """One robot that drives, localises itself as asked, and maps a scan per step."""

    def __init__(
        self, name: str, measured: Sequence[simulated.Measurement], poses: str,
        checkpoint: Checkpoint, anchors: Anchors, start: Pose, frame: Pose, *, exact: bool = False,
    ) -> None:
        """Create a robot.

        Args:
            name: Of the robot.
            measured: What its sensors say.
            poses: A source of poses.
            checkpoint: The tile model.
            anchors: Where frames are.
            start: Its first pose in the frame that it begins in.
            frame: Pose of the frame that the first robot begins in, in the plan.
            exact: Whether it knows its start exactly, whatever the others do.
        """
        self.mapper = make_mapper(name, checkpoint)
        self._frame = frame
        self.rendezvous: Rendezvous | None = None
        self._measured, self._poses, self._anchors = measured, poses, anchors
        self._lidar = Lidar()
        self._localizer = Localizer(record=True)
        self._filter = NoReturnFilter()
        self._next = 0  # measurement
        self._mapped: list[int] = []  # measurements whose scans are in the map
        self.error = 0.0  # m, of the last pose
        if poses in FREE and not exact:
            spread = ROUGH if poses in ROUGHLY else None
            self.rendezvous = Rendezvous(name, self.mapper, spread=spread)
        self._localizer.set_pose(start, KNOWN)

    def drive(self, step: int) -> None:
        """Take in all measurements of a step; map the last one and move earlier ones."""
        last = None
        while self._next < len(self._measured) and self._measured[self._next].step <= step:
            last = self._next
            if self._poses.startswith('slam'):
                self._localise(self._measured[last])
            self._next += 1
        if last is None:
            return
        self._mapped.append(last)
        believed = self._believed()
        *moved, new = believed
        name, now = self.mapper.agent.name, self._measured[last]
        self._anchors.add_true(name, now.stamp, as_pose(now.true_pose))
        self._anchors.add_pose(name, now.stamp, as_pose(new))
        self.mapper.move_keyframes({k: as_pose(pose) for k, pose in enumerate(moved)})
        scan = Scan(
            self._measured[last].scan.astype(np.float64), self._lidar.angle_min,
            self._lidar.angle_increment, self._lidar.range_min, self._lidar.range_max,
        )
        sensor = as_pose(compose(new, self._lidar.mount))
        self.mapper.add_keyframe(len(moved), as_pose(new), sensor, scan)

    def occupancy(self) -> OccupancyMap:
        """Return the map where its frame is in the plan, and note the error of the last pose."""
        name, frame = self.mapper.agent.name, self.mapper.agent.frame
        if self._poses in ('exact_own_frame', 'exact_rough_frame'):
            drawn = self.mapper.occupancy()
            origin = as_pose(compose(self._frame, drawn.origin))
            return OccupancyMap(drawn.cells, drawn.resolution, origin)
        self._anchors.begin(name, frame)
        self.error = self._anchors.error(name, frame) or 0.0
        placed = self._anchors.placed(self.mapper.occupancy(), frame)
        assert placed is not None  # every robot is followed from the start
        return placed

    def find_frames(self) -> None:
        """Compare models after a step; the localizer follows to another frame."""
        if self.rendezvous is not None:
            # Its own frame may have other users after it has left it in the first step.
            self._anchors.begin(self.mapper.agent.name, self.mapper.agent.frame)
            move = self.rendezvous.update(math.inf)
            if move is not None:
                self._localizer.transform(move.transform)
                name, now = self.mapper.agent.name, self._measured[self._mapped[-1]]
                self._anchors.add_pose(name, now.stamp, as_pose(self._believed()[-1]))
            priors = self.rendezvous.priors()
            if priors is not None:
                self._localizer.set_priors({key: self._held(p) for key, p in priors.items()})

    def _held(self, prior: Prior) -> Prior:
        """Return what a prior of a mapped scan says about the keyframe that the scan hangs on."""
        assert self._localizer.trajectory is not None
        keyframe, step = self._localizer.trajectory.held(
            self._mapped[prior.keyframe], self._localizer.own.keyframes
        )
        back = np.linalg.inv(adjoint(step))
        pose = np.asarray(compose(prior.pose, inverse(step)))
        return Prior(keyframe, pose, back.T @ prior.information @ back)

    def _localise(self, measurement: simulated.Measurement) -> None:
        points, origin = _prepared(measurement, self._lidar, self._filter)
        self._localizer.add(measurement.stamp, measurement.odom_pose, points, origin)

    def _believed(self) -> Floats:
        """Return the poses (n, 3) of the base at all scans mapped so far, as known now."""
        if self._poses.startswith('slam') and self._localizer.trajectory is not None:
            poses = self._localizer.trajectory.poses(self._localizer.own.keyframes)[1]
            return poses[self._mapped]
        chosen = [self._measured[k] for k in self._mapped]
        if self._poses in ('exact_own_frame', 'exact_rough_frame'):
            return relative(self._frame, np.array([m.true_pose for m in chosen]))
        if self._poses == 'odometry':
            start = self._measured[0].true_pose
            return compose(start, np.array([m.odom_pose for m in chosen]))
        return np.array([m.true_pose for m in chosen])


def _prepared(
    measurement: simulated.Measurement, lidar: Lidar, rule: NoReturnFilter
) -> tuple[Floats, Floats]:
    """Return where beams ended, and the sensor, seen from the base."""
    sweep = Sweep(
        measurement.scan, lidar.angle_min, lidar.angle_increment, lidar.range_min, lidar.range_max
    )
    scan = prepare(
        sweep, rule, begin=measurement.odom_pose, end=measurement.odom_end, mount=lidar.mount
    )
    return scan.points[scan.valid], scan.origin


def first_pose(measurement: simulated.Measurement, poses: str, error: Floats) -> Pose:
    """Return the pose of the base in the frame that a robot begins in.

    error: (3,), of a rough start, in standard deviations.
    """
    if 'rough' in poses:
        return as_pose(measurement.true_pose + error * (ROUGH[0], *ROUGH))
    if poses not in FREE and poses != 'exact_own_frame':
        return as_pose(measurement.true_pose)
    points, _ = _prepared(measurement, Lidar(), NoReturnFilter())
    return 0.0, 0.0, -wall_direction(points)


class Step(NamedTuple):
    """What a step cost."""

    bytes: float  # per robot
    seconds: float  # of processor time per robot


def run_steps(
    robots: Sequence[DriftingRobot], links: Mapping[str, Sequence[str]], steps: int
) -> Iterator[Step]:
    """Let robots drive, exchange models with those that `links` names, and find frames.

    Yields after every step.
    """
    transport = LocalTransport((robot.mapper.agent for robot in robots), encoding=Encoding.DELTA)
    for t in range(steps):
        began = time.process_time()
        for robot in robots:
            robot.drive(t)
            robot.mapper.prepare()
        sent = transport.run_step(t + 1, {name: list(peers) for name, peers in links.items()}).bytes
        seconds = time.process_time() - began
        for robot in robots:
            robot.find_frames()
        yield Step(sum(sent.values()) / len(robots), seconds / len(robots))
