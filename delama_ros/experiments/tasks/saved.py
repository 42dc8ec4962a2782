"""Trained learners as checkpoints.

A backbone that is frozen is the same in all methods of a run: it has a checkpoint of its own, in 16
bits, and the others leave it out. Runs of older versions are found under the names they had.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from delama_ros.core.checkpoint import Checkpoint, CheckpointError, load
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.task import Task
from delama_ros.experiments.tasks.variants import OLD_NAMES

FROZEN = 'network.backbone.backbone.'  # how the names of its arrays begin
BACKBONE = 'backbone'  # the name of its checkpoint
# How names of the directions that `Groupings` looks at end, now and in earlier versions.
DIRECTIONS = ('network.groupings.directions', 'network.evidence.directions')


OLD_SETTINGS = {'wc_epochs': 'alone_epochs'}


def find_checkpoint(folder: Path, name: str) -> Path:
    """Return the path of a checkpoint without its suffix, under its present or its old name."""
    path = folder / name
    old = folder / OLD_NAMES.get(name, name)
    renamed = old.with_suffix('.npz').exists() and not path.with_suffix('.npz').exists()
    return old if renamed else path


def save_learner(learner: Learner, path: Path, made: Mapping[str, Any]) -> None:
    """Write path.npz; made records how, in JSON values."""
    arrays = {
        name: value.numpy() for name, value in learner.state_dict().items()
        if not name.startswith('head.') and not (learner.frozen and name.startswith(FROZEN))
    }
    if path.name == BACKBONE:
        arrays |= {n: a.astype('float16') for n, a in arrays.items() if n.startswith(FROZEN)}
    settings = learner.network.settings()
    Checkpoint(learner.task.name, settings, arrays, made=plain(made)).save(path)


def load_learner(
    path: Path, task: Task, backbone: Callable[[], nn.Module], rounds: int | None = None
) -> tuple[Learner, dict[str, Any]]:
    """Read a learner, and how it was made; rounds replaces M2."""
    stored = load(path, task=task.name)
    settings = stored.settings
    if rounds is not None:
        settings = replace(settings, update_rounds=rounds)
    arrays = stored.arrays
    if not any(name.startswith(FROZEN) for name in arrays):
        shared = load(path.with_name(BACKBONE), task=task.name).arrays
        arrays |= {name: value for name, value in shared.items() if name.startswith(FROZEN)}
    state = {name: torch.from_numpy(value) for name, value in arrays.items()}
    found = [v for n, v in state.items() if n.endswith(DIRECTIONS)]
    directions = found[0].shape[1] if found else 1
    learner = Learner(
        task, backbone(), settings, directions=directions, seen_offset='logits.offset' in state
    )
    try:
        learner.load_state_dict(state)
    except RuntimeError as error:
        text = ' '.join(str(error).split())
        raise CheckpointError(f'{path}: does not fit the task: {text}') from None
    return learner, made_of(stored, path)


def made_of(stored: Checkpoint, path: Path) -> dict[str, Any]:
    """Return how a learner was made, settings under their present names."""
    made = {**stored.options, **stored.made}  # earlier versions had it among the options
    training = made.get('training')
    if not isinstance(training, dict):
        raise CheckpointError(f'{path}: not a learner of `delama train`: training is {training!r}')
    made['training'] = {OLD_SETTINGS.get(name, name): value for name, value in training.items()}
    return made


def plain(values: Any) -> Any:
    """Return values as JSON gives them back."""
    return json.loads(json.dumps(values))
