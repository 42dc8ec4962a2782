"""The frame that a robot's outputs are in: that of its last map until the next is published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from delama_ros.geometry.grid import Floats, Pose
from delama_ros.geometry.poses import as_pose, compose, inverse
from delama_ros.robot.localization import Located

HERE = (0.0, 0.0, 0.0)


class ShownFrame:
    """Lets map, pose, path and map → odom change together when a robot changes its frame.

    A robot moves to another frame between two steps, and can draw its map there only at the end
    of the next one. Until then poses are published in the old frame, which that map is in.
    """

    def __init__(self) -> None:
        self._back: Pose | None = None  # of the robot's frame in the one that is shown

    def hold(self, move: Floats) -> None:
        """Keep showing the present frame although the robot moves on by `move` (3,)."""
        self._back = as_pose(compose(self._back or HERE, inverse(move)))

    def release(self) -> Pose | None:
        """Show the robot's frame from now on; returns where the old one is in it, if it differs."""
        back, self._back = self._back, None
        return None if back is None else as_pose(inverse(back))

    def located(self, located: Located) -> Located:
        """Return a pose of the robot in the frame that is shown."""
        back = self._back
        if back is None:
            return located
        turn = np.eye(3)
        turn[:2, :2] = [[np.cos(back[2]), -np.sin(back[2])], [np.sin(back[2]), np.cos(back[2])]]
        spread, correction = located.covariance, located.correction
        return replace(
            located,
            pose=as_pose(compose(back, located.pose)),
            covariance=None if spread is None else turn @ spread @ turn.T,
            correction=None if correction is None else as_pose(compose(back, correction)),
        )

    def from_shown(self, pose: Pose) -> Pose:
        """Return a pose that is given in the frame that is shown, in the robot's own."""
        return pose if self._back is None else as_pose(compose(inverse(self._back), pose))
