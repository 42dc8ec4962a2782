"""One gradient method on sequences of a task, with the data that DeLAMA gets.

Two ways to set a method up. 'plain' is how such methods are usually run: a whole network of the
task's architecture with random first parameters, trained in each step on the data of that step.
'strong' gives the method what DeLAMA's agents have: the meta-trained features, on which it learns a
linear head, and memory, as all its own data so far to draw from.
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
    bytes: int  # sent and received per agent and step
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
    seed: int,
) -> Result:
    """Run a method through all steps of all sequences and score it after each."""
    B, T, N = batch.X.shape[:3]
    effort = Effort(effort.rounds, effort.local, setting.rate)
    method = ENTRIES[name].make(problem, effort, (B, N), setting.strength)
    generator = torch.Generator().manual_seed(seed)
    scores = []
    for t in range(T):
        first = 0 if replay else t
        draw = _samples(data.X[:, first : t + 1], batch.Y, batch.weight, first, generator)
        theta = method.step(draw, batch.links[:, t])
        with torch.no_grad():
            answers = problem.networks(theta, data.questions)[:, None]  # (B, 1, N, Q, C)
        scores.append(score(task, answers.double(), batch)[:, 0])
    return Result(torch.stack(scores, 1).tolist(), method.bytes_per_step, method.rounds)


def _over(inputs: Inputs, X: Tensor, axes: int) -> Tensor:
    """Return inputs for X, whose first axes count samples."""
    values = inputs(X.flatten(0, axes - 1))
    return values.reshape(*X.shape[:axes], *values.shape[1:])


def _samples(
    X: Tensor, Y: Tensor, weight: Tensor, first: int, generator: torch.Generator
) -> Draw:
    """Return where a step's samples come from, given X (B, t, N, S, ...) of steps from `first` on.

    From several steps as many samples are drawn as the last one has: a gradient costs the same.
    """
    B, steps, N, S = X.shape[:4]
    now = first + steps - 1
    if steps == 1:
        whole = problems.Batch(X[:, 0], Y[:, now], weight[:, now])
        return lambda: whole
    x, y, chance = (
        part.transpose(1, 2).flatten(2, 3)
        for part in (X, Y[:, first : now + 1], weight[:, first : now + 1])
    )  # (B, N, steps · S, ...)
    rows, agents = torch.arange(B)[:, None, None], torch.arange(N)[:, None]

    def draw() -> problems.Batch:
        picked = torch.multinomial(
            chance.flatten(0, 1), S, replacement=True, generator=generator
        ).reshape(B, N, S)
        return problems.Batch(
            x[rows, agents, picked], y[rows, agents, picked], weight[:, now]
        )

    return draw


def goodness(task: Task, result: Result) -> float:
    """Return what tuning maximises: mean accuracy, or minus the mean logarithm of the error."""
    scores = torch.tensor(result.scores, dtype=torch.float64)
    value = scores.mean() if task.metric == 'accuracy' else -scores.mean(0).log().mean()
    return value.item() if math.isfinite(value) else -math.inf
