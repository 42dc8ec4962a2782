"""Evaluation of a learning task: trained variants, graph learners and gradient methods.

All of them see the same test sequences. Settings of comparison methods are chosen first, in cells
of their own, on validation sequences.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from delama_ros.experiments.baselines import run as baselines
from delama_ros.experiments.baselines import tuning
from delama_ros.experiments.baselines.graph_learners import GRIDS, RUNS_AS
from delama_ros.experiments.baselines.method import Effort
from delama_ros.experiments.baselines.registry import entries
from delama_ros.experiments.report import Row, standard_error
from delama_ros.experiments.runner import Cell, Figures, Runner
from delama_ros.experiments.runs_as import RunsAs
from delama_ros.experiments.tasks.catalogue import fresh_backbone, make_task
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.measure import Measured
from delama_ros.experiments.tasks.task import Batch, Task, fixed
from delama_ros.experiments.tasks.trained import TrainedRun
from delama_ros.experiments.tasks.variants import SPARSE, VARIANTS, run_variant


@dataclass(frozen=True)
class Sizes:
    """How much is spent; the paper's appendix has 100 rounds of 5 gradients per step."""

    sequences: int = 200  # tested per seed
    rounds: int = 100  # of communication per step, of gradient methods
    local: int = 5  # gradients in each
    validation: int = 5  # sequences that settings are chosen on
    horizon: int = 0  # their first steps that plain settings are chosen on, 0 for all
    full: bool = False  # plain networks of images are as large as the trained backbone


@dataclass(frozen=True)
class Evaluation:
    """A task, the learners that were trained on it, and how much is spent."""

    task: str
    settings: dict[str, Any]  # of the task
    training: dict[str, Any]  # settings, for the size of backbones
    data: str | None = None
    run: TrainedRun | None = None
    update_rounds: int | None = None  # exchanges of θ per step in place of the trained number
    sizes: Sizes = field(default_factory=Sizes)

    def rows(
        self, methods: Sequence[str], setups: Sequence[str], seeds: Sequence[int], runner: Runner,
        error_over: str,
    ) -> list[Row]:
        """Choose settings, test, and return a row per method and set-up.

        Args:
            methods: Names of variants, graph learners and gradient methods.
            setups: Of gradient methods.
            seeds: A learner and test sequences each.
            runner: Computes the cells.
            error_over: `seeds` or `sequences`, over which standard errors are taken.

        """
        compute = partial(compute_cell, run=self.run)
        groups = {
            (name, setup): [self._cell(name, setup, seed) for seed in seeds]
            for name in methods
            for setup in (setups if name in entries() else [''])
        }
        # Settings are those of the first seed, for all seeds.
        tunings = {key: self._tuning(*key) for key in groups if key[0] not in VARIANTS}
        chosen = runner.run(list(tunings.values()), compute, 'settings')
        settings = {key: chosen[cell]['setting'] for key, cell in tunings.items()}
        for key, setting in settings.items():
            groups[key] = [cell.changed(setting=setting) for cell in groups[key]]
        results = runner.run([cell for cells in groups.values() for cell in cells], compute)
        metric = make_task(self.task, self.settings, self.data).metric
        return [
            _row(*key, [results[cell] for cell in cells], metric, error_over, settings.get(key))
            for key, cells in groups.items()
        ]

    def _cell(self, name: str, setup: str, seed: int) -> Cell:
        """Return a test; its condition holds what decides its outcome, and no more."""
        settings = dict(self.settings)
        if name in VARIANTS and VARIANTS[name].graph:
            settings['graph'] = VARIANTS[name].graph
        sizes, condition = self.sizes, dict[str, Any]()
        if name in entries():
            condition = {'rounds': sizes.rounds, 'local': sizes.local}
            if setup == 'plain':
                condition |= {'full': sizes.full, 'training': self.training}
        elif self.update_rounds is not None:
            condition = {'update_rounds': self.update_rounds}
        return Cell.make(
            self.task, name, seed, stage='test', settings=settings, data=self.data, setup=setup,
            sequences=sizes.sequences, model='' if setup == 'plain' else self._digest(),
            **condition,
        )

    def _tuning(self, name: str, setup: str) -> Cell:
        horizon = self.sizes.horizon if setup == 'plain' else 0
        return self._cell(name, setup, 0).changed(
            stage='tune', sequences=self.sizes.validation, horizon=horizon
        )

    def _digest(self) -> str:
        if self.run is None:
            raise ValueError('this method needs trained learners: delama train, then --run FOLDER')
        return self.run.digest


def methods_of(task: str) -> list[str]:
    """Return the methods that the paper lists for a task, in the order of its tables."""
    names = [*entries(), *GRIDS, *VARIANTS]
    lifelong = {name for name, kind in entries().items() if kind.family == 'lifelong'}
    left_out = {'dinno'} | (lifelong if task == 'regression' else set(SPARSE))
    return [name for name in names if name not in left_out]


def compute_cell(cell: Cell, run: TrainedRun | None) -> Figures:
    """Choose the settings of a method or test it; run: trained learners, if the cell needs any."""
    torch.set_num_threads(1)
    began = time.process_time()
    task = _task(cell.task, json.dumps(cell['settings']), cell['data'])
    if cell['stage'] == 'tune':
        batch = fixed(task, cell['sequences'], 'validation', 0)
        if cell['horizon']:
            batch = batch.until(cell['horizon'])
        figures = _tune(cell, task, batch, run)
    else:
        batch = fixed(task, cell['sequences'], 'test', cell.seed)
        figures = _test(cell, task, batch, run)
    return {**figures, 'seconds': round(time.process_time() - began, 1)}


@lru_cache(maxsize=8)
def _task(name: str, settings: str, data: str | None) -> Task:
    return make_task(name, json.loads(settings), data)


def _learner(cell: Cell, run: TrainedRun | None, task: Task, variant: str) -> Learner:
    if run is None:
        raise ValueError(f'{cell.method} needs trained learners, expected --run FOLDER')
    rounds = json.loads(cell.condition).get('update_rounds')
    return run.learner(variant, cell.seed, task, rounds)


def _tune(cell: Cell, task: Task, batch: Batch, run: TrainedRun | None) -> Figures:
    if cell.method in GRIDS:
        return tuning.choose_graph(task, cell.method, batch, _learner(cell, run, task, 'bayes'))
    method = _Gradient(cell, task, batch, run)
    return tuning.choose(
        task, entries()[cell.method], lambda setting: method(setting).scores,
        strong=cell['setup'] == 'strong', further=0 if cell['horizon'] else tuning.FURTHER,
    )


def _test(cell: Cell, task: Task, batch: Batch, run: TrainedRun | None) -> Figures:
    if cell.method in VARIANTS:
        learner = _learner(cell, run, task, cell.method)
        measured, sent = run_variant(batch, learner, VARIANTS[cell.method].mode)
        return _figures(measured, sent, learner)
    if cell.method in GRIDS:
        learner = _learner(cell, run, task, 'bayes')
        graph = GRIDS[cell.method][cell['setting']['name']]
        return _figures(*baselines.run_graph(batch, graph, learner), learner)
    result = _Gradient(cell, task, batch, run)(baselines.Setting(**cell['setting']))
    return {'scores': result.scores.tolist(), 'bytes': result.bytes, 'rounds': result.rounds}


def _figures(measured: Measured, sent: int, learner: Learner) -> Figures:
    rounds = learner.network.settings().update_rounds if sent else 0
    return {
        'scores': measured.scores.tolist(), 'bytes': sent, 'rounds': rounds,
        'gmse': measured.gmse.tolist(), 'gmse_all_links': measured.gmse_all_links.tolist(),
    }


class _Gradient:
    """Runs a gradient method, plain or strong, with any setting."""

    def __init__(self, cell: Cell, task: Task, batch: Batch, run: TrainedRun | None) -> None:
        self._task, self._batch, self._method = task, batch, cell.method
        self._strong = cell['setup'] == 'strong'
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(cell.seed)
            if self._strong:
                learner = _learner(cell, run, task, 'bayes')
                self._problem = baselines.strong_problem(task)
                inputs = baselines.features_of(task, learner)
            else:
                network = fresh_backbone(
                    cell.task, cell.seed, cell['training'], full=cell['full']
                )
                self._problem, inputs = baselines.plain_problem(task, network), task.inputs
        self._data = baselines.given(batch, inputs)
        self._effort = Effort(cell['rounds'], cell['local'])

    def __call__(self, setting: baselines.Setting) -> baselines.Result:
        return baselines.run_method(
            self._task, self._batch, self._data, self._problem, self._method, setting,
            self._effort, replay=self._strong,
        )


def _row(
    name: str, setup: str, seeds: Sequence[Figures], metric: str, error_over: str,
    setting: Figures | None,
) -> Row:
    """Join the seeds of a method."""
    scores = [np.array(figures['scores']) for figures in seeds]  # (B, T) each
    values: dict[str, Any] = {**mean_and_error(metric, scores, error_over)}
    collaborates = name in GRIDS or (
        name in VARIANTS and VARIANTS[name].mode not in ('alone', 'oracle')
    )
    for key in ('gmse', 'gmse_all_links') if collaborates else ():
        values |= mean_and_error(key, [np.array(f[key], float) for f in seeds], error_over)
    if setting is not None:
        values['setting'] = setting
    values |= {
        'bytes': seeds[0]['bytes'], 'rounds': seeds[0]['rounds'],
        'sequences': sum(map(len, scores)), 'seconds': sum(f['seconds'] for f in seeds),
    }
    return Row(name, runs_as(name), values, setup, np.concatenate(scores).tolist())


def runs_as(name: str) -> RunsAs:
    """Return what a method runs as."""
    if name in VARIANTS:
        return VARIANTS[name].runs_as
    return RUNS_AS[name] if name in RUNS_AS else entries()[name].runs_as()


def mean_and_error(
    name: str, per_seed: Sequence[npt.NDArray[np.float64]], error_over: str
) -> dict[str, list[float]]:
    """Return NAME and NAME_se as lists over t: the mean over seeds, and its standard error.

    Sequences without a true link have no error of the graph and are left out of its mean; a method
    that diverged on any sequence has no figure.
    """
    keep_nan = name in ('mse', 'accuracy')
    means = np.stack([
        values.mean(0) if keep_nan else _mean_of_numbers(values) for values in per_seed
    ])  # (seeds, T)
    if error_over == 'seeds' and len(per_seed) > 1:
        error = standard_error(means)
    else:
        error = standard_error(np.concatenate(per_seed))
    return {name: means.mean(0).tolist(), f'{name}_se': error.tolist()}


def _mean_of_numbers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    count = (~np.isnan(values)).sum(0)
    mean: npt.NDArray[np.float64] = np.nansum(values, 0) / np.where(count, count, np.nan)
    return mean


def describe(evaluation: Evaluation, seeds: Sequence[int]) -> dict[str, Any]:
    """Return what the figures were computed from, for JSON and Markdown."""
    return {
        'protocol': evaluation.settings, 'seeds': list(seeds), **asdict(evaluation.sizes),
        'command': evaluation.run.made['command'] if evaluation.run else None,
    }
