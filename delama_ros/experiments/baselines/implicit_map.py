"""Mapping by decentralised optimisation: an implicit map, a network from position to occupancy.

As in the DiNNO paper (Yu et al., RA-L 2022, section V-B): every robot fits a network to what its
own laser shows of points around it, and exchanges the network's parameters with its neighbours.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from delama_ros.experiments.baselines.decentralised import DSGD, DSGT, DiNNO
from delama_ros.experiments.baselines.method import Effort, Method
from delama_ros.experiments.baselines.problem import Batch, Networks, Problem, binary_cross_entropy
from delama_ros.experiments.mapping.dataset import CELLS, RESOLUTION, scan_of
from delama_ros.geometry.grid import Bools, Floats, OccupancyMap
from delama_ros.geometry.truth import SurfaceTruth
from delama_ros.mapping.scan import BEHIND_1, BEHIND_2, BEHIND_3, HIT, PASSED, scan_marks
from delama_sim.protocol import MappingRun

# Walls are taken to be as thick as by the log-odds grid, 0.3 m behind a hit.
WALL = HIT | BEHIND_1 | BEHIND_2 | BEHIND_3


class ImplicitMap(nn.Module):
    """Random Fourier features of a position in metres, two hidden layers, one logit."""

    def __init__(self, seed: int, scale: float, features: int = 128, hidden: int = 64) -> None:
        """`scale` is the standard deviation of the frequencies in cycles per metre."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.register_buffer('frequencies', 2 * math.pi * scale * torch.randn(2, features))
            self.layers = nn.Sequential(
                nn.Linear(2 * features, hidden), nn.ReLU(),
                nn.Linear(hidden, hidden), nn.ReLU(),
                nn.Linear(hidden, 1),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (S, 1) of occupancy at positions (S, 2)."""
        phase = x @ self.get_buffer('frequencies')
        out: Tensor = self.layers(math.sqrt(2) * torch.cat([phase.sin(), phase.cos()], -1))
        return out


@dataclass(frozen=True)
class Tuning:
    """How a method is run."""

    make: Callable[[Problem, tuple[int, ...]], Method]
    batch: int = 600  # points per robot and gradient
    walls: float = 0.3  # share of them drawn from walls
    anywhere: float = 0.5  # points drawn from the whole frame, as a share of the others
    doubt: float = 0.6  # weight of those
    scale: float = 0.7  # cycles per metre of the features


class Points:
    """What robots have seen, as points: walls and free space of each robot, to draw from."""

    def __init__(
        self, robots: int, truth: SurfaceTruth, tuning: Tuning, *, replay: bool, seed: int
    ) -> None:
        """Without replay, only the last scan is drawn from."""
        self._replay = replay
        self._seen: tuple[list[Floats], list[Floats]] = (
            [np.zeros((0, 2))] * robots, [np.zeros((0, 2))] * robots,
        )
        walls = round(tuning.batch * tuning.walls)
        self._sizes = (tuning.batch - walls, walls)
        self._anywhere, self._doubt = round(tuning.batch * tuning.anywhere), tuning.doubt
        rows, columns = truth.occupied.shape
        self._corner = torch.tensor(truth.origin[:2])
        self._extent = truth.resolution * torch.tensor([float(columns), float(rows)])
        self._generator = torch.Generator().manual_seed(seed)
        self._flat: list[tuple[Tensor, Tensor, Tensor]] = []

    def add(self, run: MappingRun, poses: Floats, step: int) -> None:
        """Take in all robots' scans of a step."""
        for robot in range(poses.shape[1]):
            x, y, yaw = poses[step, robot].tolist()
            keys, marks = scan_marks(
                scan_of(run, step, robot), (x, y, yaw), resolution=RESOLUTION, tile_cells=CELLS
            )
            for kind, chosen in enumerate((marks == PASSED, marks & WALL > 0)):
                old = [self._seen[kind][robot]] if self._replay else []
                self._seen[kind][robot] = np.concatenate([*old, _centres(keys, chosen)])
        self._flat = [_flat(points) for points in self._seen]

    def draw(self) -> Batch:
        """Return as many points of each robot: free ones, walls (label 1), and any of the frame.

        The last have label 0 and little weight: a network without data of a place must
        not draw walls there, since what is not mapped counts as not occupied.
        """
        parts, weights = [], []
        for (points, begin, count), size in zip(self._flat, self._sizes, strict=True):
            share = torch.rand(len(count), size, generator=self._generator)
            index = begin[:, None] + (share * count[:, None]).long()
            parts.append(points[index.clamp(max=max(len(points) - 1, 0))])
            weights.append((count > 0).float()[:, None].expand(-1, size))
        robots = len(weights[0])
        share = torch.rand(robots, self._anywhere, 2, generator=self._generator)
        x = torch.cat([*parts, self._corner + share * self._extent], 1)  # (N, S, 2)
        weights.append(torch.full((robots, self._anywhere), self._doubt))
        y = torch.zeros(*x.shape[:2], 1)
        y[:, self._sizes[0] : sum(self._sizes)] = 1.0
        return Batch(x, y, torch.cat(weights, 1))


def _centres(keys: np.ndarray, chosen: Bools) -> Floats:
    """Return the centres in metres of chosen cells (n, S, S) of tiles."""
    tile, row, column = np.nonzero(chosen)
    cells = keys[tile] * CELLS + np.stack([column, row], -1) + 0.5
    centres: Floats = cells * RESOLUTION
    return centres


def _flat(points: list[Floats]) -> tuple[Tensor, Tensor, Tensor]:
    """Join robots' points into one tensor, with where each robot's begin and how many they are."""
    count = torch.tensor([len(p) for p in points])
    joined = torch.tensor(np.concatenate([*points, np.zeros((1, 2))]), dtype=torch.float32)
    return joined, count.cumsum(0) - count, count


# Chosen with 50 rounds, one after the other and not in all combinations. First by F1 at t = 1 and 6
# on generated:5000 and 5001:
#   dsgd   rate 0.1, 0.3, 1, 2, 4
#   dsgt   rate 1, 2
#   dinno  rate 0.003, 0.01; penalty 0.03, 0.1, 1; 2 or 4 steps of Adam
#   all    doubt 0.03, 0.1, 0.3, 0.6, 1; walls 0.3, 0.5; scale 0.3, 0.5; with DSGD
# then by F1 at t = 1, 6 and 12 on generated:5000 to 5002, from where that had ended:
#   dsgd   doubt 0.15, 0.3, 0.6; walls 0.3, 0.5; scale 0.5, 0.7
#   dsgt   rate 4; doubt and scale 0.3 and 0.5, 0.6 and 0.7
#   dinno  2 or 4 steps of Adam; scale 0.7
TUNED = {
    'dsgd': Tuning(lambda p, s: DSGD(p, Effort(rounds=50, rate=4.0), s)),
    'dsgt': Tuning(lambda p, s: DSGT(p, Effort(rounds=50, rate=4.0), s)),
    'dinno': Tuning(lambda p, s: DiNNO(p, Effort(50, 4, rate=0.003), s, strength=0.03)),
}


@dataclass(frozen=True)
class Learned:
    """What robots have learned after a step."""

    number: int  # of the step, from 0
    networks: Networks
    theta: Tensor  # (N, P)
    bytes: int  # sent by a robot in the step
    seconds: float  # per robot

    @torch.no_grad()
    def logits_at(self, places: Floats) -> Tensor:
        """Return each robot's logits (N, n) at places (n, 2) in metres."""
        inputs = torch.tensor(places, dtype=torch.float32)
        return self.networks(self.theta, inputs.expand(len(self.theta), *inputs.shape))[..., 0]


def learn(
    run: MappingRun,
    poses: Floats,
    links: Bools,
    tuning: Tuning,
    *,
    replay: bool,
    seed: int,
) -> Iterator[Learned]:
    """Run all steps, one after the other."""
    torch.set_num_threads(1)
    robots = poses.shape[1]
    problem = Problem(Networks(ImplicitMap(seed, tuning.scale)), binary_cross_entropy)
    method = tuning.make(problem, (robots,))
    points = Points(robots, run.truth, tuning, replay=replay, seed=seed)
    reach = torch.from_numpy(links)
    for step in range(len(poses)):
        began = time.process_time()
        points.add(run, poses, step)
        theta = method.step(points.draw, reach)
        seconds = (time.process_time() - began) / robots
        yield Learned(step, problem.networks, theta, method.bytes_per_step, seconds)


def draw_maps(step: Learned, *, truth: SurfaceTruth) -> list[OccupancyMap]:
    """Draw every robot's network on the truth's cells."""
    rows, columns = truth.occupied.shape
    frame = OccupancyMap(np.zeros((rows, columns), np.int8), truth.resolution, truth.origin)
    row, column = np.indices((rows, columns))
    percent = 100 * step.logits_at(frame.centre_of(row.ravel(), column.ravel())).sigmoid()
    cells = percent.round().to(torch.int8).numpy().reshape(-1, rows, columns)
    return [frame.with_cells(own) for own in cells]
