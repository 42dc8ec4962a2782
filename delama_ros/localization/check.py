"""Bounds on what comes from outside, before it is believed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from delama_ros.localization.se2 import Floats, wrap

FARTHEST = 1e6  # m from the origin


def checked_pose(name: str, value: npt.ArrayLike) -> Floats:
    """Return a pose (3,) with its yaw in [-π, π]; ValueError for anything else."""
    pose = np.array(value, np.float64)
    if pose.shape != (3,) or not np.isfinite(pose).all() or np.abs(pose[:2]).max() > FARTHEST:
        raise ValueError(f'{name} is {value!r}, expected finite x, y (m) and yaw (rad)')
    pose[2] = wrap(float(pose[2]))
    return pose


def checked_covariance(name: str, value: npt.ArrayLike) -> Floats:
    """Return a symmetric positive definite matrix (3, 3); ValueError for anything else."""
    matrix = np.array(value, np.float64)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(
            f'{name} has shape {matrix.shape}, expected finite numbers of shape (3, 3)'
        )
    matrix = 0.5 * (matrix + matrix.T)
    if np.linalg.eigvalsh(matrix)[0] <= 0:
        raise ValueError(f'{name} is {matrix.tolist()}, expected a positive definite matrix')
    return matrix


def checked_points(value: npt.ArrayLike) -> Floats:
    """Return points (N, 2); ValueError for anything else."""
    points = np.asarray(value, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError(
            f'points have shape {points.shape}, expected finite numbers of shape (N, 2): '
            'leave out beams without return'
        )
    return points
