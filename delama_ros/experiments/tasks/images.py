"""Image classification (section 6.2): class-incremental, two groups with 5 of 10 classes each.

In every step an agent gets images of one class of its group's five, drawn at random; it is asked
about all five. Inputs in a batch are numbers of images, so that a picture is looked at once however
often it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from delama_ros.core.losses import Loss
from delama_ros.data.image_set import ImageSet, Split
from delama_ros.experiments.tasks import graphs
from delama_ros.experiments.tasks.task import Batch
from delama_ros.training.config import require


@dataclass(frozen=True)
class Protocol:
    """Sizes of the task."""

    agents: int = 6
    groups: int = 2
    classes: int = 5  # per group
    steps: int = 10
    samples: int = 10  # images per agent and step
    questions: int = 50  # per group
    disjoint: bool = False  # whether groups share no class; else each draws its own
    graph: str = 'full'

    def __post_init__(self) -> None:
        for name in ('steps', 'samples'):
            require(name, getattr(self, name), getattr(self, name) >= 1, 'at least 1')
        require('classes', self.classes, self.classes >= 2, 'at least 2')
        require(
            'groups', self.groups, 1 <= self.groups <= self.agents // 2,
            f'1 to {self.agents // 2}: two of {self.agents} agents at least in each',
        )
        require(
            'questions', self.questions,
            self.questions > 0 and self.questions % self.classes == 0,
            f'a multiple of the {self.classes} classes',
        )
        graphs.check(self.graph, self.agents)


class Images:
    """The task on a set of images."""

    loss: Loss = 'softmax'
    metric: Literal['mse', 'accuracy'] = 'accuracy'

    def __init__(self, name: str, data: ImageSet, protocol: Protocol | None = None) -> None:
        self.name = name
        self.data = data
        self.protocol = protocol or Protocol()
        self.outputs = self.protocol.classes
        require(
            'classes', self.outputs, self.outputs <= data.classes,
            f'at most the {data.classes} there are images of',
        )
        if self.protocol.disjoint:
            most = data.classes // self.protocol.groups
            require('classes', self.outputs, self.outputs <= most, f'at most {most} if disjoint')

    def draw(self, rng: np.random.Generator, batch: int, split: Split) -> Batch:
        """Draw sequences of images of one split; no image is both learned from and asked about."""
        sizes = self.protocol
        B, T, N, G, C = batch, sizes.steps, sizes.agents, sizes.groups, sizes.classes
        group = rng.permuted(np.tile(np.arange(N) * G // N, (B, 1)), axis=1)
        # Each group has classes of its own, in an order of its own: (B, G, C).
        every = np.tile(np.arange(self.data.classes), (B, G, 1))
        classes = rng.permuted(every, axis=2)[..., :C]
        if sizes.disjoint:
            classes = rng.permuted(every[:, 0], axis=1)[:, : G * C].reshape(B, G, C)
        label = rng.integers(0, C, (B, T, N))
        shown = classes[np.arange(B)[:, None, None], group[:, None], label]  # (B, T, N)
        half = rng.integers(0, 2, B)
        X = self.data.pick(rng, np.repeat(shown[..., None], sizes.samples, -1), split, half)
        wanted = np.tile(np.arange(C), sizes.questions // C)
        asked = self.data.pick(rng, classes[..., wanted], split, 1 - half)
        links = graphs.draw(sizes.graph, rng, B, N)
        Y = one_hot(torch.from_numpy(label), C).float()[..., None, :]
        answers = one_hot(torch.from_numpy(wanted), C).float()
        return Batch(
            X=torch.from_numpy(X),
            Y=Y.expand(-1, -1, -1, sizes.samples, -1).contiguous(),
            weight=torch.ones(X.shape),
            asked=torch.from_numpy(asked),
            sheet=torch.from_numpy(group),
            answers=answers.expand(B, N, -1, -1).contiguous(),
            group=torch.from_numpy(group),
            links=torch.from_numpy(np.repeat(links[:, None], T, 1)),
        )

    def inputs(self, X: Tensor) -> Tensor:
        """Return images (..., channels, height, width) in [−1, 1] for numbers of images."""
        flat = self.data.images[X.flatten()]
        return (flat.float() / 127.5 - 1).reshape(*X.shape, *flat.shape[1:])


def mirrored(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Mirror half of the images (n, channels, height, width), left to right."""
    turned = torch.from_numpy(rng.random((len(images), 1, 1, 1)) < 0.5)
    return torch.where(turned, images.flip(-1), images)


def shifted(images: Tensor, rng: np.random.Generator, most: int) -> Tensor:
    """Move each of the images (n, channels, height, width) by up to some pixels."""
    n, _, height, width = images.shape
    padded = pad(images, (most,) * 4, mode='replicate')
    top, left = (torch.from_numpy(rng.integers(0, 2 * most + 1, (n, 1))) for _ in range(2))
    rows, columns = top + torch.arange(height), left + torch.arange(width)
    which = torch.arange(n)[:, None, None, None]
    channels = torch.arange(images.shape[1])[:, None, None]
    return padded[which, channels, rows[:, None, :, None], columns[:, None, None, :]]
