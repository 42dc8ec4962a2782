"""One gradient method on sequences of a task, with the data that DeLAMA gets.

Two ways to set a method up. 'plain' is how such methods are usually run: a whole network of the
task's kind with random first parameters, trained in each step on the data of that step from where
the last one ended. 'strong' gives the method what DeLAMA's agents have: the meta-trained features,
on which it learns a linear head, and memory, as all its own data so far in every gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from delama_ros.compare import problem as problems
from delama_ros.compare.method import Effort
from delama_ros.compare.problem import Draw, Networks, Problem
from delama_ros.compare.registry import ENTRIES
from delama_ros.tasks.backbones import FEATURES
from delama_ros.tasks.task import Batch, Task, score

CLIP = 5.0  # as in the training of DeLAMA
LOSSES = {
    'squared': problems.squared_error,
    'softmax': problems.cross_entropy,
    'logistic': problems.binary_cross_entropy,
}

# Makes what networks take, (n, ...), from inputs (n, ...) as batches hold them.
Inputs = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Setting:
    """What the grid decides."""

    rate: float
    strength: float


@dataclass(frozen=True)
class Result:
    """How a method did on every sequence."""

    scores: list[list[float]]  # (B, T), MSE or accuracy in per cent
    bytes: int  # per agent and step: sent, and with a server also received
    rounds: int  # of communication per step
    graph_errors: list[list[float]] | None = None  # (B, T), of methods that learn a graph


def plain_problem(task: Task, backbone: nn.Module) -> Problem:
    """Return a whole network to be learned: backbone and head."""
    whole = nn.Sequential(backbone, nn.Linear(FEATURES, task.outputs))
    return Problem(Networks(whole, head='1'), LOSSES[task.loss], CLIP)


def strong_problem(task: Task) -> Problem:
    """Return a head to be learned on features, from zero."""
    head = nn.Linear(FEATURES, task.outputs, bias=False)
    nn.init.zeros_(head.weight)
    return Problem(Networks(nn.Sequential(head), head='0'), LOSSES[task.loss], CLIP)


@dataclass(frozen=True)
class Given:
    """What networks take of a batch: all samples (B, T, N, S, ...), questions (B, N, Q, ...)."""

    X: Tensor
    questions: Tensor


@torch.no_grad()
def given(batch: Batch, inputs: Inputs) -> Given:
    """Compute it, once for all settings that are tried: features of images take their time."""
    asked = _over(inputs, batch.asked, 3)
    return Given(_over(inputs, batch.X, 4), asked[torch.arange(len(asked))[:, None], batch.sheet])


def play(
    task: Task,
    batch: Batch,
    data: Given,
    problem: Problem,
    name: str,
    setting: Setting,
    effort: Effort,
    *,
    replay: bool,
) -> Result:
    """Run a method through all steps of all sequences and score it after each.

    With replay it learns from all its data so far in every gradient, else from those of the step.
    """
    B, T, N = batch.X.shape[:3]
    effort = Effort(effort.rounds, effort.local, setting.rate)
    method = ENTRIES[name].make(problem, effort, (B, N), setting.strength)
    scores = []
    for t in range(T):
        draw = _samples(batch, data.X, 0 if replay else t, t)
        theta = method.step(draw, batch.links[:, t])
        with torch.no_grad():
            answers = problem.networks(theta, data.questions)[:, None]  # (B, 1, N, Q, C)
        # Answers that are no numbers would count as the first class.
        diverged = ~answers.isfinite().flatten(1).all(1)
        scores.append(score(task, answers.double(), batch)[:, 0].masked_fill(diverged, torch.nan))
    return Result(torch.stack(scores, 1).tolist(), method.bytes_per_step, method.rounds)


def _over(inputs: Inputs, X: Tensor, axes: int) -> Tensor:
    """Return inputs for X, whose first axes count samples."""
    values = inputs(X.flatten(0, axes - 1))
    return values.reshape(*X.shape[:axes], *values.shape[1:])


def _samples(batch: Batch, X: Tensor, first: int, now: int) -> Draw:
    """Return what gives the samples of steps from `first` to `now`, (B, N, steps · S, ...)."""
    steps = slice(first, now + 1)
    parts = (X[:, steps], batch.Y[:, steps], batch.weight[:, steps])
    whole = problems.Batch(*(part.transpose(1, 2).flatten(2, 3) for part in parts))
    return lambda: whole


def goodness(task: Task, result: Result) -> float:
    """Return what tuning maximises: mean accuracy, or minus the mean logarithm of the error."""
    scores = torch.tensor(result.scores, dtype=torch.float64)
    value = scores.mean() if task.metric == 'accuracy' else -scores.mean(0).log().mean()
    return value.item() if math.isfinite(value) else -math.inf
