"""Poses of a recorded tree of frames at any time, in the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from delama_sim.grid import Bools, Floats, Pose


def yaw_of(x: float, y: float, z: float, w: float) -> float:
    """Heading of a quaternion, rad."""
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def compose(a: Floats, b: Floats) -> Floats:
    """Poses b (N, 3), given in frames a (N, 3), in the frame in which those are given."""
    c, s = np.cos(a[:, 2]), np.sin(a[:, 2])
    x, y = a[:, 0] + c * b[:, 0] - s * b[:, 1], a[:, 1] + s * b[:, 0] + c * b[:, 1]
    return np.stack([x, y, a[:, 2] + b[:, 2]], -1)


@dataclass
class Track:
    """Poses of a frame in its parent, by time; a fixed link has one, which holds at any time."""

    parent: str
    fixed: bool
    samples: dict[float, Pose] = field(default_factory=dict)  # by stamp in s

    def at(self, stamps: Floats, tolerance: float) -> tuple[Floats, Bools]:
        """Poses (N, 3) and where they are known: not more than `tolerance` s off either end."""
        times = np.array(sorted(self.samples))
        poses = np.array([self.samples[t] for t in times.tolist()])
        if self.fixed:
            return np.tile(poses[-1], (len(stamps), 1)), np.ones(len(stamps), np.bool_)
        columns = (poses[:, 0], poses[:, 1], np.unwrap(poses[:, 2]))
        known = (stamps >= times[0] - tolerance) & (stamps <= times[-1] + tolerance)
        return np.stack([np.interp(stamps, times, column) for column in columns], -1), known


class Tracks:
    """A tree of frames with everything that was ever said about them."""

    def __init__(self) -> None:
        self._tracks: dict[str, Track] = {}  # by frame

    def add(self, parent: str, frame: str, stamp: float, pose: Pose, *, fixed: bool) -> None:
        """Add a pose of a frame in its parent; the last word on who its parent is counts."""
        track = self._tracks.get(frame)
        if track is None or track.parent != parent or track.fixed != fixed:
            track = self._tracks[frame] = Track(parent, fixed)
        track.samples[stamp] = pose

    def chain(self, frame: str) -> list[str]:
        """Return the frame and its ancestors, up to the root."""
        names = [frame]
        while names[-1] in self._tracks and len(names) <= len(self._tracks):
            names.append(self._tracks[names[-1]].parent)
        return names

    def moves(self, frame: str) -> bool:
        """Whether the frame or one of its ancestors moves."""
        return any(not self._tracks[name].fixed for name in self.chain(frame)[:-1])

    def poses(
        self, frame: str, target: str, stamps: npt.ArrayLike, tolerance: float
    ) -> tuple[Floats, Bools]:
        """Poses (N, 3) of a frame in its ancestor `target`, and where they are known (N,)."""
        times = np.asarray(stamps, np.float64)
        result, known = np.zeros((len(times), 3)), np.ones(len(times), np.bool_)
        names = self.chain(frame)
        for name in names[: names.index(target)]:
            link, there = self._tracks[name].at(times, tolerance)
            result, known = compose(link, result), known & there
        return result, known
