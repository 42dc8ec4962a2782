"""Episodes of mapping for training and evaluation: what five robots saw of one plan, by tile."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.grid import Bools, Floats, OccupancyMap, Pose
from delama_ros.geometry.pose_math import transform
from delama_ros.geometry.truth import surface_truth
from delama_ros.mapping.scan import KINDS, Keys, Marks, Scan, scan_marks
from delama_sim.plans import DIGITS, find, load
from delama_sim.protocol import MappingRun, mapping_run, prepare

CELLS = 24  # along a tile's edge
RESOLUTION = 0.05  # m
MOST_PLANS = 100_000
LARGEST = 15.0  # m, longest side of the plans of the protocol
TEST_SHARE, VALIDATION_SHARE = 0.3, 0.1
TURN = math.radians(0.6) / 0.05  # rad of heading error per m of position error

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Episode:
    """Marks of one run on the n tiles that any robot touched, m entries of scan and tile."""

    keys: Keys  # (n, 2)
    step: Indices  # (m,), from 0
    robot: Indices  # (m,)
    tile: Indices  # (m,), index into keys
    marks: Marks  # (m, S, S)
    truth: Bools  # (n, S, S): surfaces, on the model's cells
    missed: int  # surface cells in no tile
    shape: tuple[int, int]  # steps, robots
    known: Bools | None = None  # (n, S, S): where the truth is known; None: everywhere

    def counts(self, after: int, steps: int) -> npt.NDArray[np.float32]:
        """Count scans per kind in steps after <= t < steps, (robots, n, KINDS, S, S)."""
        out = np.zeros((self.shape[1], len(self.keys), KINDS, *self.marks.shape[1:]), np.float32)
        use = (self.step >= after) & (self.step < steps)
        bits = np.arange(KINDS, dtype=np.uint8)[:, None, None]
        for i, n, marks in zip(self.robot[use], self.tile[use], self.marks[use], strict=True):
            out[i, n] += marks >> bits & 1
        return out


def scan_of(run: MappingRun, step: int, robot: int) -> Scan:
    """Return one scan of a run."""
    increment = float(run.angles[1] - run.angles[0])
    ranges = run.ranges[step, robot].astype(np.float64)
    return Scan(ranges, float(run.angles[0]), increment, 0.05, run.range_max)


def noisy_poses(run: MappingRun, noise: float, seed: int) -> Floats:
    """Return the poses (T, N, 3) with independent errors; noise in m, headings in proportion."""
    rng = np.random.default_rng([seed, 0x9015E])
    errors = rng.normal(size=run.poses.shape) * noise * np.array([1.0, 1.0, TURN])
    noisy: Floats = run.poses + errors
    return noisy


def in_frame(poses: Floats, frame: Pose) -> Floats:
    """Return poses (..., 3) as seen in another frame; frame is where the old origin is in it.

    Unlike `compose` it leaves headings unwrapped.
    """
    places = transform(frame, poses[..., :2])
    return np.concatenate([places, poses[..., 2:] + frame[2]], -1)


def record(
    run: MappingRun, poses: Floats, frame: Pose = (0.0, 0.0, 0.0), cells: int = CELLS
) -> Episode:
    """Cut a run into tiles of a frame in which the plan's origin has this pose.

    poses: (T, N, 3), where the robots believe their LiDARs to be, in the plan's own frame.
    """
    steps, robots = run.poses.shape[:2]
    poses = in_frame(poses, frame)
    parts = []
    for t in range(steps):
        for i in range(robots):
            x, y, yaw = poses[t, i].tolist()
            keys, marks = scan_marks(
                scan_of(run, t, i), (x, y, yaw), resolution=RESOLUTION, tile_cells=cells
            )
            parts.append((t, i, keys, marks))
    return cut(
        parts, (steps, robots), lambda keys: (*truth_on_tiles(run.map, keys, frame, cells), None)
    )


def cut(
    parts: Sequence[tuple[int, int, Keys, Marks]],
    shape: tuple[int, int],
    truth_of: Callable[[Keys], tuple[Bools, int, Bools | None]],
) -> Episode:
    """Make an episode of scans: step, robot, keys and marks of each.

    truth_of: the truth on tiles, surface cells in none of them, and where the truth is known.
    """
    keys, tile = np.unique(np.concatenate([p[2] for p in parts]), axis=0, return_inverse=True)
    sizes = [len(p[2]) for p in parts]
    truth, missed, known = truth_of(keys)
    return Episode(
        keys,
        np.repeat([p[0] for p in parts], sizes),
        np.repeat([p[1] for p in parts], sizes),
        tile.ravel(),
        np.concatenate([p[3] for p in parts]),
        truth,
        missed,
        shape,
        known,
    )


def truth_on_tiles(
    occupancy: OccupancyMap, keys: Keys, frame: Pose = (0.0, 0.0, 0.0), cells: int = CELLS
) -> tuple[Bools, int]:
    """Return the surfaces of a map on tiles, (n, S, S), and how many cells are in none."""
    truth = surface_truth(occupancy, RESOLUTION)
    grid = OccupancyMap(truth.occupied.astype(np.int8), truth.resolution, truth.origin)
    inside = (np.arange(cells) + 0.5) * RESOLUTION
    corners = keys * (cells * RESOLUTION)  # (n, 2)
    x = (corners[:, 0, None] + inside)[:, None, :] - frame[0]  # (n, 1, S)
    y = (corners[:, 1, None] + inside)[:, :, None] - frame[1]
    cos, sin = math.cos(frame[2]), math.sin(frame[2])
    values = grid.value_at(np.stack([cos * x + sin * y, cos * y - sin * x], -1)) == 1
    return values, max(0, int(truth.occupied.sum() - values.sum()))


def episode(
    spec: str,
    seed: int,
    *,
    shifted: bool = False,
    turn: float = 0.0,
    noise: float = 0.0,
    cells: int = CELLS,
) -> Episode:
    """Run the protocol on a plan and record it.

    shifted: at a random place among the tiles; turn: rad of the plan against the frame; noise:
    standard deviation of positions in m; cells: along a tile's edge.
    """
    run = mapping_run(prepare(load(spec), seed), seed)
    shift = np.random.default_rng([seed, 0x5817]).integers(0, CELLS, 2) if shifted else (0, 0)
    frame = (float(shift[0]) * RESOLUTION, float(shift[1]) * RESOLUTION, turn)
    return record(run, noisy_poses(run, noise, seed), frame, cells)


def plan_specs(text: str) -> list[str]:
    """Return the plans that generated:A-B (B excluded), rooms:N or a folder stands for.

    Of a folder, only plans up to 15 m are used, as in the protocol.
    """
    if text.startswith('generated:'):
        first, _, last = text.removeprefix('generated:').partition('-')
        numbers = all(n.isdecimal() and len(n) <= DIGITS for n in (first, last))
        if not (numbers and int(first) < int(last)):
            raise ValueError(f'plans are {text!r}, expected generated:A-B with A < B')
        if int(last) - int(first) > MOST_PLANS:
            raise ValueError(f'plans are {text!r}, expected at most {MOST_PLANS} plans')
        return [f'generated:{seed}' for seed in range(int(first), int(last))]
    if text.startswith('rooms:'):
        load(text)
        return [text]
    if not Path(text).is_dir():
        raise ValueError(f'plans are {text!r}, expected a folder, generated:A-B or rooms:N')
    return [str(file) for file in find(text) if max(load(file).map.size) <= LARGEST]


class Split(NamedTuple):
    """What plans of a folder are for."""

    training: list[str]
    validation: list[str]
    test: list[str]


def split(specs: Sequence[str]) -> Split:
    """Set aside about 30 % of plans for tests, 10 % to validate on; a hash of the name decides."""
    parts = Split([], [], [])
    for spec in specs:
        share = _draw(Path(spec).stem)
        if share < TEST_SHARE:
            parts.test.append(spec)
        elif share < TEST_SHARE + VALIDATION_SHARE:
            parts.validation.append(spec)
        else:
            parts.training.append(spec)
    return parts


def _draw(name: str) -> float:
    """Return a number in [0, 1) that is always the same for a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], 'big') / 2**32
