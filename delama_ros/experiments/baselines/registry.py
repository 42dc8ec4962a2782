"""The gradient methods of the comparison by name."""

from __future__ import annotations

from delama_ros.experiments import plugins
from delama_ros.experiments.baselines.decentralised import DSGD, DSGT, DFedAvgM, DiNNO
from delama_ros.experiments.baselines.federated import (
    FedAvg,
    FedAvgFT,
    FedProx,
    FedProxFT,
    Scaffold,
)
from delama_ros.experiments.baselines.lifelong import AGEM, EWC, GEM, MAS, LwF
from delama_ros.experiments.baselines.method import Method
from delama_ros.experiments.baselines.personal import Ditto, FedRep, PFedGraph

# In the order of the paper's tables.
METHODS: tuple[type[Method], ...] = (
    LwF, EWC, MAS, GEM, AGEM, FedAvg, FedProx, Scaffold, FedAvgFT, FedProxFT, Ditto, FedRep,
    PFedGraph, DSGD, DSGT, DFedAvgM, DiNNO,
)
PACKAGED = {kind.name: kind for kind in METHODS}


def entries() -> dict[str, type[Method]]:
    """Return all methods by name, those of plugins included."""
    return PACKAGED | plugins.methods()
