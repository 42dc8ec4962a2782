"""Rigid transforms of the plane as (x, y, yaw), with covariances carried along."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.grid import Floats
from delama_ros.geometry.pose_math import compose, inverse, wrap
from delama_ros.geometry.pose_math import relative as difference
from delama_ros.geometry.pose_math import transform as apply

__all__ = [
    'IDENTITY', 'Floats', 'apply', 'compose', 'compose_covariance', 'difference', 'inverse',
    'inverse_covariance', 'wrap',
]

IDENTITY: Floats = np.zeros(3)
IDENTITY.setflags(write=False)


def compose_covariance(a: npt.ArrayLike, cov_a: Floats, b: npt.ArrayLike, cov_b: Floats) -> Floats:
    """Return the covariance (3, 3) of a ∘ b for independent errors.

    Errors are added to x, y and yaw of each transform, in the frame that it maps into.
    """
    _, _, yaw = np.asarray(a, np.float64).tolist()
    u, v, _ = np.asarray(b, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    by_a = np.array([[1.0, 0.0, -s * u - c * v], [0.0, 1.0, c * u - s * v], [0.0, 0.0, 1.0]])
    by_b = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    covariance: Floats = by_a @ cov_a @ by_a.T + by_b @ cov_b @ by_b.T
    return covariance


def inverse_covariance(a: npt.ArrayLike, cov: Floats) -> Floats:
    """Return the covariance (3, 3) of a⁻¹ for that of a."""
    x, y, yaw = np.asarray(a, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    by_a = np.array([[-c, -s, s * x - c * y], [s, -c, c * x + s * y], [0.0, 0.0, -1.0]])
    covariance: Floats = by_a @ cov @ by_a.T
    return covariance
