"""Trained learners as checkpoints.

A backbone that is frozen is the same in all methods of a run: it has a checkpoint of its own, in 16
bits, and the others leave it out.
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
from delama_ros.tasks.learner import Learner
from delama_ros.tasks.task import Task

FROZEN = 'network.backbone.backbone.'  # how the names of its arrays begin
BACKBONE = 'backbone'  # the name of its checkpoint


def save_learner(learner: Learner, path: Path, made: Mapping[str, Any]) -> None:
    """Write path.json and path.npz; made says how, in JSON values."""
    arrays = {
        name: value.numpy() for name, value in learner.state_dict().items()
        if not name.startswith('head.') and not (learner.frozen and name.startswith(FROZEN))
    }
    if path.name == BACKBONE:
        arrays |= {n: a.astype('float16') for n, a in arrays.items() if n.startswith(FROZEN)}
    Checkpoint(learner.task.name, learner.network.settings(), arrays, plain(made)).save(path)


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
    directions = state.get('network.evidence.directions', torch.zeros(1, 1)).shape[1]
    learner = Learner(
        task, backbone(), settings, directions=directions, seen_offset='logits.offset' in state
    )
    try:
        learner.load_state_dict(state)
    except RuntimeError as error:
        text = ' '.join(str(error).split())
        raise CheckpointError(f'{path}: does not fit the task: {text}') from None
    return learner, dict(stored.options)


def plain(values: Any) -> Any:
    """Return values as JSON gives them back."""
    return json.loads(json.dumps(values))
