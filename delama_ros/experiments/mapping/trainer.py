"""Meta-training of the mapping model (problem 8): the head first, then the exchange unrolled.

The head alone is cheap and finds the features; the unrolled stage sets the coefficients that only
matter between robots and fits the features to what messages keep of the neighbours' evidence.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy

from delama_ros.core.settings import Settings
from delama_ros.experiments.mapping.dataset import Episode, episode, plan_specs, split
from delama_ros.experiments.mapping.learned import (
    POOL,
    LearnedTiles,
    Plane,
    Table,
    principal_tiles,
    soft_f1,
)
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.training.config import require
from delama_ros.training.loop import Check, Stage

PLANE = 480  # cells along the square of the kind `plane`, 24 m
CHECKED = (1, 6, 12)  # steps at which validation scores


@dataclass(frozen=True)
class PlanConfig:
    """Settings that every training on floor plans has."""

    plans: tuple[str, ...] = ('generated:1000-1500',)  # folders, or generated:A-B
    validation: tuple[str, ...] = ('generated:5000-5024',)
    seed: int = 0
    kind: Literal['tiles', 'plane'] = 'tiles'
    batch: int = 4  # plans, or windows, per iteration
    rate: float = 4e-3
    sharpness: float = 10.0  # of the smooth step in the F1 loss
    cross_entropy: float = 0.1  # its share in the loss
    noisy: float = 0.25  # share of plans with pose errors
    noise: float = 0.06  # m, their largest standard deviation
    turned: float = 0.4  # share of plans that lie at some angle in the frame
    check_every: int = 50  # iterations
    patience: int = 4  # checks without progress after which a stage ends
    jobs: int = 2  # processes that draw plans and scan them

    def __post_init__(self) -> None:
        for name in ('batch', 'check_every', 'patience', 'jobs'):
            require(name, value := getattr(self, name), value >= 1, 'at least 1')
        for name in ('rate', 'sharpness'):
            require(name, value := getattr(self, name), 0 < value < math.inf, 'a number above 0')
        for name in ('cross_entropy', 'noisy', 'noise', 'turned'):
            require(name, value := getattr(self, name), 0 <= value <= 1, '0 to 1')
        require('seed', self.seed, self.seed >= 0, '0 or more')


@dataclass(frozen=True)
class Config(PlanConfig):
    """Settings of the mapping model; config/train_mapping.yaml has the values of the package.

    `rate` is that of the table, single numbers learn eight times as fast; `check_every` is a fifth
    of its value in the unrolled stage.
    """

    logs: tuple[str, ...] = ()  # recordings to train on too
    features: int = 32
    head_iterations: int = 800
    unrolled_iterations: int = 20
    unrolled_rate: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        require('features', self.features, 1 <= self.features <= 576, '1 to 576')
        for name in ('head_iterations', 'unrolled_iterations'):
            require(name, value := getattr(self, name), value >= 0, '0 or more')


def log_data(config: Config) -> list[Episode]:
    """Read the recordings to train on."""
    from delama_ros.data.read import read_all
    from delama_ros.experiments.mapping.log_episodes import log_episodes

    logs = [log for file in config.logs for log in read_all(file)]
    found = [item for log in logs for item in log_episodes(log)]
    if config.logs and not found:
        raise ValueError(f'{", ".join(config.logs)}: too few scans to make an episode of')
    return found


def episodes(
    config: PlanConfig, plans: Sequence[str], role: Literal['training', 'validation']
) -> list[Episode]:
    """Draw or read the plans and let robots scan each of them, in several processes.

    A folder gives the part of it that is for this role; a source that is named again is scanned
    again from other places. Only in training are poses noisy.
    """
    rng = np.random.default_rng([config.seed, 0xE91])
    tasks: list[tuple[str, int, float, float]] = []
    specs = specs_of(plans, role)
    noisy = config.noisy if role == 'training' else 0.0
    for number, spec in enumerate(specs):
        noise = rng.uniform(0, config.noise) if rng.random() < noisy else 0.0
        turn = rng.uniform(0, math.tau) if rng.random() < config.turned else 0.0
        tasks.append((spec, number, turn, noise))
    with Pool(config.jobs) as pool:
        return pool.starmap(_on_plane if config.kind == 'plane' else _on_tiles, tasks, chunksize=4)


def specs_of(plans: Sequence[str], role: Literal['training', 'validation']) -> list[str]:
    """Return the plans of all sources that are for a role; ValueError for one that is none."""
    return [spec for source in plans for spec in _specs(source, role)]


def _specs(source: str, role: Literal['training', 'validation']) -> list[str]:
    specs = plan_specs(source)
    if source.startswith('generated:'):
        return specs
    parts = split(specs)  # the rest of a folder is for tests
    return parts.training if role == 'training' else parts.validation


def _on_tiles(spec: str, number: int, turn: float, noise: float) -> Episode:
    return episode(spec, number, shifted=True, turn=turn, noise=noise)


def _on_plane(spec: str, number: int, turn: float, noise: float) -> Episode:
    return episode(spec, number, noise=noise, cells=PLANE)


class MapTraining:
    """A model, its data and the stages that it is trained in."""

    def __init__(
        self,
        config: Config,
        settings: Settings,
        training: list[Episode],
        validation: list[Episode],
    ) -> None:
        torch.manual_seed(config.seed)
        self.config = config
        self._training, self._validation = training, validation
        self.model = LearnedTiles(self._features(), settings)

    def _features(self) -> Table | Plane:
        if self.config.kind == 'plane':
            return Plane(self.config.features, PLANE)
        truth = np.concatenate([e.truth for e in self._training]).astype(np.float64)
        return Table(principal_tiles(truth, self.config.features))

    def stages(self) -> list[Stage]:
        """Return the head stage and the unrolled one."""
        config = self.config
        return [
            Stage(
                'head', config.head_iterations, self._groups(config.rate), self._head_loss,
                partial(self._check, unrolled=False), config.check_every, config.patience,
            ),
            Stage(
                'unrolled', config.unrolled_iterations, self._groups(config.unrolled_rate),
                self._unrolled_loss, partial(self._check, unrolled=True),
                max(1, config.check_every // 5), config.patience,
            ),
        ]

    def _groups(self, rate: float) -> list[tuple[list[nn.Parameter], float]]:
        features = list(self.model.features.parameters())
        known = {id(p) for p in features}
        numbers = [p for p in self.model.parameters() if id(p) not in known]
        return [(features, rate), (numbers, 8 * rate)]

    def _check(self, *, unrolled: bool) -> Check:
        f1 = self.validate(unrolled=unrolled)
        return Check(sum(f1) / len(f1), {f'F1 t={t}': v for t, v in zip(CHECKED, f1, strict=True)})

    @torch.no_grad()
    def validate(self, *, unrolled: bool) -> list[float]:
        """F1 in per cent at the checked steps: of all data, or of each robot if unrolled."""
        rows = []
        for item in self._validation:
            if unrolled:
                parts = [
                    _counts(item, a, b) for a, b in zip((0, *CHECKED[:-1]), CHECKED, strict=True)
                ]
                thetas = self.model.together(parts)
            else:
                thetas = [self.model.alone(_counts(item, 0, t).sum(0)) for t in CHECKED]
            rows.append([hard_f1(self.model.probabilities(theta), item) for theta in thetas])
        return [100 * float(value) for value in np.mean(rows, 0)]

    def _head_loss(self, rng: np.random.Generator) -> Tensor:
        """Loss of maps from the data of one, two or all robots up to some step."""
        losses = []
        for number in rng.integers(0, len(self._training), self.config.batch):
            item = self._training[number]
            counts = _counts(item, 0, int(rng.choice((1, 2, 3, 4, 6, 8, 10, 12))))
            robots = item.shape[1]
            team = rng.permutation(robots)[: rng.choice((1, 2, robots, robots))]
            together = counts[torch.from_numpy(team)].sum(0)
            touched = together.flatten(1).any(1)
            probabilities = self.model.probabilities(self.model.alone(together[touched]))
            losses.append(self._loss(probabilities, _truth(item)[touched], _known(item)[touched]))
        return torch.stack(losses).mean()

    def _unrolled_loss(self, rng: np.random.Generator) -> Tensor:
        """Loss of every robot's map after each of three random steps."""
        item = self._training[int(rng.integers(len(self._training)))]
        steps = item.shape[0]
        times = sorted(rng.choice(np.arange(1, steps + 1), 3, replace=False).tolist())
        parts = [_counts(item, a, b) for a, b in zip((0, *times[:-1]), times, strict=True)]
        everyone = [part.repeat(item.shape[1], 1) for part in (_truth(item), _known(item))]
        losses = []
        for theta in self.model.together(parts):
            probabilities = self.model.probabilities(theta)
            losses.append(self._loss(probabilities, *everyone))
        return torch.stack(losses).mean()

    def _loss(self, probabilities: Tensor, truth: Tensor, known: Tensor) -> Tensor:
        probabilities, truth = probabilities[known], truth[known]
        entropy = binary_cross_entropy(probabilities.clamp(1e-6, 1 - 1e-6), truth)
        f1 = soft_f1(probabilities, truth, self.config.sharpness)
        return 1 - f1 + self.config.cross_entropy * entropy

    def checkpoint(self, state: dict[str, Tensor], made: dict[str, Any]) -> Checkpoint:
        """Return a state of the model as robots use it."""
        model = copy.deepcopy(self.model)
        model.load_state_dict(state)
        tiles, settings = model.export()
        return Checkpoint(tiles, settings, made)


def _counts(item: Episode, after: int, steps: int) -> Tensor:
    return torch.from_numpy(item.counts(after, steps))


def _truth(item: Episode) -> Tensor:
    """Surfaces on the cells that maps are scored on, (n, cells) of 0 and 1: half a cell counts."""
    n, size = len(item.truth), item.truth.shape[1] // POOL
    covered = item.truth.reshape(n, size, POOL, size, POOL).mean((2, 4)).reshape(n, -1)
    return torch.from_numpy((covered >= 0.5).astype(np.float32))


def _known(item: Episode) -> Tensor:
    """Cells of which the truth is known, (n, cells)."""
    n, size = len(item.truth), item.truth.shape[1] // POOL
    if item.known is None:
        return torch.ones((n, size**2), dtype=torch.bool)
    whole = item.known.reshape(n, size, POOL, size, POOL).all((2, 4))
    return torch.from_numpy(whole.reshape(n, -1))


def hard_f1(probabilities: Tensor, item: Episode) -> float:
    """F1 at the threshold ½, over all robots in the rows of probabilities."""
    claimed = (probabilities >= 0.5).float().reshape(-1, len(item.keys), probabilities.shape[-1])
    truth = _truth(item)
    robots = claimed.shape[0]
    hits = (claimed * truth).sum()
    wanted = robots * (truth.sum() + item.missed / POOL**2)
    return float(2 * hits / (claimed.sum() + wanted))

