"""A planar LiDAR: beams, limits and noise, reporting as REP-117 asks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_sim.grid import Floats, OccupancyMap, Pose
from delama_sim.rays import RayCaster

Ranges = npt.NDArray[np.float32]
Rngs = np.random.Generator | Sequence[np.random.Generator]


@dataclass(frozen=True)
class Lidar:
    """What the sensor is; beams are numbered counter-clockwise from angle_min."""

    beams: int = 360
    field_of_view: float = 2 * math.pi  # rad
    range_min: float = 0.05  # m
    range_max: float = 12.0  # m
    range_noise: float = 0.02  # m, standard deviation
    angle_noise: float = 0.0  # rad, standard deviation per beam
    dropout: float = 0.0  # probability that a beam returns nothing
    mount: Pose = (0.0, 0.0, 0.0)  # of the laser in base_link
    intensities: bool = False

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise ValueError(f'lidar beams is {self.beams}, expected at least 1')
        if not 0 < self.field_of_view <= 2 * math.pi + 1e-9:
            raise ValueError(f'lidar field_of_view is {self.field_of_view}, expected (0, 2 pi] rad')
        if not 0 <= self.range_min < self.range_max < math.inf:
            raise ValueError(
                f'lidar range_min is {self.range_min} and range_max {self.range_max}, '
                'expected 0 <= range_min < range_max'
            )
        if not (self.range_noise >= 0 and self.angle_noise >= 0):
            raise ValueError(
                f'lidar noise is {self.range_noise} m and {self.angle_noise} rad, expected >= 0'
            )
        if not 0 <= self.dropout <= 1:
            raise ValueError(f'lidar dropout is {self.dropout}, expected 0..1')

    @property
    def angle_increment(self) -> float:
        """Angle between beams; a full circle has no beam twice."""
        if self.beams == 1:
            return self.field_of_view
        full = self.field_of_view >= 2 * math.pi - 1e-9
        return self.field_of_view / (self.beams if full else self.beams - 1)

    @property
    def angle_min(self) -> float:
        """Angle of the first beam in the laser frame."""
        return -self.field_of_view / 2 if self.beams > 1 else 0.0

    @property
    def angles(self) -> Floats:
        """Angles (beams,) in the laser frame."""
        return self.angle_min + self.angle_increment * np.arange(self.beams, dtype=np.float64)

    def laser_poses(self, poses: Floats) -> Floats:
        """Poses (..., 3) of the laser for poses (..., 3) of base_link."""
        x, y, yaw = self.mount
        c, s = np.cos(poses[..., 2]), np.sin(poses[..., 2])
        return np.stack(
            [
                poses[..., 0] + c * x - s * y,
                poses[..., 1] + s * x + c * y,
                poses[..., 2] + yaw,
            ],
            -1,
        )

    def scan(
        self,
        caster: RayCaster,
        poses: Floats,
        rngs: Rngs | None,
        *,
        discs: Floats | None = None,
        own: npt.ArrayLike | None = None,
    ) -> tuple[Ranges, Ranges | None]:
        """Ranges (M, beams), and intensities if wanted, seen from base_link poses (M, 3).

        Noise comes from one generator or from one per pose; None scans without noise. Beams that
        meet nothing within range_max are +inf, those that end closer than range_min -inf.
        """
        lasers = self.laser_poses(poses)
        bearings = lasers[:, 2:] + self.angles
        if rngs is not None and self.angle_noise > 0:
            bearings = bearings + self.angle_noise * _normal(rngs, bearings.shape)
        reach = self.range_max + 6 * self.range_noise  # noise may bring a far wall into range
        hits = caster.ranges(lasers[:, :2], bearings, reach, discs=discs, own=own)
        strength = self._intensities(caster.map, lasers, bearings, hits)
        if rngs is not None and self.range_noise > 0:
            hits += self.range_noise * _normal(rngs, hits.shape)
        if rngs is not None and self.dropout > 0:
            hits[_uniform(rngs, hits.shape) < self.dropout] = math.inf
        hits[hits > self.range_max] = math.inf
        hits[hits < self.range_min] = -math.inf
        return hits.astype(np.float32), strength

    def _intensities(
        self, occupancy: OccupancyMap, lasers: Floats, bearings: Floats, hits: Floats
    ) -> Ranges | None:
        """Cosine of incidence on cell faces, 0 without return: enough to tell grazing beams."""
        if not self.intensities:
            return None
        returned = np.isfinite(hits)
        reach = np.where(returned, hits, 0.0)
        ends = lasers[:, None, :2] + reach[..., None] * np.stack(
            [np.cos(bearings), np.sin(bearings)], -1
        )
        at = occupancy.to_grid(ends)
        off = np.abs(at - np.round(at))  # a beam ends on the face whose coordinate is whole
        turned = bearings - occupancy.origin[2]
        on_x, on_y = np.abs(np.cos(turned)), np.abs(np.sin(turned))
        cosine = np.where(off[..., 0] < off[..., 1], on_x, on_y)
        corner = np.abs(off[..., 0] - off[..., 1]) < 1e-6
        cosine = np.where(corner, np.maximum(on_x, on_y), cosine)
        return np.where(returned, cosine, 0.0).astype(np.float32)


def _normal(rngs: Rngs, shape: tuple[int, ...]) -> Floats:
    if isinstance(rngs, np.random.Generator):
        return rngs.standard_normal(shape)
    return np.stack([rng.standard_normal(shape[1]) for rng in rngs])


def _uniform(rngs: Rngs, shape: tuple[int, ...]) -> Floats:
    if isinstance(rngs, np.random.Generator):
        return rngs.random(shape)
    return np.stack([rng.random(shape[1]) for rng in rngs])
