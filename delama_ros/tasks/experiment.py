"""Meta-training of one experiment: a start without collaboration, then each method unrolled.

A run of one seed is a folder with a checkpoint per method, a log per method and their curves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from delama_ros.tasks.backbones import FEATURES
from delama_ros.tasks.images import Images, mirrored_and_shifted
from delama_ros.tasks.learner import Learner, mixed
from delama_ros.tasks.measure import measure
from delama_ros.tasks.methods import METHODS, Method, settings_of
from delama_ros.tasks.saved import load_learner, plain, save_learner
from delama_ros.tasks.task import Batch, Task, fixed
from delama_ros.training import processes
from delama_ros.training.config import require
from delama_ros.training.curves import plot_curves
from delama_ros.training.loop import Check, Loop, Parameters, Stage


@dataclass(frozen=True)
class Training:
    """How an experiment is trained; config/train_TASK.yaml has the values of the package."""

    methods: tuple[Method, ...] = ('oracle', 'delama_paper', 'delama_mina', 'delama')
    sequences: int = 400  # of an epoch
    fresh: bool = True  # draw new sequences in every epoch, or use the same again
    batch: int = 8  # sequences per iteration
    pretrain_iterations: int = 0  # of the backbone as a plain classifier, for images
    pretrain_batch: int = 128  # images per iteration
    augment: bool = False  # mirror and shift images while the backbone is pre-trained
    wc_epochs: int = 30
    epochs: int = 16  # of all rounds unrolled
    rate: float = 3e-3
    unrolled_rate: float = 1e-3
    faster: float = 10.0  # how much faster the coefficients are learned than the backbone
    validation: int = 200  # sequences
    checks: int = 10  # per stage
    patience: int = 4  # checks without progress after which a stage ends
    rounds: int = 5  # M2 of our variants
    directions: int = 6  # that the distance by evidence looks at
    frozen: bool = False  # learn only coefficients once the start is there
    width: int = 64  # of the ResNet
    stride: int = 1  # of its first layer

    def __post_init__(self) -> None:
        for name in ('sequences', 'batch', 'wc_epochs', 'epochs', 'validation', 'checks',
                     'patience', 'rounds', 'directions', 'width', 'stride', 'pretrain_batch'):
            require(name, getattr(self, name), getattr(self, name) >= 1, 'at least 1')
        for name in ('rate', 'unrolled_rate', 'faster'):
            require(name, getattr(self, name), 0 < getattr(self, name) < 1000, 'above 0')
        require('pretrain_iterations', self.pretrain_iterations, self.pretrain_iterations >= 0,
                'at least 0')
        require('batch', self.batch, self.batch <= self.sequences, 'at most sequences')


class Experiment:
    """One task, one seed, all its methods; `made` says how, and goes into checkpoints."""

    def __init__(
        self, task: Task, backbone: Callable[[], nn.Module], training: Training, seed: int,
        folder: Path, made: Mapping[str, Any], say: Callable[[str], None] = print,
    ) -> None:
        self._task, self._backbone, self._training = task, backbone, training
        self._seed, self._folder, self._say = seed, folder, say
        self._made = {**made, 'seed': seed, 'training': asdict(training)}
        self._validation = fixed(task, training.validation, 'validation', seed)
        self._same = None if training.fresh else fixed(task, training.sequences, 'train', seed)
        self._curves: dict[str, list[dict[str, Any]]] = {}

    def run(self) -> None:
        """Train what is not yet there; a stopped run goes on."""
        self._folder.mkdir(parents=True, exist_ok=True)
        start = self._finished('wc')
        if start is None:
            start = self._train('wc', self._new('wc'))
        for method in self._training.methods:
            if method == 'wc' or self._finished(method) is not None:
                continue
            learner = self._new(method)
            if self._training.frozen:
                self._compute_all(start)
                learner.share_backbone(start)
            else:
                learner.backbone.load_state_dict(start.backbone.state_dict())
            learner.look_at(self._draw(np.random.default_rng(self._seed)))
            self._train(method, learner)
        if self._curves and processes.rank() == 0:
            plot_curves(self._curves, self._folder / 'curves.png')

    def _compute_all(self, start: Learner) -> None:
        """Compute the features of all images once that training can ask for."""
        if isinstance(self._task, Images):
            splits = self._task.data.splits
            start.backbone.cache(*(torch.from_numpy(splits[s]) for s in ('train', 'validation')))

    def _new(self, method: Method) -> Learner:
        torch.manual_seed(self._seed)
        variant = METHODS[method]
        return Learner(
            self._task, self._backbone(), settings_of(method, self._training.rounds),
            directions=self._training.directions, seen_offset=variant.offset,
        )

    def _finished(self, method: Method) -> Learner | None:
        path = self._folder / method
        if not path.with_suffix('.json').exists():
            return None
        learner, made = load_learner(path, self._task, self._backbone)
        if any(made[key] != plain(self._made[key]) for key in ('task', 'training')):
            raise ValueError(f'{path}.json was made with other settings, expected another --out')
        self._say(f'{path} is there already')
        return learner

    def _train(self, method: Method, learner: Learner) -> Learner:
        stages = [self._unrolled(method, learner)]
        if method == 'wc' and self._training.pretrain_iterations:
            stages.insert(0, self._pretrain(learner))
        loop = Loop(
            learner, stages, seed=self._seed,
            identity={key: value for key, value in self._made.items() if key != 'command'},
            state=self._folder / f'{method}.state', log=self._folder / f'{method}.jsonl',
            coefficients=lambda: coefficients(learner),
            say=self._say,
        )
        loop.run()
        self._curves[method] = loop.progress.curve
        if processes.rank() == 0:
            best = [line for line in loop.progress.curve if line['best']][-1]
            save_learner(learner, self._folder / method, {
                **self._made, 'seconds': round(loop.progress.seconds),
                'validation': best['values'],
            })
        return learner

    def _unrolled(self, method: Method, learner: Learner) -> Stage:
        training = self._training
        mode = METHODS[method].mode
        epochs, rate = training.epochs, training.unrolled_rate
        if method == 'wc':
            epochs, rate = training.wc_epochs, training.rate
        iterations = epochs * training.sequences // training.batch

        def loss(rng: np.random.Generator) -> Tensor:
            batch = self._draw(rng)
            return mixed(learner.losses(learner(batch, mode), batch))

        def check() -> Check:
            losses, scores = measure(learner, self._validation, mode)[:2]
            shown = sorted({0, (len(losses) - 1) // 2, len(losses) - 1})
            means = scores.mean(0)
            return Check(
                -mixed(losses).item(), {self._task.metric: [means[t].item() for t in shown]}
            )

        every = max(1, iterations // training.checks)
        groups = parameter_groups(learner, rate, training.faster)
        return Stage(method, iterations, groups, loss, check, every, training.patience)

    def _draw(self, rng: np.random.Generator) -> Batch:
        size = self._training.batch
        if self._same is None:
            batch = self._task.draw(rng, size, 'train')
        else:
            rows = rng.choice(len(self._same), size, replace=False)
            batch = self._same.rows(torch.from_numpy(rows))
        return batch.rows(processes.share(size))

    def _pretrain(self, learner: Learner) -> Stage:
        """Train the backbone as a plain classifier of all classes, on training images."""
        task = self._task
        if not isinstance(task, Images):
            raise ValueError('pretrain_iterations is above 0, expected 0 for a task without images')
        backbone = learner.backbone
        head = nn.Linear(FEATURES, task.data.classes)
        learner.add_module('head', head)
        labels = torch.from_numpy(task.data.labels)
        size = self._training.pretrain_batch

        def loss(rng: np.random.Generator) -> Tensor:
            picked = torch.from_numpy(rng.choice(task.data.splits['train'], size))
            shown = task.inputs(picked)
            if self._training.augment:
                shown = mirrored_and_shifted(shown, rng)
            part = processes.share(size)
            return shared_entropy(head(backbone.backbone(shown[part])), labels[picked[part]])

        def check() -> Check:
            picked = torch.from_numpy(task.data.splits['validation'])
            logits = torch.cat([head(backbone(part)) for part in torch.split(picked, 500)])
            hits = (logits.argmax(-1) == labels[picked]).double().mean().item()
            return Check(hits, {'classifier': 100 * hits})

        iterations = self._training.pretrain_iterations
        groups = [([*backbone.parameters(), *head.parameters()], self._training.rate)]
        every = max(1, iterations // self._training.checks)
        return Stage('pretrain', iterations, groups, loss, check, every, self._training.patience)

def shared_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy over the images of all processes."""
    return processes.shared_mean(cross_entropy(logits, labels))


def parameter_groups(
    learner: Learner, rate: float, faster: float
) -> list[tuple[Parameters, float]]:
    """Return backbone and projection at the rate given, single numbers at a faster one."""
    slow: Parameters = []
    fast: Parameters = []
    for name, parameter in learner.named_parameters():
        if name.startswith('head.') or (learner.frozen and '.backbone.' in name):
            continue
        many = '.backbone.' in name or name.endswith('directions')
        (slow if many else fast).append(parameter)
    return [(slow, rate), (fast, faster * rate)]


def coefficients(learner: Learner) -> dict[str, float]:
    """Return the λs and all other single numbers that are learned."""
    settings = learner.network.settings()
    numbers = {name: float(getattr(settings, name)) for name in learner.network.raw}
    return numbers | {name: value.item() for name, value in learner.logits.items()}
