"""The gradient methods of the comparison by name, each with the settings its grid has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from torch import Tensor

from delama_ros.compare.decentralised import DSGD, DSGT, DFedAvgM, DiNNO, DiNNOEffort
from delama_ros.compare.federated import FedAvg, FineTuned, Scaffold
from delama_ros.compare.lifelong import AGEM, GEM, MAS, Anchored, LwF, fisher, sensitivity
from delama_ros.compare.method import Effort
from delama_ros.compare.personal import Ditto, FedRep, PFedGraph
from delama_ros.compare.problem import Draw, Problem

Family: TypeAlias = Literal['lifelong', 'federated', 'decentralised']

RATES = (0.01, 0.03, 0.1, 0.3)
STRONG_RATES = (0.03, 0.1, 0.3, 1.0)  # of a head on decorrelated features
ADAM_RATES = (0.0003, 0.001, 0.003, 0.01)


class Learner(Protocol):
    """What the comparison needs of a method."""

    @property
    def rounds(self) -> int:
        """Rounds of communication in a step."""
        ...

    @property
    def bytes_per_step(self) -> int:
        """What an agent sends and is sent in a step."""
        ...

    def step(self, draw: Draw, links: Tensor) -> Tensor:
        """Learn from the data of a step and return the models."""
        ...


Shape: TypeAlias = tuple[int, ...]
Make: TypeAlias = Callable[[Problem, Effort, Shape, float], Learner]


@dataclass(frozen=True)
class Entry:
    """A row: how the method is made, and what its one coefficient may be (μ, λ, ρ, steps, …)."""

    label: str
    family: Family
    make: Make
    strengths: tuple[float, ...] = (0.0,)  # the first goes with the search for the rate
    rates: tuple[float, ...] = RATES
    strong_rates: tuple[float, ...] = STRONG_RATES


def _every_gradient(effort: Effort) -> Effort:
    """Methods that talk after every gradient get as many gradients as the others."""
    return replace(effort, rounds=effort.rounds * effort.local, local=1)


def _dinno(problem: Problem, effort: Effort, shape: Shape, rho: float) -> Learner:
    return DiNNO(problem, DiNNOEffort(effort.rounds, effort.local, effort.rate, rho), shape)


ENTRIES: dict[str, Entry] = {
    'lwf': Entry('LwF', 'lifelong', lambda p, e, s, c: LwF(p, e, s, keep=c), (1.0, 0.1, 10.0)),
    'ewc': Entry(
        'EWC', 'lifelong', lambda p, e, s, c: Anchored(p, e, s, fisher, keep=c),
        (10.0, 1.0, 100.0),
    ),
    'mas': Entry(
        'MAS', 'lifelong', lambda p, e, s, c: MAS(p, e, s, sensitivity, keep=c),
        (1.0, 0.1, 10.0),
    ),
    'gem': Entry('GEM', 'lifelong', lambda p, e, s, c: GEM(p, e, s, margin=c), (0.0, 0.5)),
    'agem': Entry('A-GEM', 'lifelong', lambda p, e, s, c: AGEM(p, e, s)),
    'fedavg': Entry('FedAvg', 'federated', lambda p, e, s, c: FedAvg(p, e, s)),
    'fedprox': Entry(
        'FedProx', 'federated', lambda p, e, s, c: FedAvg(p, e, s, prox=c), (0.1, 0.01, 1.0)
    ),
    'scaffold': Entry('SCAFFOLD', 'federated', lambda p, e, s, c: Scaffold(p, e, s)),
    'fedavg_ft': Entry(
        'FedAvg-FT', 'federated', lambda p, e, s, c: FineTuned(FedAvg(p, e, s), int(c)),
        (20, 5, 100),
    ),
    'fedprox_ft': Entry(
        'FedProx-FT', 'federated',
        lambda p, e, s, c: FineTuned(FedAvg(p, e, s, prox=0.1), int(c)), (20, 5, 100),
    ),
    'ditto': Entry(
        'Ditto', 'federated', lambda p, e, s, c: Ditto(p, e, s, hold=c), (0.1, 0.01, 1.0)
    ),
    'fedrep': Entry('FedRep', 'federated', lambda p, e, s, c: FedRep(p, e, s)),
    'pfedgraph': Entry(
        'pFedGraph', 'federated', lambda p, e, s, c: PFedGraph(p, e, s, spread=c), (0.8, 0.2, 0.05)
    ),
    'dsgd': Entry('DSGD', 'decentralised', lambda p, e, s, c: DSGD(p, _every_gradient(e), s)),
    'dsgt': Entry('DSGT', 'decentralised', lambda p, e, s, c: DSGT(p, _every_gradient(e), s)),
    'dfedavgm': Entry('DFedAvgM', 'decentralised', lambda p, e, s, c: DFedAvgM(p, e, s)),
    'dinno': Entry(
        'DiNNO', 'decentralised', _dinno, (0.1, 0.01, 1.0), ADAM_RATES, ADAM_RATES
    ),
}
