"""Poses in the plane by time: the little of TF that a ground robot's mapping needs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque

from delama_sim.grid import Pose

JUMP = 1.0  # s that stamps may go back before it is taken for a clock that was set back


class FrameError(LookupError):
    """No transform: the text says which link is missing, or when it will be there."""


def compose(a: Pose, b: Pose) -> Pose:
    """Pose b, given in frame a, in the frame in which a is given."""
    c, s = math.cos(a[2]), math.sin(a[2])
    return a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], a[2] + b[2]


class Frames:
    """A tree of frames; each link holds recent poses of a child in its parent, or a fixed one.

    A child may hang upside down on its parent: its pose is then where its x axis points, and what
    is given in it is mirrored.
    """

    def __init__(self, *, keep: float = 10.0) -> None:
        self._keep = keep  # s of history per link
        self._parents: dict[str, str] = {}
        self._fixed: dict[str, Pose] = {}
        self._moving: dict[str, tuple[deque[float], deque[Pose]]] = {}
        self._hanging: set[str] = set()  # children that are upside down

    def set_fixed(self, parent: str, child: str, pose: Pose, *, hangs: bool = False) -> None:
        """Set a link that never changes."""
        self._set_link(parent, child, hangs)
        self._fixed[child] = pose

    def add(
        self, parent: str, child: str, stamp: float, pose: Pose, *, hangs: bool = False
    ) -> bool:
        """Add a pose of the child at `stamp` seconds; False if the clock must have jumped back.

        What was known of the link is forgotten then.
        """
        self._set_link(parent, child, hangs)
        stamps, poses = self._moving.setdefault(child, (deque(), deque()))
        jumped = bool(stamps) and stamp < stamps[-1] - JUMP
        if jumped:
            stamps.clear()
            poses.clear()
        if stamps and stamp <= stamps[-1]:
            return True
        stamps.append(stamp)
        poses.append(pose)
        while stamps[0] < stamp - self._keep:
            stamps.popleft()
            poses.popleft()
        return not jumped

    def _set_link(self, parent: str, child: str, hangs: bool) -> None:
        self._parents[child] = parent
        (self._hanging.add if hangs else self._hanging.discard)(child)

    def forget(self, stamp: float) -> None:
        """Forget links whose newest pose is later than `stamp` seconds: the clock was set back."""
        for stamps, poses in self._moving.values():
            if stamps and stamps[-1] > stamp + JUMP:
                stamps.clear()
                poses.clear()

    def hangs(self, target: str, source: str) -> bool:
        """Whether `source` is upside down in its ancestor `target`."""
        over, frame = False, source
        for _ in range(len(self._parents)):
            if frame == target or frame not in self._parents:
                break
            over ^= frame in self._hanging
            frame = self._parents[frame]
        return over

    def lookup(self, target: str, source: str, stamp: float) -> Pose:
        """Pose of `source` in its ancestor `target` at `stamp`; FrameError if not (yet) known."""
        pose: Pose = (0.0, 0.0, 0.0)
        frame = source
        for _ in range(len(self._parents) + 1):
            if frame == target:
                return pose
            if frame not in self._parents:
                break
            if frame in self._hanging:
                pose = pose[0], -pose[1], -pose[2]
            pose = compose(self._link(frame, stamp), pose)
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

    def _link(self, child: str, stamp: float) -> Pose:
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
        a, b = poses[i - 1], poses[i]
        turn = math.remainder(b[2] - a[2], 2.0 * math.pi)
        x, y = a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
        return x, y, a[2] + share * turn
