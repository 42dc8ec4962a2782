"""One robot in a world: where it truly is at any time, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from delama_ros.geometry.grid import Floats
from delama_sim.motion import Body, timed


class Drive:
    """An endless timed drive, extended leg by leg as far as anyone asks.

    Poses are a pure function of time, so a run does not depend on the steps it is advanced in.
    """

    def __init__(self, start: Floats, next_leg: Callable[[], Floats], body: Body) -> None:
        self._body = body
        self._next_leg = next_leg
        self._times = [np.zeros(1)]
        self._poses = [np.asarray(start, np.float64)[None]]  # headings unwrapped
        self._way = [np.zeros(1)]  # m driven
        self._joined: tuple[Floats, Floats, Floats] | None = None
        self._over = False

    def pose_at(self, time: float) -> Floats:
        """Pose (3,) after `time` seconds; heading in [-pi, pi)."""
        while not self._over and self._times[-1][-1] < time:
            self._extend()
        times, poses, _ = self._knots()
        pose = np.array([np.interp(time, times, poses[:, axis]) for axis in range(3)])
        pose[2] = (pose[2] + np.pi) % (2 * np.pi) - np.pi
        return pose

    def poses_at(self, times: Floats) -> Floats:
        """Poses (n, 3) after `times` (n,) seconds, not before the start; headings unwrapped."""
        self.pose_at(float(np.max(times)))
        knots, poses, _ = self._knots()
        return np.stack([np.interp(times, knots, poses[:, axis]) for axis in range(3)], -1)

    def speed_at(self, time: float) -> tuple[float, float]:
        """Forward speed (m/s) and turn rate (rad/s)."""
        self.pose_at(time)
        times, poses, way = self._knots()
        k = int(np.searchsorted(times, time, 'right')) - 1
        if k + 1 >= len(times):
            return 0.0, 0.0
        span = times[k + 1] - times[k]
        return float((way[k + 1] - way[k]) / span), float((poses[k + 1, 2] - poses[k, 2]) / span)

    def time_after(self, time: float, metres: float) -> float:
        """Seconds at which the robot has driven `metres` more than at `time`."""
        self.pose_at(time)
        times, _, way = self._knots()
        goal = float(np.interp(time, times, way)) + metres
        while not self._over and self._way[-1][-1] < goal:
            self._extend()
        times, _, way = self._knots()
        k = int(np.searchsorted(way, goal, 'left'))
        if k >= len(way):
            return float(times[-1])
        if k == 0:
            return time
        share = (goal - way[k - 1]) / (way[k] - way[k - 1])
        return max(time, float(times[k - 1] + share * (times[k] - times[k - 1])))

    def way_at(self, times: Floats) -> Floats:
        """Metres driven (n,) after `times` (n,) seconds."""
        self.pose_at(float(np.max(times)))
        knots, _, way = self._knots()
        driven: Floats = np.interp(times, knots, way)
        return driven

    def times_every(self, metres: float, radians: float, until: float) -> Floats:
        """Return times (n,) in [0, until] s, one per `metres` driven or `radians` turned.

        A robot that does both at once reaches the next time sooner: the shares add up.
        """
        self.pose_at(until)
        times, poses, way = self._knots()
        turned = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(poses[:, 2])))])
        progress = way / metres + turned / radians
        count = np.floor(np.interp(until, times, progress) + 1e-9)
        found: Floats = np.interp(np.arange(count + 1), progress, times)
        return found

    def _extend(self) -> None:
        leg = self._next_leg()
        times, poses = timed(leg, float(self._poses[-1][-1, 2]), self._body)
        if len(times) < 2:
            self._over = True
            return
        steps = np.hypot(*np.diff(poses[:, :2], axis=0).T)
        self._times.append(self._times[-1][-1] + times[1:])
        self._poses.append(poses[1:])
        self._way.append(self._way[-1][-1] + np.cumsum(steps))
        self._joined = None

    def _knots(self) -> tuple[Floats, Floats, Floats]:
        if self._joined is None:
            parts = (self._times, self._poses, self._way)
            times, poses, way = (np.concatenate(part) for part in parts)
            self._times, self._poses, self._way = [times], [poses], [way]
            self._joined = times, poses, way
        return self._joined
