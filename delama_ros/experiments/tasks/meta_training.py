"""Meta-training on a task: first `alone`, then each variant from its backbone, unrolled.

A run of one seed is a folder with a checkpoint and a log per variant, and their curves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from delama_ros.experiments.tasks.images import Images
from delama_ros.experiments.tasks.learner import Learner, objective
from delama_ros.experiments.tasks.measure import measure
from delama_ros.experiments.tasks.pretrain import pretrain_stage
from delama_ros.experiments.tasks.saved import (
    BACKBONE,
    find_checkpoint,
    load_learner,
    plain,
    save_learner,
)
from delama_ros.experiments.tasks.schedule import Training
from delama_ros.experiments.tasks.task import Batch, Task, fixed
from delama_ros.experiments.tasks.variants import VARIANTS, Trained, settings_of
from delama_ros.training import processes
from delama_ros.training.curves import plot_curves
from delama_ros.training.loop import Check, Loop, Parameters, Stage

PRETRAINING = ('pretrain_', 'width', 'stride')  # how the settings of a backbone begin


class MetaTraining:
    """One task, one seed, all variants; `made` records how, and goes into checkpoints."""

    def __init__(
        self, task: Task, backbone: Callable[[], nn.Module], training: Training, seed: int,
        folder: Path, made: Mapping[str, Any], report: Callable[[str], None] = print,
    ) -> None:
        self._task, self._backbone, self._training = task, backbone, training
        self._seed, self._folder, self._report = seed, folder, report
        # Which methods are trained in one go is not part of how each of them is made.
        settings = {key: v for key, v in asdict(training).items() if key != 'methods'}
        self._made = plain({**made, 'seed': seed, 'training': settings})
        # A backbone serves all tasks and methods that are trained with it.
        own = {key: v for key, v in settings.items() if key.startswith(PRETRAINING)}
        self._backbone_made = plain({**made, 'seed': seed, 'task': {}, 'training': own})
        self._validation = fixed(task, training.validation, 'validation', seed)
        self._same = None if training.fresh else fixed(task, training.sequences, 'train', seed)

    def run(self) -> None:
        """Train what is missing; a stopped run continues."""
        self._folder.mkdir(parents=True, exist_ok=True)
        start = None
        if self._training.pretrain_iterations:
            start = self._finished(BACKBONE)
            if start is None:
                fresh = self._new('alone')
                self._train(BACKBONE, fresh, pretrain_stage(fresh, self._task, self._training))
                processes.wait()
                start = self._finished(BACKBONE)  # rounded as it is stored
        # All start from the features of `alone`, which are those of `start` if they are frozen.
        for method in dict.fromkeys(('alone', *self._training.methods)):
            learner = self._finished(method)
            if learner is None:
                learner = self._new(method)
                if start is not None:
                    self._begin_with(learner, start, first=method == 'alone')
                self._train(method, learner, self._unrolled(method, learner))
            if method == 'alone':
                start = learner
        if processes.rank() == 0:
            logs = {path.stem: path.read_text() for path in sorted(self._folder.glob('*.jsonl'))}
            curves = {name: [json.loads(line) for line in log.splitlines()]
                      for name, log in logs.items()}
            plot_curves(curves, self._folder / 'curves.png')

    def _begin_with(self, learner: Learner, start: Learner, *, first: bool) -> None:
        """Give a learner the backbone of another, frozen with all features computed or to learn."""
        if self._training.frozen:
            if isinstance(self._task, Images) and not start.backbone.is_cached:
                splits = self._task.data.splits
                start.backbone.cache(
                    *(torch.from_numpy(splits[name]) for name in ('train', 'validation'))
                )
            learner.share_backbone(start)
            if first:
                learner.backbone.centre()
        else:
            learner.backbone.load_state_dict(start.backbone.state_dict())
        learner.look_at(self._draw(np.random.default_rng(self._seed)))

    def _new(self, method: Trained) -> Learner:
        torch.manual_seed(self._seed)
        variant = VARIANTS[method]
        return Learner(
            self._task, self._backbone(), settings_of(method, self._training.rounds),
            directions=self._training.directions, seen_offset=variant.offset,
        )

    def _finished(self, name: str) -> Learner | None:
        path = find_checkpoint(self._folder, name)
        if not path.with_suffix('.npz').exists():
            return None
        learner, made = load_learner(path, self._task, self._backbone)
        if any(made[key] != self._made_of(name)[key] for key in ('task', 'training')):
            raise ValueError(f'{path} was made with other settings, expected another --out')
        self._report(f'{path} is there already')
        return learner

    def _made_of(self, name: str) -> dict[str, Any]:
        """Return what decides how a checkpoint comes out."""
        made: dict[str, Any] = self._backbone_made if name == BACKBONE else self._made
        return made

    def _train(self, name: str, learner: Learner, stage: Stage) -> None:
        """Train and save; a stopped run is known by what it was made with."""
        loop = Loop(
            learner, [stage], seed=self._seed,
            identity={k: value for k, value in self._made_of(name).items() if k != 'command'},
            state=self._folder / f'{name}.state', log=self._folder / f'{name}.jsonl',
            coefficients=lambda: coefficients(learner), report=self._report,
        )
        loop.run()
        if processes.rank() == 0:
            best = [line for line in loop.progress.curve if line['best']][-1]
            save_learner(learner, self._folder / name, {
                **self._made_of(name), 'seconds': round(loop.progress.seconds),
                'validation': best['values'],
            })

    def _unrolled(self, method: Trained, learner: Learner) -> Stage:
        training = self._training
        mode = VARIANTS[method].mode
        epochs, rate = training.epochs, training.unrolled_rate
        if method == 'alone':
            epochs, rate = training.alone_epochs, training.rate
        iterations = epochs * training.sequences // training.batch

        def loss(rng: np.random.Generator) -> Tensor:
            batch = self._draw(rng)
            steps = batch.X.shape[1]
            at = torch.from_numpy(rng.choice(steps, min(steps, training.looks), replace=False))
            return objective(self._task, learner.losses(learner(batch, mode, at=at), batch))

        def check() -> Check:
            measured = measure(learner, self._validation, mode)
            losses, scores = measured.losses, measured.scores
            shown = sorted({0, (len(losses) - 1) // 2, len(losses) - 1})
            means = scores.mean(0)
            best = -objective(self._task, losses)
            if self._task.metric == 'accuracy':  # it does not follow how sure wrong answers are
                best = means.mean()
            return Check(best.item(), {self._task.metric: [means[t].item() for t in shown]})

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


def parameter_groups(
    learner: Learner, rate: float, faster: float
) -> list[tuple[Parameters, float]]:
    """Return backbone and projection at the rate given, single numbers at a faster one."""
    slow: Parameters = []
    fast: Parameters = []
    for name, parameter in learner.named_parameters():
        if name.startswith('head.') or (learner.frozen and '.backbone.backbone.' in name):
            continue
        many = '.backbone.' in name or name.endswith('directions')
        (slow if many else fast).append(parameter)
    return [(slow, rate), (fast, faster * rate)]


def coefficients(learner: Learner) -> dict[str, float]:
    """Return the λs and all other single numbers that are learned."""
    settings = learner.network.settings()
    numbers = {name: float(getattr(settings, name)) for name in learner.network.raw}
    return numbers | {name: value.item() for name, value in learner.logits.items()}
