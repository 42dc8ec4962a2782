"""Surfels: the points of a scan with their normals, thinned to even spacing along surfaces."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from delama_ros.localization.se2 import Floats, compiled

NEAR = 0.2  # m, neighbours within this or ...
FAR = 0.07  # ... this share of the range support a normal
MISSES = 2  # points elsewhere that do not end a neighbourhood: outliers, thin poles
FLAT = 0.08  # largest ratio of the eigenvalues across and along the surface
GRAZING = 0.12  # smallest cosine between beam and normal
MANY = 8.0  # points from which on a surfel weighs no more


@dataclass(frozen=True, eq=False)
class Surfels:
    """Oriented points of one scan in the base frame; normals face the sensor."""

    points: Floats  # (M, 2) m
    normals: Floats  # (M, 2)
    weights: Floats  # (M,) points merged into each, at most MANY
    cosines: Floats  # (M,) of the angle between normal and beam

    def __len__(self) -> int:
        return len(self.points)

    def every(self, step: int) -> Surfels:
        """Keep every so manieth surfel."""
        return Surfels(
            self.points[::step], self.normals[::step], self.weights[::step], self.cosines[::step]
        )

    def nearer(self, by: float) -> Surfels:
        """Take metres off every range, as far as surfaces show it: along the normals."""
        return replace(self, points=self.points + (by * self.cosines)[:, None] * self.normals)


def make_surfels(
    points: npt.NDArray[np.floating], origin: Floats, reach: float, spacing: float
) -> Surfels:
    """Estimate normals and thin a scan.

    Args:
        points: (N, 2) in the base frame, in any order.
        origin: (2,) of the sensor in the base frame.
        reach: m, farther points are left out.
        spacing: m, neighbours on a surface closer than this become one surfel.

    Returns:
        Surfels; points without a clear surface around them are left out.

    """
    own = np.asarray(points, np.float64)
    offset = own - origin
    ranges = np.hypot(offset[:, 0], offset[:, 1])
    kept = (ranges < reach) & (ranges > 1e-3)
    own, ranges = own[kept], ranges[kept]
    bearings = np.arctan2(offset[kept, 1], offset[kept, 0])
    order = np.argsort(bearings, kind='stable')
    return Surfels(*_surfels(own[order], ranges[order], origin, spacing))


@compiled
def _surfels(
    points: Floats, ranges: Floats, origin: Floats, spacing: float
) -> tuple[Floats, Floats, Floats, Floats]:
    n = len(points)
    on_line = np.empty((n, 2))
    normals = np.zeros((n, 2))
    for i in range(n):
        near = max(NEAR, FAR * ranges[i])
        count, sx, sy, sxx, sxy, syy = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for side in (-1, 1):
            missed = 0
            for k in range(1, n // 2):
                j = (i + side * k) % n
                dx, dy = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
                if dx * dx + dy * dy > near * near:
                    missed += 1
                    if missed > MISSES:
                        break
                    continue
                count += 1.0
                sx += dx
                sy += dy
                sxx += dx * dx
                sxy += dx * dy
                syy += dy * dy
        if count < 3.0:
            continue
        mx, my = sx / count, sy / count
        cxx, cxy, cyy = sxx / count - mx * mx, sxy / count - mx * my, syy / count - my * my
        half = 0.5 * (cxx - cyy)
        root = math.sqrt(half * half + cxy * cxy)
        mean = 0.5 * (cxx + cyy)
        if mean - root > FLAT * (mean + root):
            continue
        angle = 0.5 * math.atan2(2.0 * cxy, cxx - cyy) + 0.5 * math.pi  # of the normal
        nx, ny = math.cos(angle), math.sin(angle)
        vx, vy = origin[0] - points[i, 0], origin[1] - points[i, 1]
        facing = nx * vx + ny * vy
        if abs(facing) < GRAZING * ranges[i]:
            continue
        if facing < 0.0:
            nx, ny = -nx, -ny
        off = nx * mx + ny * my  # to the fitted line
        on_line[i, 0], on_line[i, 1] = points[i, 0] + off * nx, points[i, 1] + off * ny
        normals[i, 0], normals[i, 1] = nx, ny
    out_p, out_n, out_w, out_c = np.empty((n, 2)), np.empty((n, 2)), np.empty(n), np.empty(n)
    m, i = 0, 0
    while i < n:
        if normals[i, 0] == 0.0 and normals[i, 1] == 0.0:
            i += 1
            continue
        px, py, nx, ny, w = 0.0, 0.0, 0.0, 0.0, 0.0
        j = i
        while j < n:
            dx, dy = on_line[j, 0] - on_line[i, 0], on_line[j, 1] - on_line[i, 1]
            same = normals[i, 0] * normals[j, 0] + normals[i, 1] * normals[j, 1]
            if j > i and (same < 0.8 or dx * dx + dy * dy > spacing * spacing):
                break
            px += on_line[j, 0]
            py += on_line[j, 1]
            nx += normals[j, 0]
            ny += normals[j, 1]
            w += 1.0
            j += 1
        length = math.sqrt(nx * nx + ny * ny)
        out_p[m, 0], out_p[m, 1] = px / w, py / w
        out_n[m, 0], out_n[m, 1] = nx / length, ny / length
        ox, oy = origin[0] - px / w, origin[1] - py / w
        cosine = (nx * ox + ny * oy) / (length * math.sqrt(ox * ox + oy * oy))
        out_w[m] = min(w, MANY) / max(cosine, 0.4) ** 2
        out_c[m] = cosine
        m += 1
        i = j
    return out_p[:m].copy(), out_n[:m].copy(), out_w[:m].copy(), out_c[:m].copy()
