"""Poses of a recorded tree of frames at any time, in the plane."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.grid import Bools, Floats, Pose
from delama_ros.geometry.poses import compose


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
    """A tree of frames with all poses recorded for each of them."""

    def __init__(self) -> None:
        self._tracks: dict[str, Track] = {}  # by frame

    def add(self, parent: str, frame: str, stamp: float, pose: Pose, *, fixed: bool) -> None:
        """Add a pose of a frame in its parent; a new parent replaces the old one and its poses."""
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
