"""A task of your own: agents learn waves, two agents or more the same one.

Train and test it from the command line, without a change in the package:

    delama train waves --plugin examples/own_task.py:Waves --out runs/waves
    delama eval waves --plugin examples/own_task.py:Waves --run runs/waves
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from delama_ros.experiments.tasks.backbones import FEATURES
from delama_ros.experiments.tasks.task import Batch


@dataclass(frozen=True)
class Waves:
    """Learn sin(a x + b) from a few noisy samples per step."""

    agents: int = 4
    steps: int = 5
    samples: int = 4
    noise: float = 0.1

    name: ClassVar[str] = 'waves'
    loss: ClassVar[str] = 'squared'
    outputs: ClassVar[int] = 1
    metric: ClassVar[str] = 'mse'

    def draw(self, rng: np.random.Generator, batch: int, split: str) -> Batch:
        """Draw sequences; half of the agents learn one wave, half of them another."""
        B, T, N, S = batch, self.steps, self.agents, self.samples
        group = rng.permuted(np.tile(np.arange(N) % 2, (B, 1)), axis=1)
        waves = rng.uniform((1, 0), (3, 6), (B, 2, 2))  # a and b of each group
        a, b = np.moveaxis(waves[np.arange(B)[:, None], group], -1, 0)  # (B, N) each
        x = rng.uniform(-1, 1, (B, T, N, S))
        y = np.sin(a[:, None, :, None] * x + b[:, None, :, None])
        asked = np.linspace(-1, 1, 32)
        answers = np.sin(a[..., None] * asked + b[..., None])
        links = np.broadcast_to(~np.eye(N, dtype=bool), (B, T, N, N)).copy()
        return Batch(
            X=_tensor(x), Y=_tensor(y + self.noise * rng.normal(size=y.shape)),
            weight=torch.ones(B, T, N, S), asked=_tensor(np.tile(asked, (B, 1, 1))),
            sheet=torch.zeros(B, N, dtype=torch.int64), answers=_tensor(answers),
            group=torch.from_numpy(group), links=torch.from_numpy(links),
        )

    def inputs(self, X: Tensor) -> Tensor:
        """Return what the backbone takes."""
        return X

    @staticmethod
    def backbone() -> nn.Module:
        """Return a network from inputs to features."""
        return nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, FEATURES))


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))[..., None]


if __name__ == '__main__':
    from delama_ros.cli.main import main

    plugin = ['--plugin', f'{__file__}:Waves']
    quick = ['sequences=80', 'alone_epochs=2', 'epochs=1', 'checks=1', 'methods=[bayes]']
    settings = [part for setting in quick for part in ('--set', setting)]
    main(['train', 'waves', *plugin, *settings, '--out', 'runs/waves'])
    sys.exit(main(['eval', 'waves', *plugin, '--run', 'runs/waves', '--sequences', '20']))
