"""Pose mathematics of this package: shared functions under one roof, rotations and inverses."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.grid import Floats
from delama_ros.geometry.pose_math import compose, inverse, relative, transform, wrap
from delama_ros.geometry.poses import compose as composes
from delama_ros.geometry.poses import relative as relatives
from delama_ros.geometry.poses import wrap as wraps

__all__ = [
    'Floats', 'Ints', 'compiled', 'compose', 'composes', 'inverse', 'inverse_spd', 'relative',
    'relatives', 'rotation', 'transform', 'wrap', 'wraps',
]

Ints = npt.NDArray[np.int64]


def rotation(yaw: float) -> Floats:
    """Rotation matrix (3, 3) that turns (x, y) by yaw and leaves yaw alone."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def inverse_spd(matrix: Floats) -> Floats:
    """Inverse of a symmetric positive definite matrix by its Cholesky factor."""
    factor = np.linalg.cholesky(matrix)
    half = np.linalg.solve(factor, np.eye(len(matrix)))
    return cast(Floats, half.T @ half)
