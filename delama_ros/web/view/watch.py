"""The state of a swarm at any time, from the messages of its topics."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from delama_ros.geometry.frames import FrameError, Frames
from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.geometry.poses import yaw_of
from delama_ros.geometry.rigid import Rigid, checked
from delama_ros.geometry.score import score
from delama_ros.geometry.truth import SurfaceTruth, surface_truth
from delama_ros.web.view.history import Chronicle, Series
from delama_ros.web.view.images import Picture, map_picture, scan_points, truth_picture
from delama_ros.web.view.topics import Source

SILENT = 5.0  # s without a message after which a robot counts as silent
STRIDE = 0.1  # m between points of a trajectory
INFO, WARN = 20, 30  # levels of rcl_interfaces/Log
# Figures of a status that the page shows.
SHOWN = (
    'neighbours', 'rounds_complete', 'rounds_incomplete', 'rounds_incomplete_total', 'bytes_total',
)


class Place(NamedTuple):
    """Pose of a robot's sensor, and the scan taken there."""

    pose: Pose
    points: bytes  # see scan_points


class Robot:
    """Everything known of one robot, by time."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.name = namespace.rpartition('/')[2] or namespace
        self.maps: Series[Picture] = Series(300)
        self.rows: Series[dict[str, Any]] = Series(1000)
        self.states: Series[dict[str, Any]] = Series(600)  # status
        self.places: Series[Place] = Series(600)
        self.trail: Chronicle[tuple[float, float]] = Chronicle(4000)
        self.silent = False
        self.frame = ''  # of its map
        self.waiting: Any = None  # a scan without a transform
        # Map and row of a step carry the same stamp; either may arrive first.
        self.stamped_map: tuple[Any, OccupancyMap] | None = None
        self.stamped_step: tuple[Any, int] | None = None
        self.scored: Any = None  # stamp of the map that was scored last


class Watch:
    """Collects messages in order of time; may be filled and read by different threads."""

    def __init__(self, title: str, *, live: bool) -> None:
        """Create; live: time follows the clock, otherwise the messages."""
        self.title = title
        self.live = live
        self.lock = threading.RLock()
        self.version = 0  # grows with every change
        self.progress = 1.0  # share of a recording read so far
        self.robots: dict[str, Robot] = {}  # by namespace
        self.log: Chronicle[dict[str, Any]] = Chronicle(1000)
        self.scores: Chronicle[list[Any]] = Chronicle(20_000)  # see _score
        self.truths: dict[str, Picture] = {}  # by topic
        self._surfaces: dict[str, SurfaceTruth] = {}
        self._frames: dict[str, Frames] = {'': Frames()}  # by namespace
        self._began = time.monotonic()
        self._last = 0.0
        self._handlers: dict[str, Callable[[Source, Any, float], None]] = {
            'row': self._on_row,
            'map': self._on_map,
            'scan': self._on_scan,
            'pose': self._on_pose,
            'path': self._on_path,
            'tf': self._on_tf,
            'fixed': self._on_fixed,
            'status': self._on_status,
            'log': self._on_log,
            'truth': self._on_truth,
        }

    def now(self) -> float:
        """Return s since the start."""
        return time.monotonic() - self._began if self.live else self._last

    def take(self, source: Source, message: Any, at: float | None = None) -> None:
        """Add a message of ROS or of a bag, at a time or now."""
        with self.lock:
            self._last = max(self._last, self.now() if at is None else at)
            try:
                self._handlers[source.kind](source, message, self._last)
            except Exception as error:  # anything may be published: log it and continue
                self.add_line(self._last, WARN, 'view', f'{source.topic}: {error}')
            if source.kind not in ('tf', 'fixed'):
                self.version += 1

    def add_line(self, now: float, level: int, name: str, text: str) -> None:
        """Add a line to the log."""
        self.log.add(now, {'time': round(now, 1), 'level': level, 'name': name, 'text': text})
        self.version += 1

    def received(self, robot: Robot, at: float) -> float | None:
        """Return when a robot was last received before a time; None if never."""
        series: list[Series[Any]] = [robot.rows, robot.maps, robot.states]
        return max((entry.time for s in series if (entry := s.at(at))), default=None)

    def silence(self, robot: Robot, at: float) -> float:
        """Return for how many s a robot has been silent; 0 if that is usual for it."""
        last = self.received(robot, at)
        limit = max(SILENT, 3 * robot.states.pace)
        return at - last if last is not None and at - last > limit else 0.0

    def check_silence(self) -> None:
        """Log robots that fell silent or are back; to be called about once a second."""
        with self.lock:
            now = self.now()
            for robot in self.robots.values():
                silent = self.silence(robot, now) > 0
                if silent != robot.silent:
                    robot.silent = silent
                    text = 'is no longer received' if silent else 'is received again'
                    self.add_line(now, WARN if silent else INFO, robot.name, text)

    def _robot(self, source: Source) -> Robot:
        return self.robots.setdefault(source.robot, Robot(source.robot))

    def _on_row(self, source: Source, message: Any, now: float) -> None:
        robot = self._robot(source)
        robot.name, robot.frame = message.robot, message.header.frame_id
        pairs = zip(message.peers, message.weights, strict=True)
        weights = {peer: round(float(weight), 4) for peer, weight in pairs}
        before = robot.rows.at(now)
        if before and before.value['step'] > message.step:  # another run
            robot.trail.clear()
        robot.rows.add(now, {'step': int(message.step), 'weights': weights})
        robot.stamped_step = _stamp(message), int(message.step)
        self._score(robot, now)

    def _on_map(self, source: Source, message: Any, now: float) -> None:
        robot = self._robot(source)
        occupancy = _occupancy(message)
        robot.maps.add(now, map_picture(occupancy))
        robot.stamped_map = _stamp(message), occupancy
        self._score(robot, now)

    def _on_truth(self, source: Source, message: Any, now: float) -> None:
        truth = _occupancy(message)
        self.truths[source.topic] = truth_picture(truth)
        self._surfaces[source.topic] = surface_truth(truth)
        for robot in self.robots.values():
            self._score(robot, now)

    def _score(self, robot: Robot, now: float) -> None:
        """Score a map once its step and the truth are known, in the building it fits best."""
        if not (robot.stamped_map and robot.stamped_step and self._surfaces):
            return
        (stamp, occupancy), (of_step, step) = robot.stamped_map, robot.stamped_step
        if stamp != of_step or stamp == robot.scored:
            return
        robot.scored = stamp
        f1, topic = max((score(occupancy, s).f1, topic) for topic, s in self._surfaces.items())
        self.scores.add(now, [robot.namespace, step, round(f1, 6), topic, round(now, 2)])

    def _on_scan(self, source: Source, message: Any, now: float) -> None:
        robot = self._robot(source)
        robot.waiting = message
        self._locate(robot, now)

    def _locate(self, robot: Robot, now: float) -> None:
        """Show a scan as soon as the pose of its sensor is known."""
        scan = robot.waiting
        if scan is None or not robot.frame:
            return
        frames = self._frames.get(robot.namespace) or self._frames['']
        try:
            laser = frames.lookup_in_space(robot.frame, scan.header.frame_id, _seconds(scan))
        except FrameError:
            return
        robot.waiting = None
        self._move(robot, Place(laser.plane, scan_points(scan, hangs=laser.up < 0)), now)
        self.version += 1

    def _on_pose(self, source: Source, message: Any, now: float) -> None:
        robot = self._robot(source)
        place = robot.places.at(now)
        if place is None or not place.value.points:  # scans provide poses more often
            self._move(robot, Place(_pose(message.pose), b''), now)

    def _on_path(self, source: Source, message: Any, now: float) -> None:
        """Add the trajectory of a robot from before it was received."""
        robot = self._robot(source)
        if not robot.trail.count(math.inf):
            for stamped in message.poses:
                self._move(robot, Place(_pose(stamped.pose), b''), now)

    def _move(self, robot: Robot, place: Place, now: float) -> None:
        if not all(map(math.isfinite, place.pose)):
            raise ValueError(f'pose {place.pose}, expected finite numbers')
        robot.places.add(now, place)
        count = robot.trail.count(math.inf)
        last = robot.trail.part(count - 1, count) if count else []
        here = (place.pose[0], place.pose[1])
        if not last or math.dist(last[0], here) >= STRIDE:
            robot.trail.add(now, here)

    def _on_tf(self, source: Source, message: Any, now: float) -> None:
        frames = self._frames.setdefault(source.robot, Frames())
        for link in message.transforms:
            frames.add(link.header.frame_id, link.child_frame_id, _seconds(link), _link(link))
        for robot in self.robots.values():
            self._locate(robot, now)

    def _on_fixed(self, source: Source, message: Any, now: float) -> None:
        frames = self._frames.setdefault(source.robot, Frames())
        for link in message.transforms:
            frames.set_fixed(link.header.frame_id, link.child_frame_id, _link(link))

    def _on_status(self, source: Source, message: Any, now: float) -> None:
        robot = self._robot(source)
        robot.name = message.robot
        problems = list(message.problems)
        before = robot.states.at(now)
        if problems and (before is None or before.value['problems'] != problems):
            self.add_line(now, WARN, robot.name, '; '.join(problems))
        refused = dict(zip(message.refusals, map(int, message.refused), strict=True))
        robot.states.add(
            now,
            {
                'problems': problems,
                'bytes': int(message.bytes_local + message.bytes_relation + message.bytes_update),
                'refused': sum(refused.values()),
                'refusals': refused,
                **{name: int(getattr(message, name)) for name in SHOWN},
            },
        )

    def _on_log(self, source: Source, message: Any, now: float) -> None:
        if message.level >= INFO:
            self.add_line(now, int(message.level), message.name, message.msg)


def _occupancy(grid: Any) -> OccupancyMap:
    cells = np.asarray(grid.data, np.int8).reshape(grid.info.height, grid.info.width)
    return OccupancyMap(cells, grid.info.resolution, _pose(grid.info.origin))


def _pose(pose: Any) -> Pose:
    turn = pose.orientation
    yaw = yaw_of(turn.x, turn.y, turn.z, turn.w)
    return float(pose.position.x), float(pose.position.y), yaw


def _link(link: Any) -> Rigid:
    """Return the pose of a frame in its parent; ValueError if it is none."""
    shift, turn = link.transform.translation, link.transform.rotation
    pose = checked((shift.x, shift.y, shift.z), (turn.x, turn.y, turn.z, turn.w))
    if pose is None:
        raise ValueError(
            f'{link.child_frame_id}: expected finite numbers and a quaternion of length 1'
        )
    return pose


def _stamp(message: Any) -> tuple[int, int]:
    return message.header.stamp.sec, message.header.stamp.nanosec


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec) + float(message.header.stamp.nanosec) * 1e-9
