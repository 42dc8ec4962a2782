"""One pose (x, y, yaw) in metres and radians at a time: ten times faster than `poses`.

SLAM and rendezvous compose thousands of single poses per second; for arrays of poses see
`delama_ros.geometry.poses`. The formulas stand twice for that speed; a test holds them together.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.grid import Floats


def wrap(angle: float) -> float:
    """Return an angle in [-π, π]."""
    return math.remainder(angle, 2.0 * math.pi)


def compose(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Return pose b, given in frame a, in the frame that a is given in: first b, then a.

    >>> compose((1.0, 0.0, math.pi / 2), (2.0, 0.0, 0.0)).round(3).tolist()
    [1.0, 2.0, 1.571]
    """
    x, y, yaw = np.asarray(a, np.float64).tolist()
    u, v, turn = np.asarray(b, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([x + c * u - s * v, y + s * u + c * v, wrap(yaw + turn)])


def inverse(a: npt.ArrayLike) -> Floats:
    """Return the pose of the frame that a is given in, as seen from a."""
    x, y, yaw = np.asarray(a, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([-c * x - s * y, s * x - c * y, wrap(-yaw)])


def relative(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Return pose b as seen from pose a, which compose(a, ...) takes back to b."""
    x, y, yaw = np.asarray(a, np.float64).tolist()
    u, v, turn = np.asarray(b, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    dx, dy = u - x, v - y
    return np.array([c * dx + s * dy, c * dy - s * dx, wrap(turn - yaw)])


def transform(pose: npt.ArrayLike, points: Floats) -> Floats:
    """Return points (..., 2), given in the frame of a pose, in the frame it is given in."""
    x, y, yaw = np.asarray(pose, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    moved: Floats = points @ np.array([[c, s], [-s, c]]) + np.array([x, y])
    return moved
