"""Settings of comparison methods, chosen on validation sequences by a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from torch import Tensor

from delama_ros.experiments.baselines.graph_learners import GRIDS
from delama_ros.experiments.baselines.method import Method
from delama_ros.experiments.baselines.run import Setting, goodness, run_graph
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.task import Batch, Task

# How often a grid whose best value is at an edge is extended; never where tuning is cut short.
FURTHER = 2


def choose(
    task: Task, kind: type[Method], run: Callable[[Setting], Tensor], *, strong: bool, further: int
) -> dict[str, Any]:
    """Search the rate of a gradient method first, then its coefficient at that rate.

    Args:
        task: What is learned.
        kind: The method, with its grids.
        run: Returns the scores (B, T) of a setting.
        strong: Whether the method learns a head on trained features.
        further: How often a grid whose best value is at an edge is extended.

    Returns:
        The chosen setting and the goodness of all that were tried.

    """
    tried: dict[Setting, float] = {}

    def how_good(setting: Setting) -> float:
        if setting not in tried:
            tried[setting] = goodness(task, run(setting))
        return tried[setting]

    rates = kind.strong_rates if strong else kind.rates
    rate = best_of(rates, lambda r: how_good(Setting(r, kind.strengths[0])), further)
    strength = best_of(kind.strengths, lambda s: how_good(Setting(rate, s)), further)
    listed = {f'rate {s.rate:g}, strength {s.strength:g}': v for s, v in tried.items()}
    return {'setting': asdict(Setting(rate, strength)), 'tried': listed}


def best_of(values: Sequence[float], how_good: Callable[[float], float], further: int) -> float:
    """Return the best value; a grid whose best is at an edge is extended there by its ratio."""
    grid = list(values)  # of equally good values the first is taken
    for _ in range(further):
        best, ordered = max(grid, key=how_good), sorted(grid)
        if len(grid) < 2 or ordered[0] <= 0:
            break
        if best == ordered[-1]:
            grid.append(best**2 / ordered[-2])
        elif best == ordered[0]:
            grid.append(best**2 / ordered[1])
        else:
            break
    return max(grid, key=how_good)


def choose_graph(task: Task, method: str, batch: Batch, learner: Learner) -> dict[str, Any]:
    """Choose among the settings of a graph learner."""
    tried = {
        name: goodness(task, run_graph(batch, graph, learner)[0].scores)
        for name, graph in GRIDS[method].items()
    }
    return {'setting': {'name': max(tried, key=tried.__getitem__)}, 'tried': tried}
