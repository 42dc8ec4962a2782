"""Figures of a run on test sequences: every method, every step, mean and error over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from delama_ros.core.checkpoint import load
from delama_ros.tasks.catalogue import KINDS, make_backbone, make_task
from delama_ros.tasks.learner import Learner, Mode
from delama_ros.tasks.measure import measure
from delama_ros.tasks.methods import METHODS
from delama_ros.tasks.saved import load_learner
from delama_ros.tasks.task import Task, fixed
from delama_ros.training.config import configure

# What is shown, which checkpoint it needs and how it runs; `wm` is `delama` without memory.
SHOWN: dict[str, tuple[str, Mode]] = {
    **{name: (name, variant.mode) for name, variant in METHODS.items()}, 'wm': ('delama', 'wm')
}


def packaged(task: str) -> Path:
    """Return the run that comes with the package."""
    return Path(__file__).parent.parent / 'checkpoints' / task


def seeds_of(run: Path) -> list[int]:
    """Return the seeds that a run holds; ValueError if it holds none."""
    found = sorted(
        int(folder.name[4:]) for folder in run.glob('seed*') if folder.name[4:].isdigit()
    )
    if not found:
        raise ValueError(f'{run}: holds no seed0, seed1, …, expected a folder of `delama train`')
    return found


class Run:
    """A trained run and the task to test it on."""

    def __init__(
        self, name: str, folder: Path | None = None, *, changes: dict[str, Any] | None = None,
        data: str | None = None,
    ) -> None:
        """Take the task of the run, with changes; data: where images are."""
        self.folder = packaged(name) if folder is None else folder
        self.seeds = seeds_of(self.folder)
        stored = load(self.folder / f'seed{self.seeds[0]}' / 'wc', task=name).options
        protocol: Any = configure(KINDS[name], {**stored['task'], **(changes or {})})
        self.protocol = asdict(protocol)
        self.made: dict[str, Any] = dict(stored)
        self.task: Task = make_task(name, protocol, stored['data'] if data is None else data)
        self._backbone = make_backbone(name, stored['training'])

    def methods(self) -> list[str]:
        """Return what can be shown of this run: what all its seeds have."""
        folders = [self.folder / f'seed{seed}' for seed in self.seeds]
        return [
            method for method, (file, _) in SHOWN.items()
            if all((folder / f'{file}.json').exists() for folder in folders)
        ]

    def learner(self, method: str, seed: int, rounds: int | None = None) -> Learner:
        """Read the learner of a method and seed; rounds replaces M2."""
        path = self.folder / f'seed{seed}' / SHOWN[method][0]
        return load_learner(path, self.task, self._backbone, rounds)[0]


def evaluate(
    run: Run, methods: Sequence[str], *, sequences: int = 200, rounds: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Return figures: methods → name → metric, its error, gmse and its error, lists over t."""
    metric = run.task.metric
    figures: dict[str, Any] = {
        'task': run.task.name, 'protocol': run.protocol, 'metric': metric, 'seeds': run.seeds,
        'sequences': sequences, 'rounds': {}, 'command': run.made['command'], 'methods': {},
    }
    batches = {seed: fixed(run.task, sequences, 'test', seed) for seed in run.seeds}
    for method in methods:
        scores, errors = [], []
        for seed in run.seeds:
            say(f'{method}, seed {seed}')
            learner = run.learner(method, seed, rounds)
            _, score, error = measure(learner, batches[seed], SHOWN[method][1])
            scores.append(score)
            errors.append(error)
            figures['rounds'][method] = learner.network.settings().update_rounds
        values = _mean_and_error(scores, metric)
        if SHOWN[method][1] not in ('wc', 'oracle'):
            values |= _mean_and_error(errors, 'gmse')
        figures['methods'][method] = values
    return figures


def _mean_and_error(per_seed: Sequence[Tensor], name: str) -> dict[str, list[float]]:
    """Return the mean over sequences and seeds, and its standard error: over seeds, if several."""
    means = torch.stack([values.nanmean(0) for values in per_seed])  # (seeds, T)
    if len(per_seed) > 1:
        error = means.std(0) / len(per_seed) ** 0.5
    else:
        values = per_seed[0]
        count = (~values.isnan()).sum(0)
        spread = ((values - values.nanmean(0)) ** 2).nanmean(0).sqrt()
        error = spread / (count - 1).clamp_min(1).sqrt()
    return {name: means.mean(0).tolist(), f'{name}_se': error.tolist()}
