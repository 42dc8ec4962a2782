"""A planar LiDAR: beams, limits and noise, reporting as REP-117 asks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.geometry.grid import Bools, Floats, OccupancyMap, Pose
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
    dropout: float = 0.0  # share of beams that return nothing although a surface is in range
    dropout_streak: float = 1.0  # mean number of neighbouring beams that drop out together
    range_bias: float = 0.0  # m added to every range
    outliers: float = 0.0  # share of returns that come from somewhere before the surface
    sweep: float = 0.0  # s from the first beam to one beam after the last; 0: all at once
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
        if not 1 <= self.dropout_streak < math.inf:
            raise ValueError(f'lidar dropout_streak is {self.dropout_streak}, expected 1 or more')
        if not math.isfinite(self.range_bias):
            raise ValueError(f'lidar range_bias is {self.range_bias} m, expected a finite number')
        if not 0 <= self.outliers <= 1:
            raise ValueError(f'lidar outliers is {self.outliers}, expected 0..1')
        if not 0 <= self.sweep < math.inf:
            raise ValueError(f'lidar sweep is {self.sweep} s, expected 0 or more')

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
    def time_increment(self) -> float:
        """Seconds between two beams."""
        return self.sweep / self.beams

    @property
    def angles(self) -> Floats:
        """Angles (beams,) in the laser frame."""
        return self.angle_min + self.angle_increment * np.arange(self.beams, dtype=np.float64)

    def laser_poses(self, poses: Floats) -> Floats:
        """Return poses (..., 3) of the laser for poses (..., 3) of base_link."""
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
        """Scan from M poses.

        Args:
            caster: rays in the map that the robots are in.
            poses: (M, 3), of base_link in m and rad; (M, beams, 3), one per beam, are those of a
                robot that moves during the sweep.
            rngs: source of noise, one for all or one per pose; None scans without noise.
            discs: (K, 3), round bodies (x, y, radius) that also stop beams.
            own: (M,), index of the disc that belongs to each pose, -1 for none.

        Returns:
            Ranges (M, beams) in m, +inf where nothing is within range_max and -inf closer than
            range_min, and intensities (M, beams) if the sensor has them.
        """
        if poses.ndim == 3:
            return self._moving_scan(caster, poses, rngs, discs, own)
        lasers = self.laser_poses(poses)
        bearings = lasers[:, 2:] + self.angles
        if rngs is not None and self.angle_noise > 0:
            bearings = bearings + self.angle_noise * _normal(rngs, bearings.shape)
        reach = self.range_max + 6 * self.range_noise  # noise may bring a far wall into range
        hits = caster.ranges(lasers[:, :2], bearings, reach, discs=discs, own=own)
        strength = self._intensities(caster.map, lasers, bearings, hits)
        return self._reported(hits, rngs), strength

    def _moving_scan(
        self,
        caster: RayCaster,
        poses: Floats,
        rngs: Rngs | None,
        discs: Floats | None,
        own: npt.ArrayLike | None,
    ) -> tuple[Ranges, Ranges | None]:
        count, beams = poses.shape[:2]
        if beams != self.beams:
            raise ValueError(f'poses for {beams} beams, expected {self.beams}')
        lasers = self.laser_poses(poses)
        bearings = lasers[..., 2] + self.angles
        if rngs is not None and self.angle_noise > 0:
            bearings = bearings + self.angle_noise * _normal(rngs, bearings.shape)
        reach = self.range_max + 6 * self.range_noise
        flat = lasers.reshape(-1, 3)
        whose = None if own is None else np.repeat(np.asarray(own), beams)
        hits = caster.ranges(flat[:, :2], bearings.reshape(-1, 1), reach, discs=discs, own=whose)
        strength = self._intensities(caster.map, flat, bearings.reshape(-1, 1), hits)
        if strength is not None:
            strength = strength.reshape(count, beams)
        return self._reported(hits.reshape(count, beams), rngs), strength

    def _reported(self, hits: Floats, rngs: Rngs | None) -> Ranges:
        """Turn true distances (M, beams) into what the sensor reports; changes them in place."""
        if self.range_bias:
            hits += self.range_bias
        # What is switched off draws nothing, so that it does not change the rest of a run.
        if rngs is not None and self.range_noise > 0:
            hits += self.range_noise * _normal(rngs, hits.shape)
        if rngs is not None and self.outliers > 0:
            wrong = _uniform(rngs, hits.shape) < self.outliers
            share = _uniform(rngs, hits.shape)
            surface = np.minimum(hits, self.range_max)
            between = self.range_min + share * np.maximum(surface - self.range_min, 0.0)
            hits[wrong] = between[wrong]
        if rngs is not None and self.dropout > 0:
            chance = _uniform(rngs, hits.shape)
            hits[_streaks(chance, self.dropout, self.dropout_streak)] = math.inf
        hits[hits > self.range_max] = math.inf
        hits[hits < self.range_min] = -math.inf
        return hits.astype(np.float32)

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


@compiled
def _streaks(chance: Floats, share: float, length: float) -> Bools:
    """Beams (M, B) that drop out, in streaks of a mean `length`, from uniform numbers (M, B).

    Two states with P(out → in) = 1 / length, and P(in → out) such that `share` of all are out.
    """
    out = chance < share
    if length <= 1.0 or share >= 1.0:
        return out
    enter = min(1.0, share / (length * (1.0 - share)))
    for m in range(chance.shape[0]):
        for b in range(1, chance.shape[1]):
            if out[m, b - 1]:
                out[m, b] = chance[m, b] >= 1.0 / length
            else:
                out[m, b] = chance[m, b] < enter
    return out


def _normal(rngs: Rngs, shape: tuple[int, ...]) -> Floats:
    if isinstance(rngs, np.random.Generator):
        return rngs.standard_normal(shape)
    return np.stack([rng.standard_normal(shape[1]) for rng in rngs])


def _uniform(rngs: Rngs, shape: tuple[int, ...]) -> Floats:
    if isinstance(rngs, np.random.Generator):
        return rngs.random(shape)
    return np.stack([rng.random(shape[1]) for rng in rngs])
