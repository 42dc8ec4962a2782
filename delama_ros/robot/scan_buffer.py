"""Laser scans of a robot, held back until the motion of its base is known."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from delama_ros.geometry.frames import JUMP, FrameError, Frames
from delama_ros.geometry.grid import Pose
from delama_ros.geometry.poses import as_pose, relative
from delama_ros.localization.scan import Sweep
from delama_ros.robot.timed_scan import TimedScan

PEER_AGE = 0.5  # s, maximum age of a peer's pose when its body is masked
PATIENCE = 1.0  # s of wall time that a scan waits for its transforms
AHEAD = 60.0  # s that the stamp of a scan may be ahead of the clock
LEVEL = 0.9  # cosine of the tilt beyond which a laser does not scan in the plane of the map
FAR = 1_000.0  # m from the origin of the map, beyond which peers would reject tiles (max_index)


class Waiting(NamedTuple):
    """A scan whose base has no pose yet."""

    arrival: float  # monotonic s
    stamp: float  # s
    frame: str
    sweep: Sweep


class ScanBuffer:
    """Passes scans on in order, each with the motion of the base and the positions of peers.

    The base is the lowest moving frame above the laser, unless the parameter `base_frame` names
    another; its parent is the odom frame unless poses come from TF.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        frames: Frames,
        *,
        peers: Callable[[], Iterable[str]],
        take: Callable[[TimedScan], None],
        info: Callable[[str], object],
        warn: Callable[[str], object],
    ) -> None:
        """Prepare.

        Args:
            options: values of the parameters in `parameters.ROBOT`.
            frames: the transform tree, filled by somebody else.
            peers: names of the peers whose bodies may appear in scans.
            take: receives the scans.
            info: logs which localization was chosen.
            warn: logs why a scan was dropped.
        """
        self._map_frame = options['map_frame']
        self._peer_frame = options['peer_frame']
        self._base_frame = options['base_frame']
        self._delay = options['scan_delay']
        self._quiet = options['quiet']
        self._frames, self._peers, self._take = frames, peers, take
        self._info, self._log = info, warn
        self.mode: str = options['localization']  # auto until the first scan has a pose
        self.base = ''  # frame, once it is known ...
        self.odom = ''  # ... and its parent
        self.peer_poses: dict[str, Pose] = {}  # at the newest scan passed on, as far as TF knows
        self._waiting: deque[Waiting] = deque(maxlen=1000)
        self._newest = -math.inf  # stamp, s
        self._last = time.monotonic()  # arrival of the newest scan
        self._tilted: set[str] = set()  # frames of lasers that a warning was logged for
        self._fault = (-math.inf, '')  # when a scan was last dropped, and why

    def add(self, stamp: float, frame: str, sweep: Sweep, now: float) -> None:
        """Add a scan that arrives at `now` s of the ROS clock, 0 if that is not set yet."""
        self._last = time.monotonic()
        if now and stamp - now > AHEAD:
            self._drop(f'scan dropped: its stamp is {stamp - now:.0f} s ahead of the clock')
            return
        if stamp < self._newest - JUMP:
            self._drop(f'the clock jumped back to {stamp:.1f} s: pending scans are dropped')
            self._waiting.clear()
            self._frames.forget(stamp)
        self._newest = stamp
        self._waiting.append(Waiting(self._last, stamp, frame, sweep))
        self.process()

    def process(self) -> None:
        """Pass on every scan whose pose is known by now."""
        while self._waiting:
            waiting = self._waiting[0]
            late = time.monotonic() - waiting.arrival >= PATIENCE
            try:
                scan = self._timed(waiting, late=late)
            except FrameError as error:
                if not late:
                    return
                self._waiting.popleft()
                self._drop(f'scan dropped: {error}')
                continue
            self._waiting.popleft()
            if max(map(abs, scan.begin[:2])) > FAR:
                at = scan.begin[:2]
                self._drop(f'scan refused: its pose is {at}, expected less than {FAR:g} m')
                continue
            self._take(scan)

    def _timed(self, waiting: Waiting, *, late: bool) -> TimedScan:
        frames, sweep, frame = self._frames, waiting.sweep, waiting.frame
        stamp = waiting.stamp - self._delay
        fixed = self._choose(frame, late=late)
        begin = frames.lookup(fixed, self.base, stamp)
        end = None
        duration = sweep.time_increment * sweep.ranges.size
        if duration > 0:
            try:
                end = frames.lookup(fixed, self.base, stamp + duration)
            except FrameError:
                if not late:
                    raise
        # Against the fixed frame, not the base, which may be tilted itself.
        laser = frames.lookup_in_space(fixed, frame, stamp)
        self._check_level(frame, laser.up)
        if laser.up < 0:
            sweep = upside_down(sweep)
        mount = as_pose(relative(begin, laser.plane))
        self.peer_poses = self._peers_at(stamp)
        positions = [pose[:2] for pose in self.peer_poses.values()]
        return TimedScan(waiting.stamp, sweep, begin, end, mount, self.mode, positions)

    def _choose(self, frame: str, *, late: bool) -> str:
        """Return the frame in which the base moves; choose the mode if that is left to us."""
        chain = self._frames.chain(frame)
        known = self._map_frame in chain
        if self.mode == 'auto':
            moving = any(map(self._frames.moves, chain))
            if not known and not (late and moving):  # somebody may publish map → odom in a moment
                raise FrameError(f'no moving frame above {frame!r}, only {chain[1:]}')
            self.mode = 'tf' if known else 'slam'
            self._info(
                f'localization: {self.mode}, as '
                f'{"another node publishes" if known else "nobody publishes"} {self._map_frame!r}'
            )
        base = self._base_frame or next((f for f in chain if self._frames.moves(f)), '')
        if base not in chain[:-1]:
            missing = f'{chain[-1]!r} has no parent'
            raise FrameError(f'no transform from {self._map_frame!r} to {frame!r}: {missing}')
        self.base, self.odom = base, chain[chain.index(base) + 1]
        return self._map_frame if self.mode == 'tf' else self.odom

    def refuse(self, reason: str) -> None:
        """Take note that a scan arrived that could not be read."""
        self._last = time.monotonic()
        self._drop(f'scan refused: {reason}')

    def problems(self, topic: str) -> list[str]:
        """Return what is wrong at present with the scans of a topic."""
        now = time.monotonic()
        silent = [f'no scan for {self._quiet:g} s on {topic}'] * (now - self._last > self._quiet)
        when, fault = self._fault
        return [*silent, *([fault] if now - when < self._quiet else [])]

    def _check_level(self, frame: str, up: float) -> None:
        if abs(up) < LEVEL and frame not in self._tilted:
            self._tilted.add(frame)
            self._log(f'{frame!r} is tilted by {math.degrees(math.acos(up)):.0f} degrees: a laser '
                      'mounted there does not scan in the plane of the map')

    def _drop(self, text: str) -> None:
        self._fault = time.monotonic(), text
        self._log(text)

    def _peers_at(self, stamp: float) -> dict[str, Pose]:
        known: dict[str, Pose] = {}
        for name in self._peers() if self._peer_frame else ():
            frame = self._peer_frame.format(robot=name)
            try:
                known[name] = self._frames.lookup_near(self._map_frame, frame, stamp, PEER_AGE)
            except FrameError:
                continue
        return known


def upside_down(sweep: Sweep) -> Sweep:
    """Return a scan of a laser that is mounted upside down as seen from above."""
    return replace(sweep, angle_min=-sweep.angle_min, angle_increment=-sweep.angle_increment)
