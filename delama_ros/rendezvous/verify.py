"""What speaks for and against a transform, in metres of wall, looked at from both sides."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.compiled import compiled
from delama_ros.rendezvous.patches import Indices, Patch, nearest
from delama_ros.rendezvous.refine import FACING
from delama_ros.rendezvous.se2 import Floats
from delama_ros.rendezvous.surface import Bytes

CLOSE = 0.1  # m between matched surfels, across the wall
ALONG = 0.2  # m between matched surfels at all


@dataclass(frozen=True)
class Evidence:
    """Metres of wall, the less favourable of the two sides where there are two."""

    matched: float  # of one lie on wall of the other that faces the same way
    against: float  # lie in open space of the other, both sides together
    weak: float  # of matched wall that constrain the least constrained shift
    share: float  # of the smaller surface that is matched


def verify(first: Patch, second: Patch, transform: Floats) -> Evidence:
    """Count what speaks for and against moving `second` onto `first` by a transform (3,)."""
    x, y, yaw = np.asarray(transform, np.float64).tolist()
    c, s = math.cos(yaw), math.sin(yaw)
    undo = np.array([-c * x - s * y, s * x - c * y, -yaw])
    sums = np.zeros((2, 5))  # matched, against, Σ nxnx, Σ nxny, Σ nyny
    _compare(first, second, np.array([x, y, yaw]), sums[0])
    _compare(second, first, undo, sums[1])
    least = int(np.argmin(sums[:, 0]))
    matched = float(sums[least, 0])
    xx, xy, yy = sums[least, 2:].tolist()
    weak = 0.5 * (xx + yy) - math.hypot(0.5 * (xx - yy), xy)
    smaller = min(first.length, second.length)
    against = float(sums[:, 1].sum())
    return Evidence(matched, against, weak, matched / max(smaller, 1e-9))


def matched_part(first: Patch, second: Patch, transform: Floats) -> Patch:
    """Return the part of `second` whose wall lies on wall of `first`, and the space around it."""
    matched = _compare(first, second, np.asarray(transform, np.float64), np.zeros(5))
    return second.part(np.flatnonzero(matched))


def _compare(first: Patch, second: Patch, transform: Floats, sums: Floats) -> Bytes:
    """Add up how wall of `second` lies on `first`; returns which surfels match, (m,)."""
    matched = np.zeros(len(second.points), np.uint8)
    _count(
        transform, second.points, second.normals, second.lengths, first.points, first.normals,
        *first.buckets, first.open, first.corner, first.resolution, sums, matched,
    )
    return matched


@compiled
def _count(
    transform: Floats, points: Floats, normals: Floats, lengths: Floats,
    others: Floats, other_normals: Floats, starts: Indices, order: Indices, low: Floats,
    shape: tuple[int, int], free: Bytes, corner: Floats, resolution: float, out: Floats,
    matched: Bytes,
) -> None:
    x, y, yaw = transform
    c, s = math.cos(yaw), math.sin(yaw)
    for i in range(points.shape[0]):
        px, py = c * points[i, 0] - s * points[i, 1] + x, s * points[i, 0] + c * points[i, 1] + y
        nx, ny = c * normals[i, 0] - s * normals[i, 1], s * normals[i, 0] + c * normals[i, 1]
        k = nearest(
            px, py, nx, ny, others, other_normals, starts, order, low, shape[0], shape[1],
            ALONG, FACING,
        )
        if k >= 0:
            mx, my = other_normals[k, 0], other_normals[k, 1]
            if abs(mx * (px - others[k, 0]) + my * (py - others[k, 1])) <= CLOSE:
                matched[i] = 1
                out[0] += lengths[i]
                out[2] += lengths[i] * nx * nx
                out[3] += lengths[i] * nx * ny
                out[4] += lengths[i] * ny * ny
                continue
        col = math.floor((px - corner[0]) / resolution)
        row = math.floor((py - corner[1]) / resolution)
        if 0 <= row < free.shape[0] and 0 <= col < free.shape[1] and free[row, col]:
            out[1] += lengths[i]
