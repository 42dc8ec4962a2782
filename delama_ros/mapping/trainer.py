"""Meta-training of the mapping model (eq. 8): the head first, then DeLAMA unrolled.

The head alone is cheap and finds the features; the unrolled stage sets the coefficients that only
matter between robots and fits the features to what is left of neighbours' evidence on the air.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from delama_ros.core.settings import Settings
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.dataset import Episode, episode, plan_specs, split
from delama_ros.mapping.learned import POOL, LearnedTiles, principal_tiles, soft_f1

CHECKED = (1, 6, 12)  # steps at which validation scores


@dataclass(frozen=True)
class Config:
    """All that decides a training run; config/train_mapping.yaml has the values of the package."""

    plans: str = 'generated:1000-1200'
    validation: str = 'generated:5000-5024'
    seed: int = 0
    features: int = 32
    head_iterations: int = 500
    unrolled_iterations: int = 80
    batch: int = 4  # plans per iteration of the head stage
    rate: float = 4e-3  # of the table; ten times as much for single numbers
    unrolled_rate: float = 1e-3
    sharpness: float = 10.0  # of the smooth step in the F1 loss
    cross_entropy: float = 0.1  # its share in the loss
    noisy: float = 0.25  # share of plans with pose errors
    noise: float = 0.06  # m, their largest standard deviation
    turned: float = 0.4  # share of plans that lie at some angle in the frame
    check_every: int = 50  # iterations; five times as often while unrolled
    patience: int = 4  # checks without progress after which a stage ends
    jobs: int = 2  # processes that draw plans and scan them

    @classmethod
    def of(cls, values: dict[str, Any]) -> Config:
        """Read a mapping as YAML gives it; ValueError names what does not belong."""
        known = {f.name: f for f in fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f'{name} is not a setting, expected one of {sorted(known)}')
            kind = type(known[name].default)
            if not isinstance(value, kind) and not (kind is float and isinstance(value, int)):
                raise ValueError(f'{name} is {value!r}, expected {kind.__name__}')
        return cls(**values)


@dataclass
class Progress:
    """Where a run stands; kept beside the checkpoint so that it can go on."""

    stage: str = 'head'
    iteration: int = 0
    best: float = 0.0
    since_best: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)


def episodes(config: Config, plans: str, *, noisy: bool) -> list[Episode]:
    """Draw or read the plans and let robots scan them, in several processes."""
    rng = np.random.default_rng([config.seed, 0xE91])
    tasks = []
    specs = plan_specs(plans)
    if not plans.startswith('generated:'):
        specs = split(specs)[0]  # the rest of a folder is for tests
    for number, spec in enumerate(specs):
        noise = rng.uniform(0, config.noise) if noisy and rng.random() < config.noisy else 0.0
        turn = rng.uniform(0, math.tau) if rng.random() < config.turned else 0.0
        tasks.append((spec, number, turn, noise))
    with Pool(config.jobs) as pool:
        return pool.starmap(_episode, tasks, chunksize=4)


def _episode(spec: str, number: int, turn: float, noise: float) -> Episode:
    return episode(spec, number, shifted=True, turn=turn, noise=noise)


class Trainer:
    """Runs both stages; `model` is the best so far."""

    def __init__(
        self,
        config: Config,
        settings: Settings,
        training: list[Episode],
        validation: list[Episode],
        say: Callable[[str], None] = print,
    ) -> None:
        torch.manual_seed(config.seed)
        self.config = config
        self.progress = Progress()
        self._rng = np.random.default_rng([config.seed, 0x7A1])
        self._training, self._validation = training, validation
        self._say = say
        truth = np.concatenate([e.truth for e in training]).astype(np.float64)
        self.model = LearnedTiles(principal_tiles(truth, config.features), settings)
        self._best = _copy(self.model)
        self._optimiser = torch.optim.Adam(self.model.parameters())
        self._resumed: dict[str, Any] | None = None  # state of the optimiser to go on with

    def run(self, save: Callable[[Trainer], None]) -> None:
        """Train to the end; save is called after each check, with the best model in place."""
        config = self.config
        stages = (
            ('head', config.head_iterations, config.rate, config.check_every, self._head_loss),
            ('unrolled', config.unrolled_iterations, config.unrolled_rate,
             max(1, config.check_every // 5), self._unrolled_loss),
        )
        names = [stage[0] for stage in stages]
        for name, iterations, rate, every, loss in stages[names.index(self.progress.stage):]:
            if self.progress.stage != name:
                self.progress = Progress(stage=name, curve=self.progress.curve)
            self._stage(iterations, rate, every, loss, save)

    def _stage(
        self,
        iterations: int,
        rate: float,
        every: int,
        loss: Callable[[], Tensor],
        save: Callable[[Trainer], None],
    ) -> None:
        numbers = [p for name, p in self.model.named_parameters() if name != 'table']
        groups: list[dict[str, Any]] = [
            {'params': [self.model.table], 'top': rate}, {'params': numbers, 'top': 8 * rate}
        ]
        self._optimiser = torch.optim.Adam(groups)
        if self._resumed is not None:
            self._optimiser.load_state_dict(self._resumed)
            self._resumed = None
        began = time.monotonic()
        patience = self.config.patience
        while self.progress.iteration < iterations and self.progress.since_best < patience:
            cosine = 0.5 + 0.5 * math.cos(math.pi * self.progress.iteration / iterations)
            for group in self._optimiser.param_groups:
                group['lr'] = rate / 40 + (group['top'] - rate / 40) * cosine
            value = loss()
            self._optimiser.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self._optimiser.step()
            self.progress.iteration += 1
            if self.progress.iteration % every == 0 or self.progress.iteration == iterations:
                self._check(value.item(), time.monotonic() - began)
                save(self)
        self.model.load_state_dict(self._best)

    def _check(self, loss: float, seconds: float) -> None:
        progress = self.progress
        f1 = self.validate()
        mean = sum(f1) / len(f1)
        progress.since_best = 0 if mean > progress.best else progress.since_best + 1
        if mean > progress.best:
            progress.best, self._best = mean, _copy(self.model)
        progress.curve.append({
            'stage': progress.stage, 'iteration': progress.iteration,
            'loss': round(loss, 4), 'f1': [round(value, 2) for value in f1],
        })
        scores = ' / '.join(f'{value:.2f}' for value in f1)
        self._say(
            f'{progress.stage:8s} {progress.iteration:4d}  loss {loss:.4f}  validation F1 {scores}'
            f' at t = {" / ".join(map(str, CHECKED))}  {seconds:.0f} s'
        )

    @torch.no_grad()
    def validate(self) -> list[float]:
        """F1 in per cent at the checked steps: of all data together, or of DeLAMA once unrolled."""
        rows = []
        for item in self._validation:
            if self.progress.stage == 'head':
                thetas = [self.model.alone(_counts(item, 0, t).sum(0)) for t in CHECKED]
            else:
                parts = [
                    _counts(item, a, b) for a, b in zip((0, *CHECKED[:-1]), CHECKED, strict=True)
                ]
                thetas = self.model.together(parts)
            rows.append([hard_f1(self.model.probabilities(theta), item) for theta in thetas])
        return [100 * float(value) for value in np.mean(rows, 0)]

    def _head_loss(self) -> Tensor:
        """Loss of maps from the data of one, two or all robots up to some step."""
        losses = []
        for number in self._rng.integers(0, len(self._training), self.config.batch):
            item = self._training[number]
            counts = _counts(item, 0, int(self._rng.choice((1, 2, 3, 4, 6, 8, 10, 12))))
            robots = item.shape[1]
            team = self._rng.permutation(robots)[: self._rng.choice((1, 2, robots, robots))]
            together = counts[torch.from_numpy(team)].sum(0)
            touched = together.flatten(1).any(1)
            probabilities = self.model.probabilities(self.model.alone(together[touched]))
            losses.append(self._loss(probabilities, _truth(item)[touched]))
        return torch.stack(losses).mean()

    def _unrolled_loss(self) -> Tensor:
        """Loss of every robot's map after each of three random steps of DeLAMA."""
        item = self._training[int(self._rng.integers(len(self._training)))]
        steps = item.shape[0]
        times = sorted(self._rng.choice(np.arange(1, steps + 1), 3, replace=False).tolist())
        parts = [_counts(item, a, b) for a, b in zip((0, *times[:-1]), times, strict=True)]
        truth = _truth(item)
        losses = []
        for theta in self.model.together(parts):
            probabilities = self.model.probabilities(theta)
            everyone = truth.repeat(item.shape[1], 1)
            losses.append(self._loss(probabilities, everyone))
        return torch.stack(losses).mean()

    def _loss(self, probabilities: Tensor, truth: Tensor) -> Tensor:
        entropy = binary_cross_entropy(probabilities.clamp(1e-6, 1 - 1e-6), truth)
        f1 = soft_f1(probabilities, truth, self.config.sharpness)
        return 1 - f1 + self.config.cross_entropy * entropy

    def checkpoint(self, made: dict[str, Any]) -> Checkpoint:
        """Return the best model so far as robots use it."""
        last = _copy(self.model)
        self.model.load_state_dict(self._best)
        model, settings = self.model.export()
        self.model.load_state_dict(last)
        return Checkpoint(
            model, settings, {**made, 'config': asdict(self.config), 'curve': self.progress.curve}
        )

    def save_state(self, path: Path) -> None:
        """Write all that is needed to go on."""
        torch.save(
            {'model': self.model.state_dict(), 'best': self._best,
             'progress': asdict(self.progress), 'config': asdict(self.config),
             'optimiser': self._optimiser.state_dict(),
             'random': self._rng.bit_generator.state},
            path,
        )

    def restore(self, path: Path) -> None:
        """Go on from a saved state; ValueError if it belongs to another configuration."""
        state = torch.load(path, weights_only=True)
        if state['config'] != asdict(self.config):
            raise ValueError(f'{path} was saved by another configuration, remove it to start anew')
        self.model.load_state_dict(state['model'])
        self._best = state['best']
        self._resumed = state['optimiser']
        self.progress = Progress(**state['progress'])
        self._rng.bit_generator.state = state['random']


def _counts(item: Episode, after: int, steps: int) -> Tensor:
    return torch.from_numpy(item.counts(after, steps))


def _truth(item: Episode) -> Tensor:
    """Surfaces on the cells that maps are scored on, (n, cells) of 0 and 1: half a cell counts."""
    n, size = len(item.truth), item.truth.shape[1] // POOL
    covered = item.truth.reshape(n, size, POOL, size, POOL).mean((2, 4)).reshape(n, -1)
    return torch.from_numpy((covered >= 0.5).astype(np.float32))


def hard_f1(probabilities: Tensor, item: Episode) -> float:
    """F1 at the threshold ½, over all robots in the rows of probabilities."""
    claimed = (probabilities >= 0.5).float().reshape(-1, len(item.keys), probabilities.shape[-1])
    truth = _truth(item)
    robots = claimed.shape[0]
    hits = (claimed * truth).sum()
    wanted = robots * (truth.sum() + item.missed / POOL**2)
    return float(2 * hits / (claimed.sum() + wanted))


def _copy(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
