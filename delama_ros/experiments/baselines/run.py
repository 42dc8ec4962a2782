"""Comparison methods on sequences of a task, with the data that the trained learners get.

There are two ways to set up a gradient method. 'plain' is how such methods are usually run: a whole
network of the task's kind with random first parameters, trained in each step on the data of that
step from where the last one ended. 'strong' gives the method what our agents have: the meta-trained
features, on which it learns a linear head, and memory, as all its own data so far in every
gradient. Graph learners replace the graph step of `bayes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from delama_ros.experiments.baselines import problem as problems
from delama_ros.experiments.baselines.graph_learners import Learner as GraphLearner
from delama_ros.experiments.baselines.graph_learners import spend
from delama_ros.experiments.baselines.method import Effort
from delama_ros.experiments.baselines.problem import Draw, Networks, Problem
from delama_ros.experiments.baselines.registry import entries
from delama_ros.experiments.tasks.backbones import FEATURES
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.measure import Measured
from delama_ros.experiments.tasks.task import Batch, Task, fixed, score
from delama_ros.experiments.tasks.variants import run_variant

CLIP = 5.0  # as in meta-training
# Share of the largest variance of features that is added to all before decorrelating; the best of
# 1e-5 to 0.1 on validation sequences of regression.
WHITE = 0.1
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
    """The figures of a gradient method."""

    scores: Tensor  # (B, T), MSE or accuracy in per cent
    bytes: int  # per agent and step: sent, and with a server also received
    rounds: int  # of communication per step


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


def run_method(
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
    kind, effort = entries()[name], replace(effort, rate=setting.rate)
    if kind.every_gradient:
        effort = replace(effort, rounds=effort.rounds * effort.local, local=1)
    method = kind(problem, effort, (B, N), strength=setting.strength)
    scores = []
    for t in range(T):
        draw = _samples(batch, data.X, 0 if replay else t, t)
        theta = method.step(draw, batch.links[:, t])
        with torch.no_grad():
            answers = problem.networks(theta, data.questions)[:, None]  # (B, 1, N, Q, C)
        # Answers that are no numbers would count as the first class.
        diverged = ~answers.isfinite().flatten(1).all(1)
        scores.append(score(task, answers.double(), batch)[:, 0].masked_fill(diverged, torch.nan))
    return Result(torch.stack(scores, 1), method.bytes_per_step, method.rounds)


def run_graph(batch: Batch, learn: GraphLearner, learner: Learner) -> tuple[Measured, int]:
    """Test a learner with its graph step replaced by a central learner of graphs."""
    with torch.no_grad():
        local = learner(batch, 'alone').output.local  # (B, T, N, 1, K, C)
    W = spend(learn(local.flatten(0, 1).flatten(2).numpy()))
    graph = torch.from_numpy(W).reshape(batch.links.shape) * batch.links
    # Local models go to the centre, and each agent's row of the graph comes back.
    agents, rounds = batch.group.shape[1], learner.network.settings().update_rounds
    sent = FEATURES * batch.Y.shape[-1] * rounds + agents
    return run_variant(batch, learner, 'collaborate', graph, sent)


def features_of(task: Task, learner: Learner) -> Inputs:
    """Return a learner's features, decorrelated on validation inputs so that gradients converge.

    Trained learners solve for their heads, to which the correlation does not matter.
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


def goodness(task: Task, scores: Tensor) -> float:
    """Return what tuning maximises: mean accuracy, or minus the mean logarithm of the error."""
    value = scores.mean() if task.metric == 'accuracy' else -scores.mean(0).log().mean()
    return value.item() if math.isfinite(value) else -math.inf
