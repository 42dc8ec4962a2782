"""Where robots start and where they are sent: random free poses and waypoint files."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import Floats, Ints, OccupancyMap, Pose
from delama_sim.planner import Planner

TRIES = 200
GAP = 0.4  # m
SNAP = 0.5  # m


def start_poses(
    planners: Sequence[Planner],
    building: Ints,
    radius: float,
    rng: np.random.Generator,
    fixed: Sequence[Pose | None],
) -> Floats:
    """Poses (N, 3) for robots in their buildings: the fixed ones as given, the others at random.

    Random ones keep clear of walls and, as long as there is room, three radii from each other.
    """
    poses = np.full((len(building), 3), np.nan)
    for i, pose in enumerate(fixed):
        if pose is not None:
            if not planners[building[i]].is_drivable(pose[:2]):
                raise PlanError(f'robot {i} cannot start at {pose}: a wall is too near')
            poses[i] = pose
    for i, pose in enumerate(fixed):
        if pose is not None:
            continue
        peers = poses[(building == building[i]) & ~np.isnan(poses[:, 0]), :2]
        for _ in range(TRIES):
            point = planners[building[i]].random_point(rng)
            if not len(peers) or np.hypot(*(peers - point).T).min() > 3 * radius:
                break
        poses[i] = *point, rng.uniform(-math.pi, math.pi)
    return poses


class Waypoints:
    """A tour through given points, again and again, without a stop at each of them.

    Points nearer than GAP to the one before are left out, since recorded paths come dense; one
    too near to a wall for the robot is moved to the nearest place it fits, up to SNAP away.
    """

    def __init__(self, planner: Planner, start: Floats, points: npt.ArrayLike) -> None:
        self._planner = planner
        self._at = np.asarray(start, np.float64)
        given = np.asarray(points, np.float64)
        if given.ndim != 2 or given.shape[1] != 2 or not len(given):
            raise PlanError(f'waypoints have shape {given.shape}, expected (n, 2)')
        self._points: list[Floats] = []
        for k, point in enumerate(given):
            if self._points and np.hypot(*(point - self._points[-1])) < GAP:
                continue
            fitting = planner.nearest(point)
            if np.hypot(*(fitting - point)) > SNAP:
                where = tuple(point.round(3).tolist())
                raise PlanError(f'waypoint {k} at {where} m is out of the reach of a robot')
            self._points.append(fitting)

    def next_leg(self) -> Floats:
        """Way (n, 2) in world metres once round the tour."""
        legs = [self._at[None]]
        for point in self._points:
            target = np.zeros(self._planner.drivable.shape, np.bool_)
            target[self._planner.cell_of(point)] = True
            legs.append(self._planner.route(legs[-1][-1], target)[1:])
            if not len(legs[-1]):  # already there
                legs.pop()
        self._at = legs[-1][-1]
        return np.concatenate(legs)


def load_waypoints(file: str | Path, occupancy: OccupancyMap, pixel: float | None = None) -> Floats:
    """Points (n, 2) in world metres from a .npy file (n, 2) or a .csv file of x, y in metres.

    In .npy files whole numbers are (row, column) pixels of the map image, counted from its top
    left, and fractions in [-1, 1] span that image: x to the right, y down. `pixel` is the side of
    a pixel in metres, if the map has been reduced from a finer image. Repeats are dropped.
    """
    path = Path(file)
    if not path.is_file():
        raise PlanError(f'{path}: there is no such waypoint file')
    rows, cols = occupancy.shape
    fine = (pixel or occupancy.resolution) / occupancy.resolution  # cells per pixel
    if path.suffix == '.csv':
        points = _read_csv(path)
    elif path.suffix == '.npy':
        raw = _read_npy(path)
        if raw.ndim != 2 or raw.shape[1] != 2 or not len(raw):
            raise PlanError(f'{path}: waypoints have shape {raw.shape}, expected (n, 2)')
        if np.issubdtype(raw.dtype, np.integer):
            columns, down = (raw[:, 1] + 0.5) * fine, (raw[:, 0] + 0.5) * fine
        elif np.abs(raw).max() <= 1:
            columns, down = (raw[:, 0] + 1) / 2 * cols, (raw[:, 1] + 1) / 2 * rows
        else:
            raise PlanError(f'{path}: waypoints reach {np.abs(raw).max():g}, expected [-1, 1]')
        points = occupancy.to_world(np.stack([columns, rows - down], -1))
    else:
        raise PlanError(f'{path}: waypoint files end in .npy or .csv')
    fresh = np.concatenate([[True], np.any(np.diff(points, axis=0) != 0, axis=1)])
    result: Floats = points[fresh]
    return result


def _read_npy(path: Path) -> Floats:
    """Return the array in a file, which must hold numbers."""
    try:
        with path.open('rb') as file:
            raw = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, MemoryError) as error:
        raise PlanError(f'{path}: is not an .npy file: {" ".join(str(error).split())}') from None
    if raw.dtype.kind not in 'iuf' or not np.isfinite(raw).all():
        raise PlanError(f'{path}: holds {raw.dtype}, expected finite numbers')
    return raw


def _read_csv(path: Path) -> Floats:
    points = []
    with path.open(newline='', errors='replace') as lines:
        for number, row in enumerate(csv.reader(lines), 1):
            if not row or row[0].startswith('#'):
                continue
            try:
                x, y = (float(value) for value in row)
                if not (math.isfinite(x) and math.isfinite(y)):
                    raise ValueError
            except ValueError:
                said = str(row)[:80]
                raise PlanError(f'{path}, line {number}: {said} is not "x, y" in metres') from None
            points.append((x, y))
    if not points:
        raise PlanError(f'{path}: no waypoints in it')
    return np.array(points)
