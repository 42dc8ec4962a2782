"""Figures of a trained learner on fixed sequences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from delama_ros.experiments.tasks.learner import Learner, Mode
from delama_ros.experiments.tasks.task import Batch, graph_error, score

CHUNK = 20  # sequences that are computed at once


@dataclass(frozen=True)
class Measured:
    """The loss of each step (T,); the metric and two errors of the graph for sequences, (B, T)."""

    losses: Tensor
    scores: Tensor
    gmse: Tensor  # against the true graph on links that exist
    gmse_all_links: Tensor  # against that of all links, as in the paper's table 3


@torch.no_grad()
def measure(
    learner: Learner, batch: Batch, mode: Mode, graph: Tensor | None = None
) -> Measured:
    """Measure a learner on a batch, part by part; graph (B, T, N, N) replaces its own."""
    parts: list[tuple[Tensor, ...]] = []
    settings = learner.network.settings()
    with learner.backbone.cached(batch.X, batch.asked):
        for start in range(0, len(batch), CHUNK):
            rows = slice(start, start + CHUNK)
            part = batch.rows(rows)
            answers = learner(part, mode, graph=None if graph is None else graph[rows])
            every_link = replace(part, links=torch.ones_like(part.links))
            parts.append((
                len(part) * learner.losses(answers, part),
                score(learner.task, answers.predictions, part),
                graph_error(answers.output.W, part.oracle(settings)),
                graph_error(answers.output.W, every_link.oracle(settings)),
            ))
    losses, *others = zip(*parts, strict=True)
    return Measured(torch.stack(losses).sum(0) / len(batch), *(torch.cat(o) for o in others))
