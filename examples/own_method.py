"""A comparison method of your own: gossip, in which an agent averages with one random neighbour.

Compare it from the command line, without a change in the package:

    delama eval regression --plugin examples/own_method.py:Gossip --methods gossip dsgd bayes
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from delama_ros.experiments.baselines.method import Method
from delama_ros.experiments.baselines.problem import Draw


class Gossip(Method):
    """Local gradients, then each agent goes part of the way to a random neighbour's model."""

    name = 'gossip'
    strengths = (0.5, 0.1)  # the share of the way, chosen on validation sequences

    def start(self) -> None:
        """Prepare what is kept between steps besides the models."""
        self.random = torch.Generator().manual_seed(0)

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Learn from the data of a step; links (B, N, N) tell who receives whom."""
        others = links.float() + 1e-9  # an agent without neighbours draws any other
        for _ in range(self.effort.rounds):
            self.theta = self.descend(self.theta, draw, self.effort.local)
            chosen = torch.multinomial(others.flatten(0, 1), 1, generator=self.random)
            chosen = chosen.reshape(*links.shape[:2], 1).expand_as(self.theta)
            self.theta = torch.lerp(self.theta, self.theta.gather(1, chosen), self.strength)
        return self.theta


if __name__ == '__main__':
    from delama_ros.cli.main import main

    sys.exit(main([
        'eval', 'regression', '--plugin', f'{__file__}:Gossip', '--quick', '--rounds', '2',
        '--sequences', '2', '--validation', '1', '--methods', 'gossip', 'dsgd', 'bayes', '--setups',
        'plain',
    ]))
