"""Rigid transforms in space, as TF has them, and their projection to the plane of a map."""

from __future__ import annotations

import math
from typing import NamedTuple

from delama_ros.geometry.grid import Pose
from delama_ros.geometry.poses import yaw_of

Quaternion = tuple[float, float, float, float]  # x, y, z, w
NEAR = 0.9995  # cosine of half an angle that is too small to divide by its sine


class Rigid(NamedTuple):
    """The pose of a frame in its parent; the quaternion has length 1."""

    x: float
    y: float
    z: float  # m
    turn: Quaternion = (0.0, 0.0, 0.0, 1.0)

    @property
    def plane(self) -> Pose:
        """The pose seen from above: position, and where the x axis points."""
        return self.x, self.y, yaw_of(*self.turn)

    @property
    def up(self) -> float:
        """Cosine of the angle between the z axes: 1 if level, -1 if upside down."""
        return 1.0 - 2.0 * (self.turn[0] ** 2 + self.turn[1] ** 2)


IDENTITY = Rigid(0.0, 0.0, 0.0)


def from_plane(pose: Pose) -> Rigid:
    """Return a pose in the plane as a transform."""
    x, y, yaw = pose
    return Rigid(x, y, 0.0, (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))


def checked(shift: tuple[float, float, float], turn: Quaternion) -> Rigid | None:
    """Return a transform from numbers that somebody sent; None if they are not one."""
    length = math.hypot(*turn)
    if not (all(map(math.isfinite, (*shift, *turn))) and abs(length - 1.0) < 0.1):
        return None
    x, y, z, w = turn
    return Rigid(*shift, (x / length, y / length, z / length, w / length))


def chained(a: Rigid, b: Rigid) -> Rigid:
    """Return b, given in frame a, in the frame that a is given in."""
    x, y, z = _rotated(a.turn, b.x, b.y, b.z)
    return Rigid(a.x + x, a.y + y, a.z + z, _product(a.turn, b.turn))


def between(a: Rigid, b: Rigid, share: float) -> Rigid:
    """Interpolate: positions on a line, turns along the shorter arc (slerp)."""
    dot = sum(p * q for p, q in zip(a.turn, b.turn, strict=True))
    sign = 1.0 if dot >= 0 else -1.0
    first, second = 1.0 - share, share
    if abs(dot) < NEAR:
        angle = math.acos(abs(dot))
        first, second = (math.sin(s * angle) / math.sin(angle) for s in (first, second))
    x, y, z, w = (first * p + sign * second * q for p, q in zip(a.turn, b.turn, strict=True))
    length = math.hypot(x, y, z, w)
    turn = (x / length, y / length, z / length, w / length)
    shift = (a.x + share * (b.x - a.x), a.y + share * (b.y - a.y), a.z + share * (b.z - a.z))
    return Rigid(*shift, turn)


def _product(p: Quaternion, q: Quaternion) -> Quaternion:
    a, b, c, d = p
    x, y, z, w = q
    return (
        d * x + a * w + b * z - c * y,
        d * y - a * z + b * w + c * x,
        d * z + a * y - b * x + c * w,
        d * w - a * x - b * y - c * z,
    )


def _rotated(turn: Quaternion, x: float, y: float, z: float) -> tuple[float, float, float]:
    a, b, c, d = turn
    # v + 2 d (u × v) + 2 u × (u × v), with u the vector part
    s, t, r = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
    return x + d * s + b * r - c * t, y + d * t + c * s - a * r, z + d * r + a * t - b * s
