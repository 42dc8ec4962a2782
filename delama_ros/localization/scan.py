"""One laser scan made ready for matching and mapping: no-returns, outliers, skew, thinning."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.compiled import compiled
from delama_ros.localization.no_return import Bools, Floats, NoReturnFilter

MOST_BEAMS = 20_000  # a scan with more is refused
MAP_BEAMS = 720  # to which scans are thinned for mapping
APART = 0.1  # m to its neighbours from which on a return may be an outlier
STRIDES = 4.0  # and how many times the distance between neighbouring beams
FARTHEST = 1e7  # m or rad, of a pose
ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A laser scan as sensor_msgs/LaserScan has it.

    Beam i is measured at stamp + i · time_increment. A laser that hangs upside down has the signs
    of angle_min and angle_increment turned.
    """

    ranges: npt.NDArray[np.floating]  # (B,) m
    angle_min: float  # rad from the laser's x axis, counter-clockwise
    angle_increment: float  # rad
    range_min: float  # m
    range_max: float  # m
    time_increment: float = 0.0  # s

    def __post_init__(self) -> None:
        if self.ranges.ndim != 1 or not 0 < self.ranges.size <= MOST_BEAMS:
            raise ValueError(
                f'ranges have shape {self.ranges.shape}, expected (B,), 0 < B <= {MOST_BEAMS}'
            )
        for name in ('angle_min', 'angle_increment', 'range_min', 'range_max', 'time_increment'):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f'{name} is {getattr(self, name)}, expected a finite number')
        if self.angle_increment == 0.0 and self.ranges.size > 1:
            raise ValueError('angle_increment is 0, expected another number')
        if abs(self.angle_increment) * (self.ranges.size - 1) > 2 * math.pi + 0.1:
            raise ValueError(
                f'{self.ranges.size} beams {self.angle_increment} rad apart are more than a turn'
            )
        if not 0.0 <= self.range_min < self.range_max:
            raise ValueError(
                f'range_min {self.range_min} and range_max {self.range_max}, '
                'expected 0 <= range_min < range_max'
            )
        if self.time_increment < 0.0:
            raise ValueError(f'time_increment is {self.time_increment} s, expected 0 or more')


@dataclass(frozen=True, eq=False)
class PreparedScan:
    """A scan as matching and mapping use it; all at the time of the first beam, the stamp.

    For mapping there are ranges on a regular grid of angles, as if the laser had stood still at
    its pose `mount` in base_link: finite, +Inf (free up to range_max) or NaN (says nothing).
    """

    points: Floats  # (B, 2) m in base_link, NaN without return
    valid: Bools  # (B,) returns that are no outliers
    origin: Floats  # (2,) m, the laser in base_link
    mount: tuple[float, float, float]  # pose of the laser in base_link: m, m, rad
    ranges: Floats  # (E,) m
    angle_min: float  # rad in the laser frame
    angle_increment: float  # rad
    range_min: float  # m
    range_max: float  # m


def prepare(
    sweep: Sweep,
    no_return: NoReturnFilter,
    *,
    begin: npt.ArrayLike = ORIGIN,
    end: npt.ArrayLike | None = None,
    mount: tuple[float, float, float] = ORIGIN,
    map_beams: int = MAP_BEAMS,
) -> PreparedScan:
    """Prepare one scan; scans of a robot must come in order, since `no_return` remembers.

    Args:
        sweep: The scan.
        no_return: The rule for beams without return, one filter per laser.
        begin: Odometry pose (x, y, yaw) of base_link at the stamp, when the first beam is measured.
        end: The same one time_increment after the last beam; the motion between is taken to be
            even. None: the robot stood still, or nothing is known.
        mount: Pose of the laser in base_link.
        map_beams: Scans with more beams are thinned to so many for mapping.

    Returns:
        The prepared scan.

    Raises:
        ValueError: A pose is not finite or absurdly far away, or map_beams is below 1.

    """
    first, last = _pose('begin', begin), _pose('end', begin if end is None else end)
    laser = _pose('mount', mount)
    if map_beams < 1:
        raise ValueError(f'map_beams is {map_beams}, expected at least 1')
    raw = np.asarray(sweep.ranges, np.float64)
    with np.errstate(invalid='ignore'):
        returned = (raw >= sweep.range_min) & (raw < sweep.range_max) & (raw > 0.0)
        gone = raw >= sweep.range_max
    if no_return.mode == 'auto':
        gone |= raw == 0.0  # some drivers say so; REP-117 does not
    ranges = np.where(returned, raw, np.nan)
    starts, bearings = _beams(sweep, first, last, laser)
    free = no_return.free(ranges, gone, starts, bearings, sweep.range_max)
    points = np.empty((raw.size, 2))
    valid = np.zeros(raw.size, np.bool_)
    _points(ranges, starts, bearings, first, points)
    _inliers(points, ranges, abs(sweep.angle_increment), valid)

    said = np.where(free, np.inf, ranges)
    angle_min, step = sweep.angle_min, sweep.angle_increment
    moved = bool((first != last).any())
    if moved or raw.size > map_beams:
        count = min(raw.size, map_beams)
        if raw.size > count:  # bins side by side over the same field of view
            step = step * raw.size / count
            angle_min += 0.5 * (step - sweep.angle_increment)
        said = _regular(said, points, bearings, first, laser, angle_min, step, count)
    return PreparedScan(
        points,
        valid,
        laser[:2].copy(),
        (float(laser[0]), float(laser[1]), float(laser[2])),
        said,
        angle_min,
        step,
        sweep.range_min,
        sweep.range_max,
    )


def _pose(name: str, values: npt.ArrayLike) -> Floats:
    pose = np.asarray(values, np.float64)
    if pose.shape != (3,) or not (np.abs(pose) <= FARTHEST).all():
        raise ValueError(
            f'{name} is {values!r}, expected a pose (x, y, yaw) of numbers up to {FARTHEST:g}'
        )
    return pose


@compiled
def _motion(
    count: int,
    angle_min: float,
    step: float,
    first: Floats,
    last: Floats,
    laser: Floats,
    starts: Floats,
    bearings: Floats,
) -> None:
    turn = (last[2] - first[2] + math.pi) % (2.0 * math.pi) - math.pi
    for i in range(count):
        share = i / count
        yaw = first[2] + share * turn
        c, s = math.cos(yaw), math.sin(yaw)
        starts[i, 0] = first[0] + share * (last[0] - first[0]) + c * laser[0] - s * laser[1]
        starts[i, 1] = first[1] + share * (last[1] - first[1]) + s * laser[0] + c * laser[1]
        bearings[i] = yaw + laser[2] + angle_min + i * step


def _beams(sweep: Sweep, first: Floats, last: Floats, laser: Floats) -> tuple[Floats, Floats]:
    """Where each beam started (B, 2) and its bearing (B,), in the odometry frame."""
    count = sweep.ranges.size
    starts, bearings = np.empty((count, 2)), np.empty(count)
    _motion(count, sweep.angle_min, sweep.angle_increment, first, last, laser, starts, bearings)
    return starts, bearings


@compiled
def _points(
    ranges: Floats, starts: Floats, bearings: Floats, first: Floats, points: Floats
) -> None:
    """Put the ends of the beams in base_link at the stamp into points."""
    c, s = math.cos(first[2]), math.sin(first[2])
    for i in range(ranges.size):
        dx = starts[i, 0] + ranges[i] * math.cos(bearings[i]) - first[0]
        dy = starts[i, 1] + ranges[i] * math.sin(bearings[i]) - first[1]
        points[i, 0] = c * dx + s * dy
        points[i, 1] = c * dy - s * dx


@compiled
def _inliers(points: Floats, ranges: Floats, step: float, valid: Bools) -> None:
    """Mark returns that have company, or lie on the line through returns beside them.

    Where a beam grazes a wall, neighbours are far apart but on one line; a speckle, or a mixture
    of two surfaces at an edge, is alone.
    """
    count = ranges.size
    for i in range(count):
        if not ranges[i] > 0.0:
            continue
        apart = max(APART, STRIDES * step * ranges[i])
        for k in (-2, -1, 1, 2):
            j = (i + k) % count  # a sector's ends are no neighbours, but then far apart too
            dx, dy = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
            if dx * dx + dy * dy < apart * apart:
                valid[i] = True
                break
        if valid[i]:
            continue
        for near, far in ((-1, -2), (1, 2)):
            a, b = (i + near) % count, (i + far) % count
            ux, uy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
            dx, dy = points[i, 0] - points[a, 0], points[i, 1] - points[a, 1]
            length = math.sqrt(ux * ux + uy * uy)
            # ahead on the line, no further off than the range noise magnified by the distance
            if (
                length > 0.0
                and ux * dx + uy * dy > 0.0
                and dx * dx + dy * dy < 9.0 * length * length
                and abs(ux * dy - uy * dx) < 0.5 * APART * length
            ):
                valid[i] = True
                break


@compiled
def _regular(
    said: Floats,
    points: Floats,
    bearings: Floats,
    first: Floats,
    laser: Floats,
    angle_min: float,
    step: float,
    count: int,
) -> Floats:
    """Ranges (count,) on a regular grid of angles from where the laser was at the stamp.

    A bin says what the beam nearest to its middle says. Neither the nearest return nor the median
    of a bin maps as well: both move edges and thicken surfaces that beams meet at a slant.
    """
    c, s = math.cos(laser[2]), math.sin(laser[2])
    turn = 2.0 * math.pi / abs(step)
    out, off = np.full(count, math.nan), np.full(count, math.inf)
    for i in range(said.size):
        if math.isnan(said[i]):
            continue
        if math.isinf(said[i]):
            angle, reach = bearings[i] - first[2] - laser[2], math.inf
        else:
            dx, dy = points[i, 0] - laser[0], points[i, 1] - laser[1]
            angle = math.atan2(c * dy - s * dx, c * dx + s * dy)
            reach = math.sqrt(dx * dx + dy * dy)
        at = (angle - angle_min) / step
        at -= math.floor((at + 0.5) / turn) * turn  # bins are counted from -0.5 once around
        k = math.floor(at + 0.5)
        if k < count and abs(at - k) < off[k]:
            out[k], off[k] = reach, abs(at - k)
    return out
