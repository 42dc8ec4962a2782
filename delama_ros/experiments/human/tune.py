"""Learns the coefficients of the game's agents: `python -m delama_ros.experiments.human.tune`.

The unrolled network on drawn tasks, with the features [x, 1]; what it prints is kept in team.py.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from delama_ros.core.network import POSITIVE, DeLAMA
from delama_ros.core.settings import Settings
from delama_ros.experiments.human.task import (
    QUALITIES,
    ROUNDS,
    SEATS,
    SPAN,
    Quality,
    draw,
    features,
)
from delama_ros.experiments.human.team import GAME

TASKS = 1000
STEPS = 250
RATE = 0.05
TRAINING, VALIDATION = 1_000_001, 1_000_002  # seeds; games and reports use others


def tune(quality: Quality) -> tuple[Settings, list[float]]:
    """Return the learned settings and the MSE after each round on validation tasks."""
    net = DeLAMA(nn.Identity(), 'squared', GAME)
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE)
    X, Y, targets = _tasks(quality, TRAINING)
    for _ in range(STEPS):
        optimiser.zero_grad()
        # The logarithm, as the first round's errors are larger by orders than the last one's.
        errors(net, X, Y, targets).log().mean().backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()
    with torch.no_grad():
        checked = errors(net, *_tasks(quality, VALIDATION))
    return net.settings(), checked.tolist()


def errors(net: DeLAMA, X: Tensor, Y: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared error after each round (ROUNDS,), over tasks and seats."""
    links = torch.ones(len(X), ROUNDS, SEATS, SEATS, dtype=torch.bool)
    slope, offset = (net(X, Y, links).theta[..., 0, :, 0] - targets[:, None]).unbind(-1)
    mse: Tensor = (slope**2 * SPAN**2 / 3 + offset**2).mean((0, 2))
    return mse


def _tasks(quality: Quality, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    tasks = [draw(quality, rng) for _ in range(TASKS)]
    X, Y = features(np.stack([task.points for task in tasks]))
    targets = np.array([[task.target(seat) for seat in range(SEATS)] for task in tasks])
    return torch.from_numpy(X), torch.from_numpy(Y), torch.from_numpy(targets)


def main() -> None:
    """Print a line of Python per quality."""
    torch.set_num_threads(1)
    for name, quality in QUALITIES.items():
        learned, checked = tune(quality)
        values = {key: float(f'{getattr(learned, key):.3g}') for key in POSITIVE}
        print(f'{name!r}: {values},  # validation MSE {[round(m, 3) for m in checked]}', flush=True)


if __name__ == '__main__':
    main()
