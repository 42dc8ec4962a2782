"""Poses by time: the little of TF that a ground robot's mapping needs.

Links are composed in space, as TF does, and only the result is projected to the plane: two tilted
links may add up to a laser that is level.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque

from delama_ros.geometry.grid import Pose
from delama_ros.geometry.rigid import IDENTITY, Rigid, between, chained, from_plane

JUMP = 1.0  # s that stamps may go back before it is taken for a clock that was set back


class FrameError(LookupError):
    """No transform: the text says which link is missing, or when it will be there."""


class Frames:
    """A tree of frames; each link holds recent poses of a child in its parent, or a fixed one."""

    def __init__(self, *, keep: float = 10.0) -> None:
        self._keep = keep  # s of history per link
        self._parents: dict[str, str] = {}
        self._fixed: dict[str, Rigid] = {}
        self._moving: dict[str, tuple[deque[float], deque[Rigid]]] = {}

    def set_fixed(self, parent: str, child: str, pose: Pose | Rigid) -> None:
        """Set a link that never changes."""
        self._parents[child] = parent
        self._fixed[child] = _in_space(pose)

    def add(self, parent: str, child: str, stamp: float, pose: Pose | Rigid) -> bool:
        """Add a pose of the child at `stamp` seconds; False if the clock must have jumped back.

        What was known of the link is forgotten then.
        """
        self._parents[child] = parent
        stamps, poses = self._moving.setdefault(child, (deque(), deque()))
        jumped = bool(stamps) and stamp < stamps[-1] - JUMP
        if jumped:
            stamps.clear()
            poses.clear()
        if stamps and stamp <= stamps[-1]:
            return True
        stamps.append(stamp)
        poses.append(_in_space(pose))
        while stamps[0] < stamp - self._keep:
            stamps.popleft()
            poses.popleft()
        return not jumped

    def chain(self, frame: str) -> list[str]:
        """Return a frame and its ancestors, up to the root."""
        names = [frame]
        while names[-1] in self._parents and len(names) <= len(self._parents):
            names.append(self._parents[names[-1]])
        return names

    def moves(self, frame: str) -> bool:
        """Tell whether the pose of a frame in its parent changes with time."""
        return frame in self._moving and frame not in self._fixed

    def newest(self, frame: str) -> float:
        """Return the newest stamp of a moving frame, s; -inf if there is none."""
        stamps = self._moving[frame][0] if frame in self._moving else ()
        return stamps[-1] if stamps else -math.inf

    def forget_link(self, frame: str) -> None:
        """Forget the poses of a frame in its parent."""
        self._moving.pop(frame, None)

    def forget(self, stamp: float) -> None:
        """Forget links whose newest pose is later than `stamp` seconds: the clock was set back."""
        for stamps, poses in self._moving.values():
            if stamps and stamps[-1] > stamp + JUMP:
                stamps.clear()
                poses.clear()

    def lookup(self, target: str, source: str, stamp: float) -> Pose:
        """Pose of `source` in its ancestor `target` at `stamp`; FrameError if not (yet) known."""
        return self.lookup_in_space(target, source, stamp).plane

    def lookup_in_space(self, target: str, source: str, stamp: float) -> Rigid:
        """Look up as `lookup`, before the projection to the plane."""
        pose, frame = IDENTITY, source
        for _ in range(len(self._parents) + 1):
            if frame == target:
                return pose
            if frame not in self._parents:
                break
            pose = chained(self._link(frame, stamp), pose)
            frame = self._parents[frame]
        raise FrameError(f'no transform from {target!r} to {source!r}: {frame!r} has no parent')

    def lookup_near(self, target: str, source: str, stamp: float, tolerance: float) -> Pose:
        """Look up as `lookup`, but make do with newest poses up to `tolerance` seconds older."""
        newest = stamp
        frame = source
        for _ in range(len(self._parents)):
            if frame == target or frame not in self._parents:
                break
            if frame in self._moving and self._moving[frame][0]:
                newest = min(newest, self._moving[frame][0][-1])
            frame = self._parents[frame]
        return self.lookup(target, source, max(newest, stamp - tolerance))

    def _link(self, child: str, stamp: float) -> Rigid:
        if child in self._fixed:
            return self._fixed[child]
        stamps, poses = self._moving.get(child, (deque(), deque()))
        if not stamps or stamp > stamps[-1]:
            newest = f'{stamps[-1]:.3f}' if stamps else 'none'
            raise FrameError(f'no pose of {child!r} at {stamp:.3f} s yet (newest: {newest})')
        if stamp < stamps[0]:
            raise FrameError(f'poses of {child!r} begin at {stamps[0]:.3f} s, after {stamp:.3f} s')
        i = bisect_left(stamps, stamp)
        if stamps[i] == stamp:
            return poses[i]
        share = (stamp - stamps[i - 1]) / (stamps[i] - stamps[i - 1])
        return between(poses[i - 1], poses[i], share)


def _in_space(pose: Pose | Rigid) -> Rigid:
    return pose if isinstance(pose, Rigid) else from_plane(pose)
