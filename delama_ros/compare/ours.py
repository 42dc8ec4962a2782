"""The rows of the tables that are DeLAMA: its variants, and other graph learners in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from delama_ros.compare.experiment import Result
from delama_ros.compare.graph_learners import Learner as GraphLearner
from delama_ros.compare.graph_learners import spend
from delama_ros.tasks.backbones import FEATURES
from delama_ros.tasks.learner import Answers, Learner, Mode
from delama_ros.tasks.task import Batch, graph_error, score


@dataclass(frozen=True)
class Row:
    """Which trained network runs, in which mode, and over which communication graph."""

    network: str
    mode: Mode = 'delama'
    graph: str = 'full'


# The sparse graphs of table 3: Erdős–Rényi and Barabási–Albert, at two connectivities.
SPARSE = {
    f'delama_{kind}_{share}': Row('delama', graph=f'{kind}:{share}')
    for kind in ('er', 'ba') for share in (0.3, 0.5)
}
ROWS: dict[str, Row] = {
    'oracle': Row('oracle', 'oracle'),
    'wc': Row('wc', 'wc'),
    'wm': Row('delama', 'wm'),
    'delama_paper': Row('delama_paper'),
    'delama_mina': Row('delama_mina'),
    'delama': Row('delama'),
    **SPARSE,
}
LABELS = {
    'ns': 'NS',
    'glasso': 'GLasso',
    'mtrl': 'MTRL',
    'gl_logdet': 'GL-LogDet',
    'l2g_pds': 'L2G-PDS',
    'oracle': 'Oracle',
    'wc': 'DeLAMA-WC',
    'wm': 'DeLAMA-WM',
    'delama_paper': 'DeLAMA (paper, corrected)',
    'delama_mina': 'DeLAMA (minA, row budget)',
    'delama': 'DeLAMA (ours)',
    **{name: f'DeLAMA (ours), {row.graph}' for name, row in SPARSE.items()},
}


@torch.no_grad()
def run_row(batch: Batch, learner: Learner, mode: Mode) -> Result:
    """Test a variant of DeLAMA."""
    sent = 0 if mode == 'wc' else numbers_sent(learner, batch)
    return _result(batch, learner, learner(batch, mode), sent)


@torch.no_grad()
def run_graph(batch: Batch, learn: GraphLearner, learner: Learner) -> Result:
    """Test DeLAMA with its graph step replaced by a central learner of graphs."""
    local = learner(batch, 'wc').output.local  # (B, T, N, 1, K, C)
    W = spend(learn(local.flatten(0, 1).flatten(2).numpy()))
    graph = torch.from_numpy(W).reshape(batch.links.shape) * batch.links
    # Local models go to the centre, and each agent's row of the graph comes back.
    agents, rounds = batch.group.shape[1], learner.network.settings().update_rounds
    sent = FEATURES * batch.Y.shape[-1] * rounds + agents
    return _result(batch, learner, learner(batch, graph=graph), sent)


def numbers_sent(learner: Learner, batch: Batch) -> int:
    """Return how many numbers an agent sends in a step.

    θ after local learning and after all rounds but the last; with the distance by evidence a small
    memory; a number per neighbour for the distance, where two sides join it, and for the weight,
    or two sums in each dual round.
    """
    settings = learner.network.settings()
    outputs, neighbours = batch.Y.shape[-1], batch.group.shape[1] - 1
    numbers = FEATURES * outputs * settings.update_rounds
    if learner.network.evidence is not None:
        directions = learner.network.evidence.directions.shape[1]
        numbers += directions * (directions + 1) // 2 + directions * outputs + 2
    elif settings.distance == 'minA':
        numbers += neighbours
    return numbers + (2 * settings.dual_rounds + 3 if settings.newton else neighbours)


def _result(batch: Batch, learner: Learner, answers: Answers, sent: int) -> Result:
    scores = score(learner.task, answers.predictions, batch)
    settings = learner.network.settings()
    # The paper's true graph has all links of a group, also those that nobody can use.
    truth = replace(batch, links=torch.ones_like(batch.links)).oracle(settings)
    error: Tensor = graph_error(answers.output.W, truth)
    rounds = settings.update_rounds if sent else 0
    return Result(scores.tolist(), 4 * sent, rounds, error.tolist())
