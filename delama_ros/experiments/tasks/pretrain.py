"""The backbone of an image task as a plain classifier of all classes, before any collaboration."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from delama_ros.experiments.tasks.backbones import CHUNK, FEATURES
from delama_ros.experiments.tasks.images import Images, mirrored, shifted
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.schedule import Training
from delama_ros.experiments.tasks.task import Task
from delama_ros.training import processes
from delama_ros.training.loop import Check, Stage

CHECKS = 20  # all of them made: it gets better to the very end, as the rate falls
WARM_UP = 0.1  # of the iterations: networks without batch norm do not bear high rates at first


def pretrain_stage(learner: Learner, task: Task, training: Training) -> Stage:
    """Return the stage that trains the backbone on training images; the head is left behind."""
    if not isinstance(task, Images):
        raise ValueError('pretrain_iterations is above 0, expected 0 for a task without images')
    backbone = learner.backbone
    head = nn.Linear(FEATURES, task.data.classes)
    learner.add_module('head', head)
    labels = torch.from_numpy(task.data.labels)
    size = training.pretrain_batch

    def loss(rng: np.random.Generator) -> Tensor:
        picked = torch.from_numpy(rng.choice(task.data.splits['train'], size))
        shown = task.inputs(picked)
        if training.pretrain_mirror:
            shown = mirrored(shown, rng)
        if training.pretrain_shift:
            shown = shifted(shown, rng, training.pretrain_shift)
        part = processes.share(size)
        with torch.autocast('cpu', torch.bfloat16, enabled=training.pretrain_bfloat16):
            features = backbone.backbone(shown[part])
        return processes.shared_mean(cross_entropy(
            head(features.float()), labels[picked[part]],
            label_smoothing=training.pretrain_smoothing,
        ))

    def check() -> Check:
        picked = torch.from_numpy(task.data.splits['validation'])
        logits = torch.cat([head(backbone(part)) for part in torch.split(picked, CHUNK)])
        hits = (logits.argmax(-1) == labels[picked]).double().mean().item()
        return Check(hits, {'classifier': 100 * hits})

    iterations = training.pretrain_iterations
    groups = [([*backbone.backbone.parameters(), *head.parameters()], training.pretrain_rate)]
    every = max(1, iterations // CHECKS)
    return Stage(
        'backbone', iterations, groups, loss, check, every, patience=2 * CHECKS,
        warm_up=WARM_UP, decay=training.pretrain_decay,
    )
