"""Arrays of poses in the plane, (x, y, yaw) in metres and radians.

All functions take arrays of poses (..., 3), or tuples, and broadcast. Inner loops over single
poses use `delama_ros.geometry.pose_math`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.grid import Floats, Pose


def wrap(angle: npt.ArrayLike) -> Floats:
    """Return an angle as -π .. π; one that is there already keeps every digit."""
    angles = np.asarray(angle, np.float64)
    wrapped: Floats = angles - 2 * math.pi * np.round(angles / (2 * math.pi))
    return wrapped


def compose(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Return pose b, given in frame a, in the frame that a is given in.

    >>> compose((1.0, 0.0, math.pi / 2), (2.0, 0.0, 0.0)).round(3).tolist()
    [1.0, 2.0, 1.571]
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    c, s = np.cos(a[..., 2]), np.sin(a[..., 2])
    return np.stack(
        [
            a[..., 0] + c * b[..., 0] - s * b[..., 1],
            a[..., 1] + s * b[..., 0] + c * b[..., 1],
            wrap(a[..., 2] + b[..., 2]),
        ],
        -1,
    )


def relative(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Return pose b as seen from pose a, which compose(a, ...) takes back to b."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    c, s = np.cos(a[..., 2]), np.sin(a[..., 2])
    dx, dy = b[..., 0] - a[..., 0], b[..., 1] - a[..., 1]
    return np.stack([c * dx + s * dy, c * dy - s * dx, wrap(b[..., 2] - a[..., 2])], -1)


def inverse(a: npt.ArrayLike) -> Floats:
    """Return the pose of the frame that a is given in, as seen from a."""
    return relative(a, np.zeros(3))


def best_fit(points: Floats, targets: Floats, weights: Floats | None = None) -> Floats:
    """Return the pose (3,) whose frame holds `points` where they lie closest to `targets`.

    Args:
        points: (N, 2), in the frame that is looked for.
        targets: (N, 2), the same points in the frame that the pose is given in.
        weights: (N,) of the squared distances; none: all the same.

    >>> best_fit(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[2.0, 1.0], [2.0, 2.0]])).round(3)
    array([2.   , 1.   , 1.571])
    """
    w = np.ones(len(points)) if weights is None else weights
    middle, target = (w @ points) / w.sum(), (w @ targets) / w.sum()
    p, q = points - middle, targets - target
    yaw = math.atan2(
        float(w @ (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0])), float(w @ (p * q).sum(1))
    )
    turned = compose((0.0, 0.0, yaw), (*middle.tolist(), 0.0))
    return np.array([*(target - turned[:2]).tolist(), yaw])


def as_pose(array: Floats) -> Pose:
    """Return a pose (3,) as a tuple."""
    x, y, yaw = array.tolist()
    return x, y, yaw


def yaw_of(x: float, y: float, z: float, w: float) -> float:
    """Return the heading of a quaternion, rad."""
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
