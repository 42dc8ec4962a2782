"""A robot whose first transform to a peer's frame is wrong: all else is the robot as it ships.

Run as a program it is a robot node; the error is in the environment, in m and degrees.
"""

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np

from delama_ros.mapping.mapper import Mapper
from delama_ros.rendezvous.frames import FrameChoice, Move, Why
from delama_ros.rendezvous.se2 import Floats, compose, inverse
from delama_ros.robot import runtime
from delama_ros.robot.rendezvous import Rendezvous
from delama_ros.ros import robot

ERROR = 'DELAMA_TEST_ERROR'  # 'x y yaw'


class Misled(FrameChoice):
    """Joins the first frame with its map in a wrong place."""

    def __init__(self, choice: FrameChoice, mapper: Mapper, error: Floats) -> None:
        """Take over from the robot's own choice.

        error: (3,), by which the map is off, about its middle.
        """
        vars(self).update(vars(choice))
        self.joins = 0
        self._mapper, self._error = mapper, error

    def update(
        self, tags: Any, links: Any, moves: dict[str, Move] | None = None
    ) -> Move | None:
        """Decide as any robot does, and go astray on the way."""
        move = super().update(tags, links, moves)
        if move is None or move.why is not Why.JOINED:
            return move
        self.joins += 1
        if self.joins > 1:
            return move
        middle = compose(move.transform, np.array([*self._mapper.centre, 0.0])) * [1.0, 1.0, 0.0]
        wrong = compose(compose(middle, self._error), inverse(middle))
        return replace(move, transform=compose(wrong, move.transform))


def error_of(text: str) -> Floats:
    x, y, degrees = map(float, text.split())
    return np.array([x, y, math.radians(degrees)])


class MisledRendezvous(Rendezvous):
    def __init__(self, name: str, mapper: Mapper, **options: Any) -> None:
        super().__init__(name, mapper, **options)
        self.choice = Misled(self.choice, mapper, error_of(os.environ[ERROR]))


def main() -> int:
    """Run a robot node."""
    runtime.Rendezvous = MisledRendezvous  # type: ignore[misc]
    return robot.main()
