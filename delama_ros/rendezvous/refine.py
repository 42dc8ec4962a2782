"""Refinement of a transform: point to line, both ways, robust (Gauss-Newton)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.compiled import compiled
from delama_ros.rendezvous.patches import Indices, Patch, nearest
from delama_ros.rendezvous.se2 import Floats

KERNEL = 0.04  # m, scale of the Cauchy kernel
RADII = (0.25, 0.25, 0.25, 0.2, 0.2, 0.15, 0.15, 0.15, 0.15, 0.15)  # m, matches per round
FACING = 0.8  # cosine of the largest angle between matched normals
DONE = 1e-4  # m and rad: a smaller step ends the refinement
CORRELATED = 0.5  # m of wall whose errors are the same: what quantised tiles leave
SIGMA = 0.025  # m, least standard deviation of one matched piece


@dataclass(frozen=True, eq=False)
class Refined:
    """A transform (x, y, yaw) of the second patch into the first and how well it is known."""

    transform: Floats  # (3,), from centre to centre
    information: Floats  # (3, 3): Σ metres of wall · J Jᵀ, yaw about the second patch's centre
    residual: float  # m, root mean square over matched wall

    @property
    def covariance(self) -> Floats:
        """Covariance (3, 3) of the transform."""
        sigma = max(self.residual, SIGMA)
        scaled = self.information / (CORRELATED * sigma**2)
        # A direction that nothing constrains is unknown to ten metres or so, not to infinity.
        root = np.linalg.cholesky(scaled + np.diag([1e-2, 1e-2, 1e-1]))
        inverse_root = np.linalg.solve(root, np.eye(3))
        return inverse_root.T @ inverse_root


def refine(
    first: Patch, second: Patch, transform: Floats, *, rounds: int = len(RADII)
) -> Refined:
    """Move `second` onto `first` from a transform nearby.

    Args:
        first: patch that stays.
        second: patch that is moved.
        transform: (3,), where to begin, from centre to centre.
        rounds: at most.

    """
    at = np.array(transform, np.float64)
    forth = first.points, first.normals, *first.buckets
    back = second.points, second.normals, *second.buckets
    system = np.zeros((3, 5))  # H | g | sums
    radii = np.array(RADII[:rounds] or (0.15,))
    for radius in radii:
        system[:] = 0.0
        _gather(at, second.points, second.normals, second.lengths, *forth, radius, False, system)
        _gather(at, first.points, first.normals, first.lengths, *back, radius, True, system)
        step = -np.linalg.solve(system[:, :3] + 1e-3 * np.eye(3), system[:, 3])
        at += np.clip(step, -0.3, 0.3)
        if np.abs(step).max() < DONE:
            break
    at[2] = math.remainder(at[2], 2 * math.pi)
    metres, squares = system[0, 4], system[1, 4]
    residual = math.sqrt(squares / metres) if metres > 0 else 0.0
    # Both directions measure the same walls: half of the sum is what is known.
    return Refined(at, 0.5 * system[:, :3], residual)


@compiled
def _gather(
    transform: Floats, points: Floats, normals: Floats, lengths: Floats,
    others: Floats, other_normals: Floats, starts: Indices, order: Indices, low: Floats,
    shape: tuple[int, int], radius: float, back: bool, out: Floats,
) -> None:
    """Add the normal equations of points matched to the lines of others.

    back: the points are of the patch that stays and are matched to lines of the moved one.
    """
    x, y, yaw = transform
    c, s = math.cos(yaw), math.sin(yaw)
    for i in range(points.shape[0]):
        px, py, nx, ny = points[i, 0], points[i, 1], normals[i, 0], normals[i, 1]
        if back:  # into the moved patch
            px, py = c * (px - x) + s * (py - y), c * (py - y) - s * (px - x)
            nx, ny = c * nx + s * ny, c * ny - s * nx
        else:
            px, py = c * px - s * py + x, s * px + c * py + y
            nx, ny = c * nx - s * ny, s * nx + c * ny
        k = nearest(
            px, py, nx, ny, others, other_normals, starts, order, low, shape[0], shape[1],
            radius, FACING,
        )
        if k < 0:
            continue
        # normal: mean of both, steadier than either
        mx, my = nx + other_normals[k, 0], ny + other_normals[k, 1]
        norm = math.hypot(mx, my)
        mx, my = mx / norm, my / norm
        gap = mx * (px - others[k, 0]) + my * (py - others[k, 1])
        if back:  # the line is moved: its residual falls as the point's would rise
            gap = -gap
            qx, qy = others[k, 0], others[k, 1]
            mx, my = c * mx - s * my, s * mx + c * my
            rx, ry = c * qx - s * qy, s * qx + c * qy
        else:
            rx, ry = px - x, py - y
        weight = lengths[i] / (1.0 + (gap / KERNEL) ** 2)
        jx, jy, jt = mx, my, my * rx - mx * ry
        out[0, 0] += weight * jx * jx
        out[0, 1] += weight * jx * jy
        out[0, 2] += weight * jx * jt
        out[1, 0] += weight * jx * jy
        out[1, 1] += weight * jy * jy
        out[1, 2] += weight * jy * jt
        out[2, 0] += weight * jx * jt
        out[2, 1] += weight * jy * jt
        out[2, 2] += weight * jt * jt
        out[0, 3] += weight * jx * gap
        out[1, 3] += weight * jy * gap
        out[2, 3] += weight * jt * gap
        out[0, 4] += weight
        out[1, 4] += weight * gap * gap
