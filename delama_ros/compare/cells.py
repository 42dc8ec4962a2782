"""What computes one cell of a comparison: settings chosen on validation data, or a test."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from delama_ros.compare.catalogue import features_of, fresh_backbone, learner_of, task_of
from delama_ros.compare.experiment import (
    Result,
    Setting,
    given,
    goodness,
    plain_problem,
    play,
    strong_problem,
)
from delama_ros.compare.graph_learners import GRIDS
from delama_ros.compare.method import Effort
from delama_ros.compare.ours import ROWS, run_graph, run_row
from delama_ros.compare.registry import ENTRIES
from delama_ros.compare.study import Cell, Figures
from delama_ros.tasks.task import Batch, Task, fixed

# How often a grid whose best value stands at an edge goes on; not where tuning is cut short.
FURTHER = 2


def work(cell: Cell, model: Path | None) -> Figures:
    """Compute a cell; model: folder of trained networks, where the cell needs one."""
    torch.set_num_threads(1)
    began = time.process_time()
    task = task_of(cell.task)
    if cell.kind == 'tune':
        batch = fixed(task, cell.sizes.validation, 'validation', 0)
        if cell.sizes.horizon:
            batch = batch.until(cell.sizes.horizon)
        choose = _choose_graph if cell.method in GRIDS else _choose
        figures = choose(cell, task, batch, model)
    else:
        batch = fixed(task, cell.sizes.sequences, 'test', cell.seed)
        figures = asdict(_test(cell, task, batch, model))
    return {**figures, 'seconds': round(time.process_time() - began, 1)}


def needs_choice(method: str) -> bool:
    """Whether a method has settings to choose; those of DeLAMA are in the trained network."""
    return method not in ROWS


def _choose(cell: Cell, task: Task, batch: Batch, model: Path | None) -> Figures:
    """Search the rate first, then the method's own coefficient at that rate."""
    tried: dict[Setting, float] = {}
    run = _gradient(cell, task, batch, model)

    def how_good(setting: Setting) -> float:
        if setting not in tried:
            tried[setting] = goodness(task, run(setting))
        return tried[setting]

    entry = ENTRIES[cell.method]
    rates = entry.strong_rates if cell.setup == 'strong' else entry.rates
    further = 0 if cell.sizes.horizon else FURTHER
    rate = best_of(rates, lambda r: how_good(Setting(r, entry.strengths[0])), further)
    strength = best_of(entry.strengths, lambda s: how_good(Setting(rate, s)), further)
    listed = {f'rate {s.rate:g}, strength {s.strength:g}': v for s, v in tried.items()}
    return {'setting': asdict(Setting(rate, strength)), 'tried': listed}


def best_of(values: Sequence[float], how_good: Callable[[float], float], further: int) -> float:
    """Return the best value; a grid whose best stands at an edge goes on there by its ratio."""
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


def _choose_graph(cell: Cell, task: Task, batch: Batch, model: Path | None) -> Figures:
    learner = learner_of(cell.task, 'delama', _folder(model), 0)
    tried = {
        name: goodness(task, run_graph(batch, graph, learner))
        for name, graph in GRIDS[cell.method].items()
    }
    return {'setting': {'name': max(tried, key=tried.__getitem__)}, 'tried': tried}


def _test(cell: Cell, task: Task, batch: Batch, model: Path | None) -> Result:
    if cell.method in ROWS:
        row = ROWS[cell.method]
        learner = learner_of(cell.task, row.network, _folder(model), cell.seed)
        if row.graph != 'full':
            sparse = task_of(cell.task, row.graph)
            batch = fixed(sparse, cell.sizes.sequences, 'test', cell.seed)
        return run_row(batch, learner, row.mode)
    setting: dict[str, Any] = json.loads(cell.setting)
    if cell.method in GRIDS:
        learner = learner_of(cell.task, 'delama', _folder(model), cell.seed)
        return run_graph(batch, GRIDS[cell.method][setting['name']], learner)
    return _gradient(cell, task, batch, model)(Setting(**setting))


def _gradient(
    cell: Cell, task: Task, batch: Batch, model: Path | None
) -> Callable[[Setting], Result]:
    """Return what runs a gradient method: plain, or strong on trained features and all own data."""
    strong = cell.setup == 'strong'
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(cell.seed)
        if strong:
            learner = learner_of(cell.task, 'delama', _folder(model), cell.seed)
            problem, inputs = strong_problem(task), features_of(task, learner)
        else:
            backbone = fresh_backbone(cell.task, cell.seed, full=cell.sizes.full)
            problem = plain_problem(task, backbone)
            inputs = task.inputs
    data, effort = given(batch, inputs), Effort(cell.sizes.rounds, cell.sizes.local)

    def run(setting: Setting) -> Result:
        return play(
            task, batch, data, problem, cell.method, setting, effort, replay=strong
        )

    return run


def _folder(model: Path | None) -> Path:
    if model is None:
        raise ValueError('this method needs trained networks: delama train, then --model FOLDER')
    return model
