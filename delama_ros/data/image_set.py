"""A set of labelled images in disjoint splits, drawn from by class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.int64]
Split: TypeAlias = Literal['train', 'validation', 'test']
VALIDATION = 12  # one in so many training images of a class is used for validation


@dataclass(frozen=True)
class ImageSet:
    """Images (n, channels, height, width) of bytes, labels (n,) and the splits as numbers."""

    images: Tensor
    labels: Numbers
    splits: dict[Split, Numbers]
    classes: int = 10
    # For each split and half: images in order of class, and the start of each class.
    _pools: dict[tuple[Split, int], tuple[Numbers, Numbers]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, train: NDArray[np.uint8], train_labels: Numbers, test: NDArray[np.uint8],
        test_labels: Numbers,
    ) -> ImageSet:
        """Join training and test images (n, channels, height, width); some become validation."""
        n = len(train)
        labels = np.concatenate((train_labels, test_labels)).astype(np.int64)
        kept = _rank(labels[:n]) % VALIDATION == VALIDATION - 1
        return cls(
            torch.from_numpy(np.concatenate((train, test))), labels,
            {'train': np.flatnonzero(~kept), 'validation': np.flatnonzero(kept),
             'test': n + np.arange(len(test))},
            int(labels.max()) + 1,
        )

    def __post_init__(self) -> None:
        for split, numbers in self.splits.items():
            for half in (0, 1):
                own = numbers[_rank(self.labels[numbers]) % 2 == half]
                order = own[np.argsort(self.labels[own], kind='stable')]
                starts = np.searchsorted(self.labels[order], np.arange(self.classes + 1))
                if (np.diff(starts) == 0).any():
                    raise ValueError(
                        f'the {split} images lack a class, expected all {self.classes}'
                    )
                self._pools[split, half] = order, starts

    def pick(
        self, rng: np.random.Generator, classes: Numbers, split: Split, half: Numbers
    ) -> Numbers:
        """Draw an image of each given class (B, ...), from half 0 or 1 (B,) of a split."""
        chance = rng.random(classes.shape)
        picked = []
        for h in (0, 1):
            order, starts = self._pools[split, h]
            size = starts[classes + 1] - starts[classes]
            picked.append(order[starts[classes] + (chance * size).astype(np.int64)])
        return np.where(half.reshape(-1, *(1,) * (classes.ndim - 1)) == 0, *picked)


def _rank(labels: Numbers) -> Numbers:
    """Return for each image the number of earlier ones of its class."""
    order = np.argsort(labels, kind='stable')
    first = np.searchsorted(labels[order], labels[order])
    rank = np.empty_like(labels)
    rank[order] = np.arange(len(labels)) - first
    return rank
