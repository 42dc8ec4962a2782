"""The tasks that methods are compared on, and the networks of DeLAMA that were trained on them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from delama_ros.compare.experiment import Inputs
from delama_ros.resources import resource
from delama_ros.tasks.backbones import convolutions, resnet18
from delama_ros.tasks.catalogue import KINDS, make_backbone, make_task
from delama_ros.tasks.evaluate import Run, packaged
from delama_ros.tasks.learner import Learner
from delama_ros.tasks.schedule import Training
from delama_ros.tasks.task import Task, fixed
from delama_ros.training.config import configure_all, read_file

# Share of the largest variance of features that is added to all before decorrelating; the best of
# 1e-5 to 0.1 on validation sequences of regression.
WHITE = 0.1

# What is learned from scratch, unless as large a network as DeLAMA's backbone is asked for: half as
# wide, and of colour images every other pixel's surroundings.
SMALL: dict[str, Callable[[], nn.Module]] = {
    'mnist': lambda: convolutions(width=8),
    'cifar10': lambda: resnet18(width=8, stride=2),
}


@lru_cache(maxsize=8)
def task_of(name: str, graph: str = 'full') -> Task:
    """Return the task of `delama train`; ValueError says where its data was looked for."""
    values = {**read_file(resource(f'config/train_{name}.yaml')), 'graph': graph}
    return make_task(name, configure_all((KINDS[name], Training), values)[0])


def fresh_backbone(name: str, seed: int, *, full: bool) -> nn.Module:
    """Return a backbone with random parameters; full: of the size that `delama train` has."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name in SMALL and not full:
            return SMALL[name]()
        return make_backbone(name, read_file(resource(f'config/train_{name}.yaml')))()


def model_folder(name: str, given: str | None) -> tuple[Path, str]:
    """Return the folder of a task's trained networks and a digest of what is in it."""
    folder = Path(given) if given else packaged(name)
    files = sorted(folder.glob('seed*/*.npz'))
    if not files:
        raise ValueError(
            f'{folder} has no trained networks, expected a folder of `delama train {name}` '
            '(--model FOLDER), or --setups plain and no method that is a variant of DeLAMA'
        )
    digest = hashlib.sha256(b''.join(file.read_bytes() for file in files))
    return folder, digest.hexdigest()[:16]


@lru_cache(maxsize=8)
def learner_of(name: str, method: str, folder: Path, seed: int) -> Learner:
    """Return a trained network; a seed beyond those that were trained begins with the first."""
    run = Run(name, folder)
    task: Any = task_of(name)
    ours = asdict(task if name == 'regression' else task.protocol)
    if run.made['data'] is not None or run.protocol != ours:
        raise ValueError(
            f'{folder} was trained on {run.made["data"] or "the usual data"} with {run.protocol}, '
            f'expected the task of config/train_{name}.yaml: {ours}'
        )
    return run.learner(method, run.seeds[seed % len(run.seeds)])


def features_of(task: Task, learner: Learner) -> Inputs:
    """Return DeLAMA's features, decorrelated on validation inputs: gradients need that to converge.

    DeLAMA's agents solve for their heads, to which the correlation does not matter.
    """
    asked = fixed(task, 20, 'validation', 0).asked.flatten(0, 2)
    with torch.no_grad():
        sample = learner.backbone(asked).double()
    variance, directions = torch.linalg.eigh(sample.mT @ sample / len(sample))
    scale = (variance.clamp(min=0) + WHITE * variance[-1]).rsqrt()
    white = ((directions * scale) @ directions.mT).float()

    def inputs(X: Tensor) -> Tensor:
        features: Tensor = learner.backbone(X) @ white
        return features

    return inputs
