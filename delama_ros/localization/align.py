"""Point-to-line alignment of a scan with a map: Gauss-Newton under a Cauchy kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.localization.local_map import CELL, Links, LocalMap
from delama_ros.localization.se2 import Floats, compiled
from delama_ros.localization.surfels import Surfels

NOISE = 0.03  # m, standard deviation of one point-to-line residual
SHARED = 5.0  # residuals that count as one, since errors of neighbours are correlated
FACING = 0.6  # smallest cosine between the normals of partners
FEW = 10.0  # points without partner that every scan is taken to have besides its own
STEPS = 30  # iterations at most
STILL = 1e-5  # m and rad, smallest step


@dataclass(frozen=True, eq=False)
class Alignment:
    """Result of an alignment; information matrices refer to the map axes at the pose."""

    pose: Floats  # (3,)
    information: Floats  # (3, 3) of the scan alone, weak directions removed
    inliers: float  # share of points with a partner
    residual: float  # m, mean absolute point-to-line distance of the partners
    share: float  # of all constraints that the weakest direction has
    weak: Floats | None  # (3,) unit vector (x, y, yaw × lever) of the weakest direction if weak
    lever: float  # m, yaw × lever compares with metres
    points: float  # weight of the scan, which is about the number of its points
    too_far: float  # m by which all ranges seem too long, as incidence differs from the map's ...
    too_far_information: float  # ... and 1/m² how sure that is

    @property
    def quality(self) -> float:
        """Share of points with a partner, reduced when there are few points."""
        return self.inliers * self.points / (self.points + FEW)


def align(
    local: LocalMap,
    scan: Surfels,
    start: Floats,
    prior: Floats,
    prior_information: Floats,
    *,
    kernel: float,
    cutoff: float,
    weak: float,
) -> Alignment:
    """Align a scan with a map from a start pose.

    Args:
        local: the map.
        scan: surfels in the base frame.
        start: (3,) pose to start from.
        prior: (3,) pose expected from odometry.
        prior_information: (3, 3) of that expectation, in map axes; zeros for none.
        kernel: m, scale of the Cauchy kernel.
        cutoff: m, partners are closer; the first iterations allow twice as much.
        weak: share of the mean constraint below which a direction is left to the prior.

    Returns:
        The alignment. Without partners the pose is the prior and the information zero.

    """
    pose, information, inliers, residual, vector, share, lever, bias = _align(
        local.points,
        local.normals,
        local.cosines,
        local.low,
        local.head,
        local.after,
        scan.points,
        scan.normals,
        scan.weights,
        scan.cosines,
        start,
        prior,
        prior_information,
        kernel,
        cutoff,
        weak,
    )
    return Alignment(
        pose, information, inliers, residual, share, vector if share < weak else None, lever,
        float(scan.weights.sum()), float(bias[0]), float(bias[1]),
    )


@compiled
def partner(
    points: Floats,
    normals: Floats,
    low: Floats,
    head: Links,
    after: Links,
    x: float,
    y: float,
    nx: float,
    ny: float,
    cutoff: float,
) -> int:
    """Nearest surfel within the cut-off that faces the same way, or -1."""
    best, nearest = -1, cutoff * cutoff
    around = math.ceil(cutoff / CELL)
    gx, gy = (x - low[0]) / CELL, (y - low[1]) / CELL
    cx, cy = math.floor(gx), math.floor(gy)
    for jy in range(max(cy - around, 0), min(cy + around + 1, head.shape[0])):
        for jx in range(max(cx - around, 0), min(cx + around + 1, head.shape[1])):
            k = head[jy, jx]
            while k >= 0:
                if normals[k, 0] * nx + normals[k, 1] * ny > FACING:
                    dx, dy = points[k, 0] - x, points[k, 1] - y
                    distance = dx * dx + dy * dy
                    if distance < nearest:
                        best, nearest = k, distance
                k = after[k]
    return best


@compiled
def _align(
    points: Floats,
    normals: Floats,
    cosines: Floats,
    low: Floats,
    head: Links,
    after: Links,
    scan: Floats,
    facing: Floats,
    weights: Floats,
    angles: Floats,
    start: Floats,
    prior: Floats,
    prior_information: Floats,
    kernel: float,
    cutoff: float,
    weak: float,
) -> tuple[Floats, Floats, float, float, Floats, float, float, Floats]:
    pose = start.copy()
    scale = 1.0 / (NOISE * NOISE * SHARED)
    information = np.zeros((3, 3))
    direction = np.zeros(3)
    share, inliers, residual, lever = 1.0, 0.0, 0.0, 1.0
    bias = np.zeros(2)
    total = max(weights.sum(), 1e-9)
    finishing = False
    for step in range(STEPS + 1):
        limit = cutoff if step >= 4 or finishing else 2.0 * cutoff
        c, s = math.cos(pose[2]), math.sin(pose[2])
        h, g = np.zeros((3, 3)), np.zeros(3)
        hb, hbb, gb = np.zeros(3), 0.0, 0.0
        found, absolute, used, spread = 0.0, 0.0, 0.0, 0.0
        for i in range(len(scan)):
            rx, ry = c * scan[i, 0] - s * scan[i, 1], s * scan[i, 0] + c * scan[i, 1]
            nx, ny = c * facing[i, 0] - s * facing[i, 1], s * facing[i, 0] + c * facing[i, 1]
            x, y = pose[0] + rx, pose[1] + ry
            k = partner(points, normals, low, head, after, x, y, nx, ny, limit)
            if k < 0:
                continue
            # Both normals are estimates; their mean is the better one, and exact on arcs.
            mx, my = normals[k, 0] + nx, normals[k, 1] + ny
            length = math.sqrt(mx * mx + my * my)
            mx, my = mx / length, my / length
            r = mx * (x - points[k, 0]) + my * (y - points[k, 1])
            w = weights[i] / (1.0 + (r / kernel) ** 2)
            turn = my * rx - mx * ry
            found += weights[i]
            absolute += weights[i] * abs(r)
            used += w
            spread += w * (rx * rx + ry * ry)
            h[0, 0] += w * mx * mx
            h[0, 1] += w * mx * my
            h[1, 1] += w * my * my
            h[0, 2] += w * mx * turn
            h[1, 2] += w * my * turn
            h[2, 2] += w * turn * turn
            g[0] += w * r * mx
            g[1] += w * r * my
            g[2] += w * r * turn
            # Ranges that are b too long push both surfels back, by b times their cosines.
            by = angles[i] - cosines[k]
            hb[0] += w * mx * by
            hb[1] += w * my * by
            hb[2] += w * turn * by
            hbb += w * by * by
            gb += w * r * by
        if used <= 0.0:
            return prior.copy(), np.zeros((3, 3)), 0.0, 0.0, direction, 1.0, lever, bias
        h[1, 0], h[2, 0], h[2, 1] = h[0, 1], h[0, 2], h[1, 2]
        inliers, residual = found / total, absolute / found
        # Directions in which the surfaces say (almost) nothing are left to the prior.
        lever = max(math.sqrt(spread / used), 0.5)
        scaled = h.copy()
        scaled[2, :] /= lever
        scaled[:, 2] /= lever
        values, vectors = np.linalg.eigh(scaled)
        share = values[0] / used
        direction = vectors[:, 0].copy()
        for axis in range(3):
            if values[axis] < weak * used:
                v = vectors[:, axis].copy()
                for a in range(3):
                    for b in range(3):
                        la = lever if a == 2 else 1.0
                        lb = lever if b == 2 else 1.0
                        h[a, b] -= values[axis] * v[a] * v[b] * la * lb
                along = v[0] * g[0] + v[1] * g[1] + v[2] * g[2] / lever
                g[0] -= along * v[0]
                g[1] -= along * v[1]
                g[2] -= along * v[2] * lever
        information = h * scale
        # Odometry may jump: its pull fades like that of any other outlier.
        off = pose - prior
        off[2] = (off[2] + math.pi) % (2.0 * math.pi) - math.pi
        pull = prior_information @ off
        trust = 1.0 / (1.0 + off @ pull)
        left = information + trust * prior_information + 1e-6 * np.eye(3)
        if finishing:
            # What the pose leaves of the residuals is evidence for a bias of the ranges.
            hb *= scale
            known = max(hbb * scale - float(hb @ np.linalg.solve(left, hb)), 0.0)
            bias[0], bias[1] = -gb * scale / max(known, 1e-9), known
            break
        delta = np.linalg.solve(left, -(g * scale + trust * pull))
        moved = math.sqrt(delta[0] ** 2 + delta[1] ** 2)
        if moved > 0.3:
            delta *= 0.3 / moved
        pose = pose + delta
        if step >= 4 and moved < STILL and abs(delta[2]) < STILL:
            finishing = True  # once more for the figures at the final pose
        elif step == STEPS - 1:
            finishing = True
    pose[2] = (pose[2] + math.pi) % (2.0 * math.pi) - math.pi
    return pose, information, inliers, residual, direction, share, lever, bias
