"""Figures of a trained learner on fixed sequences."""

from __future__ import annotations

import torch
from torch import Tensor

from delama_ros.tasks.learner import Learner, Mode
from delama_ros.tasks.task import Batch, graph_error, score

CHUNK = 20  # sequences that are computed at once


@torch.no_grad()
def measure(learner: Learner, batch: Batch, mode: Mode) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss (T,), the metric and the graph's error (B, T) of a batch, part by part."""
    losses, scores, errors = [], [], []
    oracle = batch.oracle(learner.network.settings())
    with learner.backbone.cached(batch.X, batch.asked):
        for start in range(0, len(batch), CHUNK):
            part = batch.rows(slice(start, start + CHUNK))
            answers = learner(part, mode)
            losses.append(len(part) * learner.losses(answers, part))
            scores.append(score(learner.task, answers.predictions, part))
            errors.append(graph_error(answers.output.W, oracle[start : start + CHUNK]))
    return torch.stack(losses).sum(0) / len(batch), torch.cat(scores), torch.cat(errors)
