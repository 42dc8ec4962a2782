"""Trajectory recorder: every scan's pose relative to a keyframe, so corrections reach it."""

from __future__ import annotations

import numpy as np

from delama_ros.localization.keyframes import Keyframes
from delama_ros.localization.se2 import Floats, compose, composes


class Trajectory:
    """For each scan its stamp, the keyframe it hangs on and its pose seen from there."""

    def __init__(self) -> None:
        self._stamps: list[float] = []
        self._keyframes: list[int] = []
        self._steps: list[Floats] = []
        self._heirs: dict[int, tuple[int, Floats]] = {}

    def __len__(self) -> int:
        return len(self._stamps)

    def add(self, stamp: float, keyframe: int, step: Floats) -> None:
        """Record a scan at pose `step` (3,) in the frame of a keyframe."""
        self._stamps.append(stamp)
        self._keyframes.append(keyframe)
        self._steps.append(step)

    def move(self, keyframe: int, heir: int, step: Floats) -> None:
        """Hang the scans of a removed keyframe on another, in whose frame it was at `step`."""
        self._heirs[keyframe] = heir, step

    def held(self, scan: int, keyframes: Keyframes) -> tuple[int, Floats]:
        """Keyframe that the scan of an index hangs on by now, and its pose (3,) seen from there."""
        keyframe, step = self._keyframes[scan], self._steps[scan]
        known = set(keyframes.ids.tolist())
        while keyframe not in known:
            keyframe, way = self._heirs[keyframe]
            step = compose(way, step)
        return keyframe, step

    def poses(self, keyframes: Keyframes) -> tuple[Floats, Floats]:
        """Stamps (T,) and poses (T, 3) of all scans according to the latest corrections."""
        at = {int(i): p for i, p in zip(keyframes.ids, keyframes.poses, strict=True)}

        def pose(keyframe: int) -> Floats:
            way = []
            while keyframe not in at:
                keyframe, step = self._heirs[keyframe]
                way.append(step)
            out: Floats = at[keyframe]
            for step in reversed(way):
                out = compose(out, step)
            return out

        anchors = {k: pose(k) for k in set(self._keyframes)}
        base = np.array([anchors[k] for k in self._keyframes]).reshape(-1, 3)
        steps = np.array(self._steps).reshape(-1, 3)
        return np.array(self._stamps), composes(base, steps)
