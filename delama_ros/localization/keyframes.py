"""Keyframes: the scans a robot keeps, with their poses, and which of them one place can spare."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from delama_ros.localization.se2 import Floats, Ints, wraps
from delama_ros.localization.surfels import Surfels


@dataclass(frozen=True, eq=False)
class Keyframe:
    """One kept scan; its pose lives in `Keyframes.poses`, since the graph moves it."""

    id: int  # stable, ascending
    stamp: float  # s
    odometry: Floats  # (3,) in the odom frame
    surfels: Surfels  # in the base frame
    origin: Floats  # (2,) of the sensor in the base frame
    profile: Floats  # (360,) m, see view.py


class Keyframes:
    """All keyframes in order of their ids, with poses as one array."""

    def __init__(self) -> None:
        self.ids: Ints = np.empty(0, np.int64)  # (K,) ascending
        self.poses: Floats = np.empty((0, 3))  # (K, 3) in the map frame
        self.reported: Floats = np.empty((0, 3))  # (K, 3) poses the caller knows
        self.items: list[Keyframe] = []
        self.next_id = 0

    def __len__(self) -> int:
        return len(self.items)

    def add(self, keyframe: Keyframe, pose: Floats) -> None:
        """Append the newest keyframe."""
        self.ids = np.append(self.ids, keyframe.id)
        self.poses = np.concatenate([self.poses, pose[None]])
        self.reported = np.concatenate([self.reported, pose[None]])
        self.items.append(keyframe)
        self.next_id = keyframe.id + 1

    def remove(self, keyframe: int) -> None:
        """Forget a keyframe by its id."""
        row = self.row(keyframe)
        self.ids = np.delete(self.ids, row)
        self.poses = np.delete(self.poses, row, axis=0)
        self.reported = np.delete(self.reported, row, axis=0)
        del self.items[row]

    def take_off(self, metres: float) -> None:
        """Make all ranges shorter, since the laser measures too far."""
        for row, item in enumerate(self.items):
            self.items[row] = replace(
                item,
                surfels=item.surfels.nearer(metres),
                profile=np.where(item.profile > 0.0, np.maximum(item.profile - metres, 1e-3), 0.0),
            )

    def row(self, keyframe: int) -> int:
        """Row of an id; ValueError if it was never made or has been removed."""
        row = int(np.searchsorted(self.ids, keyframe))
        if row == len(self.ids) or self.ids[row] != keyframe:
            raise ValueError(f'there is no keyframe {keyframe}')
        return row

    def pose(self, keyframe: int) -> Floats:
        """Pose (3,) of an id."""
        return np.array(self.poses[self.row(keyframe)])

    def near(self, position: Floats, radius: float) -> Ints:
        """Rows of keyframes within a radius of a position (2,), nearest first."""
        squares = ((self.poses[:, :2] - position[:2]) ** 2).sum(1)
        rows = np.flatnonzero(squares < radius * radius)
        return rows[np.argsort(squares[rows], kind='stable')]

    def surfels(self, rows: Iterable[int]) -> list[Surfels]:
        """Surfels of several rows."""
        return [self.items[row].surfels for row in rows]

    def report(self, distance: float, turn: float) -> dict[int, Floats]:
        """Poses (3,) by id of keyframes that moved farther than that since last reported."""
        off = self.poses - self.reported
        far = np.hypot(off[:, 0], off[:, 1]) > distance
        rows = np.flatnonzero(far | (np.abs(wraps(off[:, 2])) > turn))
        self.reported[rows] = self.poses[rows]
        return {int(self.ids[row]): self.poses[row].copy() for row in rows}

    def redundant(self, radius: float, turn: float, most: int, recent: int) -> int | None:
        """Keyframe that the place of the newest one can spare.

        Args:
            radius: m, and
            turn: rad around the pose of the newest keyframe are its place.
            most: keyframes a place may hold.
            recent: the newest keyframes, and the first of all, are never spared.

        Returns:
            Id of the keyframe whose pose is closest to that of another one of the place (the
            older of the two, since the world may have changed), or None.

        """
        rows = self.near(self.poses[-1], radius)
        yaw = wraps(self.poses[rows, 2] - self.poses[-1, 2])
        rows = np.sort(rows[np.abs(yaw) < turn])
        if len(rows) <= most:
            return None
        place = self.poses[rows]
        apart = (
            np.linalg.norm(place[:, None, :2] - place[None, :, :2], axis=-1) / radius
            + np.abs(wraps(place[:, None, 2] - place[None, :, 2])) / turn
        )
        np.fill_diagonal(apart, math.inf)
        # Each pair is judged at its older member, which is the one to go.
        apart[np.tril_indices(len(rows))] = math.inf
        nearest = apart.min(1)
        nearest[(rows == 0) | (rows >= len(self.ids) - recent)] = math.inf
        best = int(np.argmin(nearest))
        return int(self.ids[rows[best]]) if math.isfinite(nearest[best]) else None


def chains(rows: Ints, gap: int = 2) -> list[Ints]:
    """Split rows into runs of neighbours in time: rows up to `gap` apart belong together."""
    ordered = np.sort(rows)
    return [
        run for run in np.split(ordered, np.flatnonzero(np.diff(ordered) > gap) + 1) if len(run)
    ]
