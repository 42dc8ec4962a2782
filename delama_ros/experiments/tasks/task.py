"""What every experiment provides: sequences of data for a team of agents, and how to score them.

To add a task of your own, write one class with the members of `Task`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from delama_ros.core.losses import Loss
from delama_ros.core.settings import Settings
from delama_ros.data.image_set import Split

SPLITS: dict[Split, int] = {'train': 1, 'validation': 2, 'test': 3}


@dataclass(frozen=True)
class Batch:
    """B sequences of T steps; N agents get S samples each and answer Q questions in every step."""

    X: Tensor  # inputs (B, T, N, S, ...); `Task.inputs` makes what a backbone takes
    Y: Tensor  # targets (B, T, N, S, C)
    weight: Tensor  # (B, T, N, S): 0 for padding
    asked: Tensor  # inputs of questions (B, P, Q, ...): P sheets of them
    sheet: Tensor  # which sheet an agent gets, (B, N), below P
    answers: Tensor  # right answers (B, N, Q, C)
    group: Tensor  # (B, N): agents of the same group learn the same thing
    links: Tensor  # who receives whom, (B, T, N, N), booleans

    def __len__(self) -> int:
        return len(self.group)

    def rows(self, part: slice | Tensor) -> Batch:
        """Return some of the sequences."""
        return Batch(**{f.name: getattr(self, f.name)[part] for f in fields(self)})

    def until(self, step: int) -> Batch:
        """Return the sequences up to a step."""
        over_time = ('X', 'Y', 'weight', 'links')
        return replace(self, **{name: getattr(self, name)[:, :step] for name in over_time})

    def predictions(self, features: Tensor, theta: Tensor) -> Tensor:
        """Return f_θ (B, T, N, Q, C) from questions' features (B, P, Q, K) and θ (..., K, C)."""
        if features.shape[1] == 1:
            own = features.expand(-1, self.sheet.shape[1], -1, -1)  # (B, N, Q, K)
        else:
            own = features[torch.arange(len(features))[:, None], self.sheet]
        return own[:, None].to(theta.dtype) @ theta

    def oracle(self, settings: Settings) -> Tensor:
        """Return the true graph (B, T, N, N): equal weights within groups, as far as links go.

        It spends what the settings let an inferred graph spend: 1 per agent, in its own row or,
        with the global budget, all together (the paper's definition).
        """
        same = self.group[:, :, None] == self.group[:, None, :]
        same = same & ~torch.eye(same.shape[-1], dtype=torch.bool)
        W = (same[:, None] & self.links).double()
        if settings.budget == 'global':
            return W * W.shape[-1] / W.sum((-1, -2), keepdim=True).clamp_min(1)
        rows = W / W.sum(-1, keepdim=True).clamp_min(1)
        return (rows + rows.mT) / 2


class Task(Protocol):
    """An experiment: where data comes from and what a good answer is."""

    @property
    def name(self) -> str:
        """Return what the command line calls it."""
        ...

    @property
    def loss(self) -> Loss:
        """Return the loss that agents minimise."""
        ...

    @property
    def outputs(self) -> int:
        """Return C, how many numbers answer a question."""
        ...

    @property
    def metric(self) -> Literal['mse', 'accuracy']:
        """Return what figures are given in."""
        ...

    def draw(self, rng: np.random.Generator, batch: int, split: Split) -> Batch:
        """Draw sequences; splits share no data where data is finite."""
        ...

    def inputs(self, X: Tensor) -> Tensor:
        """Return what a backbone takes for inputs X (...,) of a batch: (..., one input)."""
        ...


def fixed(task: Task, size: int, split: Split, seed: int) -> Batch:
    """Return the validation or test sequences that belong to a seed."""
    return task.draw(np.random.default_rng([seed, 0xF1, SPLITS[split]]), size, split)


def score(task: Task, predictions: Tensor, batch: Batch) -> Tensor:
    """Return the metric (B, T): MSE, or accuracy in per cent, mean over agents and questions."""
    answers = batch.answers[:, None]
    if task.metric == 'mse':
        return (predictions - answers).square().mean((-1, -2, -3))
    hits = predictions.argmax(-1) == answers.argmax(-1)
    return 100 * hits.double().mean((-1, -2))


def graph_error(W: Tensor, oracle: Tensor) -> Tensor:
    """GMSE of the paper (B, T): ‖W − W_oracle‖ / ‖W_oracle‖; nan where no true link exists."""
    size = oracle.flatten(-2).norm(dim=-1)
    error: Tensor = (W - oracle).flatten(-2).norm(dim=-1) / torch.where(size > 0, size, torch.nan)
    return error
