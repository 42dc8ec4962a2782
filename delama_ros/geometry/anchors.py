"""Where frames that robots chose themselves lie in a building whose truth is known, for scores."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from delama_ros.geometry.frame_id import maker_of
from delama_ros.geometry.frames import FrameError, Frames
from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose, best_fit, compose, inverse

TRUTH = 'truth'
WAITING = 100  # poses of a robot that wait for the true one
FOLLOWED = 1000  # latest poses of a robot that say where its frame is
WRONG = 0.5  # m from where the frame's maker began it: a pose that says nothing about the frame
SPREAD = 1.0  # m, standard deviation of positions that a fit needs


class Anchors:
    """Compares poses that robots publish with the true ones.

    A frame begins with the robot that made it, where its true pose and its pose in the frame say.
    The heading of one scan is known to some tenths of a degree only, which is centimetres at the
    other end of a building, and no robot cares where the frame is. So as robots move about in it,
    the frame is taken to be where it fits the poses of all of them best, as absolute trajectory
    errors are measured. Robots that joined it wrongly have no say in this.
    """

    def __init__(self) -> None:
        self._true = Frames()
        self._waiting: dict[str, deque[tuple[float, Pose]]] = {}
        self._first: dict[str, Pose] = {}  # anchor by a robot's first pose
        self._last: dict[str, tuple[Pose, Pose]] = {}  # true pose and the robot's own
        self._frame_of: dict[str, str] = {}  # of each robot
        self._pairs: dict[str, deque[tuple[Pose, Pose]]] = {}  # as `_last`, in the robot's frame
        self._begun: set[str] = set()  # robots whose first frame is known
        self._frames: dict[str, Pose] = {}  # by id

    def add_true(self, robot: str, stamp: float, pose: Pose) -> None:
        """Add a robot's true pose at a time, s."""
        self._true.add(TRUTH, robot, stamp, pose)
        self._compare(robot)

    def add_pose(self, robot: str, stamp: float, pose: Pose) -> None:
        """Add a robot's pose in its own map at a time, s."""
        self._waiting.setdefault(robot, deque(maxlen=WAITING)).append((stamp, pose))
        self._compare(robot)

    def begin(self, robot: str, frame: str) -> None:
        """Take note that a robot's poses are in a frame from now on."""
        known = self._last.get(robot)
        if self._frame_of.get(robot) != frame:
            self._frame_of[robot] = frame
            if robot in self._pairs and robot in self._begun:  # earlier ones are of another frame
                self._pairs[robot] = deque([self._pairs[robot][-1]], maxlen=FOLLOWED)
        if frame in self._frames or maker_of(frame) != robot or known is None:
            return
        # Its first frame began with its first pose, before it could drift.
        now = as_pose(compose(known[0], inverse(known[1])))
        self._frames[frame] = now if robot in self._begun else self._first[robot]
        self._begun.add(robot)

    def of(self, frame: str) -> Pose | None:
        """Return the pose of a frame in the building; None if its maker was not followed."""
        begun = self._frames.get(frame)
        if begun is None:
            return None
        groups = []  # (n, 2, 2): true and believed positions, of each robot
        for robot, pairs in self._pairs.items():
            if self._frame_of.get(robot) == frame:
                true, believed = np.array(pairs).swapaxes(0, 1)
                off = compose(begun, believed)[:, :2] - true[:, :2]
                groups.append(np.stack([true, believed], 1)[np.hypot(*off.T) < WRONG, :, :2])
        points = np.concatenate([*groups, np.empty((0, 2, 2))])
        if len(points) < 2 or points[:, 0].std(0).max() < SPREAD:
            return begun
        weights = np.concatenate([np.full(len(g), 1.0 / max(len(g), 1)) for g in groups])
        return as_pose(best_fit(points[:, 1], points[:, 0], weights))

    def error(self, robot: str, frame: str) -> float | None:
        """Return how far, in m, a robot's last pose in a frame is from the true one.

        frame: '' is the building's own frame; None is returned if it is not known.
        """
        anchor = self.of(frame) if frame else (0.0, 0.0, 0.0)
        known = self._last.get(robot)
        if anchor is None or known is None:
            return None
        true, pose = known
        return math.dist(as_pose(compose(anchor, pose))[:2], true[:2])

    def placed(self, occupancy: OccupancyMap, frame: str) -> OccupancyMap | None:
        """Return a map of a frame where it is in the building; '' is the building's own frame."""
        if not frame:
            return occupancy
        anchor = self.of(frame)
        if anchor is None:
            return None
        origin = as_pose(compose(anchor, occupancy.origin))
        return OccupancyMap(occupancy.cells, occupancy.resolution, origin)

    def _compare(self, robot: str) -> None:
        waiting = self._waiting.get(robot)
        while waiting:
            stamp, pose = waiting[0]
            if self._true.newest(robot) < stamp:
                return
            waiting.popleft()
            try:
                true = self._true.lookup(TRUTH, robot, stamp)
            except FrameError:  # from before this robot was followed
                continue
            self._last[robot] = true, pose
            self._pairs.setdefault(robot, deque(maxlen=FOLLOWED)).append((true, pose))
            self._first.setdefault(robot, as_pose(compose(true, inverse(pose))))
