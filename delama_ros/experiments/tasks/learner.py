"""A learner on a task: the unrolled network, its answers, and the loss it is trained with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import torch
from torch import Tensor, nn

from delama_ros.core.bayes import Groupings
from delama_ros.core.network import DeLAMA, Output
from delama_ros.core.settings import Settings
from delama_ros.experiments.tasks.backbones import FEATURES, OnTask
from delama_ros.experiments.tasks.task import Batch, Task
from delama_ros.training.processes import shared_mean

# last_step: without memory of earlier steps. oracle: with the true graph.
Mode: TypeAlias = Literal['collaborate', 'alone', 'last_step', 'oracle']

LOG_SHARE = 0.5  # of log L_t in the loss: the first steps would decide alone without it
REACH = 5.0  # a peer's classes count as seen at a belief well above 1 / reach, which is learned


@dataclass(frozen=True)
class Answers:
    """What agents answer after each step, and what they learned it with."""

    output: Output
    predictions: Tensor  # (B, T, N, Q, C)


class Learner(nn.Module):
    """Backbone and coefficients for one task; for classes also a scale and offset of logits.

    directions: how many the distance `bayes` looks at. seen_offset: learn what is added to
    logits of classes that an agent or its peers have seen, as images of other classes are
    otherwise taken for them.
    """

    def __init__(
        self, task: Task, backbone: nn.Module, settings: Settings, *, directions: int = 8,
        seen_offset: bool = True,
    ) -> None:
        super().__init__()
        self.task = task
        classes = task.loss == 'softmax'
        distance = None
        if settings.distance == 'bayes':
            distance = Groupings(
                torch.eye(FEATURES)[:, :directions], noisy=not classes, constraints=int(classes)
            )
        self.network = DeLAMA(OnTask(task, backbone), task.loss, settings, distance=distance)
        self.frozen = False  # whether the backbone is not learned any more
        self.logits = nn.ParameterDict()
        if classes:
            self.logits['log_scale'] = nn.Parameter(torch.zeros((), dtype=torch.float64))
            if seen_offset:
                self.logits['offset'] = nn.Parameter(torch.zeros((), dtype=torch.float64))
                reach = torch.tensor(REACH, dtype=torch.float64).log()
                self.logits['log_reach'] = nn.Parameter(reach)

    @property
    def backbone(self) -> OnTask:
        """Return φ_β on inputs as batches hold them."""
        return cast(OnTask, self.network.backbone)

    def share_backbone(self, other: Learner) -> None:
        """Use the backbone of another learner, as it is and with all it has computed."""
        self.backbone.share(other.backbone)
        self.frozen = True

    def forward(
        self, batch: Batch, mode: Mode = 'collaborate', graph: Tensor | None = None,
        at: Tensor | None = None,
    ) -> Answers:
        """Learn from a batch and answer its questions; with a graph (B, T, N, N), over that one.

        at: the steps after which to answer, instead of all.
        """
        oracle = graph
        if mode == 'oracle' and graph is None:
            oracle = batch.oracle(self.network.settings())
        output = self.network(
            batch.X, batch.Y, batch.links, weight=batch.weight, collaborate=mode != 'alone',
            memory=mode != 'last_step', oracle=oracle, at=at,
        )
        features = self.backbone(batch.asked.flatten(0, 2))
        features = features.unflatten(0, batch.asked.shape[:3])
        predictions = batch.predictions(features, output.theta[..., 0, :, :])
        if 'log_scale' in self.logits:
            if 'offset' in self.logits:
                trust = 1 - torch.exp(-self.logits['log_reach'].exp() * output.belief)
                seen = seen_classes(batch.Y, trust, memory=mode != 'last_step', at=at)
                predictions = predictions + self.logits['offset'] * seen[..., None, :]
            predictions = self.logits['log_scale'].exp() * predictions
        return Answers(output, predictions)

    def losses(self, answers: Answers, batch: Batch) -> Tensor:
        """Return the loss of each step (T,), over the batches of all processes."""
        truth = batch.answers[:, None].to(answers.predictions.dtype)
        if self.task.metric == 'mse':
            each = (answers.predictions - truth).square()
        else:
            each = -(answers.predictions.log_softmax(-1) * truth).sum(-1, keepdim=True)
        return shared_mean(each.mean((0, 2, 3, 4)))

    @torch.no_grad()
    def look_at(self, batch: Batch) -> None:
        """Start the distance `bayes` from the directions that features of a batch vary in."""
        groupings = self.network.groupings
        if groupings is not None:
            features = self.backbone(batch.asked.flatten(0, 2)).double()
            vectors = torch.linalg.eigh(features.mT @ features)[1]
            groupings.directions.copy_(vectors.flip(-1)[:, : groupings.directions.shape[1]])


def objective(task: Task, losses: Tensor) -> Tensor:
    """Return what is minimised from the losses of steps (T,).

    It is their mean and, as squared errors fall a hundredfold over time, a share of the mean
    logarithm; cross-entropies of late steps count without it.
    """
    if task.metric == 'accuracy':
        return losses.mean()
    return losses.mean() + LOG_SHARE * losses.log().mean()


def seen_classes(Y: Tensor, trust: Tensor, *, memory: bool, at: Tensor | None = None) -> Tensor:
    """Return in [0, 1] whether each agent's team has seen each class up to each step, (B, T, N, C).

    An agent sends its peers one bit per class; a bit counts as far as its sender is trusted,
    trust (B, T, N, N).
    """
    own = Y.amax(-2).to(trust.dtype)  # (B, T, N, C)
    if memory:
        own = own.cummax(1).values
    if at is not None:
        own = own[:, at]
    eye = torch.eye(trust.shape[-1], dtype=trust.dtype)
    trust = trust + (1 - trust) * eye  # (B, T, N, N)
    return 1 - (1 - trust[..., None] * own[..., None, :, :]).prod(-2)
