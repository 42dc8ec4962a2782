"""The learners that are meta-trained on a task, named by distance × budget × update.

`paper` is the paper's algorithm with its misprints corrected. `row` replaces distance, budget and
plain rounds. `bayes` weighs all groupings of agents by how likely they make the data; it exists
as a batched network only, while `paper` and `row` also run as agents that exchange messages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import torch

from delama_ros.core.settings import PAPER, Settings
from delama_ros.experiments.runs_as import RunsAs
from delama_ros.experiments.tasks.backbones import FEATURES
from delama_ros.experiments.tasks.learner import Learner, Mode
from delama_ros.experiments.tasks.measure import Measured, measure
from delama_ros.experiments.tasks.task import Batch

Trained: TypeAlias = Literal['alone', 'oracle', 'paper', 'row', 'bayes']

# Names in runs of older versions.
OLD_NAMES = {
    'alone': 'wc', 'last_step': 'wm', 'paper': 'delama_paper', 'row': 'delama_mina',
    'bayes': 'delama',
}

BAYES = Settings(
    accumulate='sum', distance='bayes', lambda1_local=0.05, lambda1_coupled=0.05, lambda2=2.0,
    lambda3=0.3, null_edge=0.5, momentum=0.4,
)


@dataclass(frozen=True)
class Variant:
    """The settings that a learner starts from, and how it is trained and tested."""

    settings: Settings
    mode: Mode = 'collaborate'
    runs_as: RunsAs = 'network'
    offset: bool = True  # of seen classes, in image tasks
    trained_as: Trained | None = None  # whose checkpoint it uses
    graph: str | None = None  # communication graph; None: that of the task


VARIANTS: dict[str, Variant] = {
    'alone': Variant(Settings(accumulate='sum'), 'alone', 'agents, network'),
    'oracle': Variant(BAYES, 'oracle'),
    'paper': Variant(PAPER, runs_as='agents, network', offset=False),
    'row': Variant(Settings(), runs_as='agents, network'),
    'bayes': Variant(BAYES),
    'last_step': Variant(BAYES, 'last_step', trained_as='bayes'),
    # The sparse graphs of table 3: Erdős–Rényi and Barabási–Albert, at two connectivities.
    **{
        f'bayes_{kind}_{share}': Variant(BAYES, trained_as='bayes', graph=f'{kind}:{share}')
        for kind in ('er', 'ba') for share in (0.3, 0.5)
    },
}
SPARSE = [name for name, variant in VARIANTS.items() if variant.graph]


def checkpoint_of(variant: str) -> str:
    """Return the name of the checkpoint that a variant uses."""
    return VARIANTS[variant].trained_as or variant


def settings_of(name: Trained, rounds: int) -> Settings:
    """Return what a learner starts from; the paper has 10 rounds, the others as many as given."""
    settings = VARIANTS[name].settings
    return settings if name == 'paper' else replace(settings, update_rounds=rounds)


def run_variant(
    batch: Batch, learner: Learner, mode: Mode, graph: torch.Tensor | None = None,
    sent: int | None = None,
) -> tuple[Measured, int]:
    """Return the figures of a learner on test sequences and the bytes an agent sends in a step.

    Args:
        batch: Test sequences.
        learner: A trained learner.
        mode: How it runs.
        graph: Weights (B, T, N, N) to use in place of its own graph.
        sent: How many numbers an agent sends; None: those of the learner's own exchange.

    """
    if sent is None:
        sent = 0 if mode == 'alone' else numbers_sent(learner, batch)
    return measure(learner, batch, mode, graph), 4 * sent


def numbers_sent(learner: Learner, batch: Batch) -> int:
    """Return how many numbers an agent sends in a step.

    θ after local learning and after all rounds but the last; with the distance `bayes` a small
    memory; a number per neighbour for the distance, where two sides join it, and for the weight,
    or two sums in each dual round.
    """
    settings = learner.network.settings()
    outputs, neighbours = batch.Y.shape[-1], batch.group.shape[1] - 1
    numbers = FEATURES * outputs * settings.update_rounds
    if learner.network.groupings is not None:
        directions = learner.network.groupings.directions.shape[1]
        numbers += directions * (directions + 1) // 2 + directions * outputs + 2
    elif settings.distance == 'minA':
        numbers += neighbours
    return numbers + (2 * settings.dual_rounds + 3 if settings.newton else neighbours)
