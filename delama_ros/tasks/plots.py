"""Pictures as in the paper: results over t, graphs beside the true one, what agents learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from delama_ros.tasks.evaluate import SHOWN, Run
from delama_ros.tasks.task import Batch, fixed

LABELS = {
    'wc': 'without collaboration', 'wm': 'without memory', 'oracle': 'true graph',
    'delama_paper': 'paper, corrected', 'delama_mina': '+ minA, rows, null edge',
    'delama': 'DeLAMA (ours)',
}


def draw_all(run: Run, figures: dict[str, Any], folder: Path) -> list[Path]:
    """Draw everything there is to a run; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    batch = _example(run)
    pictures = {'results': results(figures), 'graphs': graphs(run, batch)}
    if run.task.metric == 'mse':
        pictures['functions'] = functions(run, batch)
    else:
        pictures['images'] = images(run, batch)
    paths = []
    for name, figure in pictures.items():
        paths.append(folder / f'{run.task.name}_{name}.png')
        figure.savefig(paths[-1], dpi=110)
        plt.close(figure)
    return paths


def results(figures: dict[str, Any]) -> Figure:
    """Draw the metric and the graph's error of all methods over t."""
    metric = figures['metric']
    fig, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for key, axis in zip((metric, 'gmse'), axes, strict=True):
        for name, values in figures['methods'].items():
            if key not in values:
                continue
            steps = range(1, len(values[key]) + 1)
            axis.errorbar(steps, values[key], values[f'{key}_se'], label=LABELS[name], capsize=2)
        axis.set(xlabel='t', ylabel={'mse': 'MSE', 'accuracy': 'accuracy (%)'}.get(key, 'GMSE'))
        axis.grid(alpha=0.3)
    if metric == 'mse':
        axes[0].set_yscale('log')
    axes[0].legend(fontsize=8)
    return fig


@torch.no_grad()
def graphs(run: Run, batch: Batch) -> Figure:
    """Draw the graphs that methods infer over t in one sequence, beside the true one."""
    names = [m for m in ('delama', 'delama_mina', 'delama_paper') if m in run.methods()]
    times = _times(batch)
    fig, axes = plt.subplots(
        len(names), len(times) + 1, figsize=(2 * len(times) + 2, 2.1 * len(names)),
        squeeze=False, constrained_layout=True,
    )
    for name, row in zip(names, axes, strict=True):
        learner = run.learner(name, run.seeds[0])
        W = learner(batch, SHOWN[name][1]).output.W[0]
        truth = batch.oracle(learner.network.settings())[0, -1]
        for axis, t in zip(row, times, strict=False):
            axis.imshow(W[t - 1].numpy(), vmin=0, vmax=truth.max().item(), cmap='Blues')
            axis.set_title(f't = {t}', fontsize=9)
        row[-1].imshow(truth.numpy(), vmin=0, cmap='Blues')
        row[-1].set_title('true', fontsize=9)
        row[0].set_ylabel(LABELS[name], fontsize=8)
        for axis in row:
            axis.set(xticks=[], yticks=[])
    return fig


@torch.no_grad()
def functions(run: Run, batch: Batch) -> Figure:
    """Draw each agent's samples up to t, what it learned, and the truth."""
    answers = run.learner('delama', run.seeds[0])(batch).predictions[0]  # (T, N, Q, 1)
    x = batch.asked[0, 0, :, 0].numpy()
    times = _times(batch)
    agents = answers.shape[1]
    fig, axes = plt.subplots(
        agents, len(times), figsize=(2.4 * len(times), 1.5 * agents), sharex=True, sharey='row',
        squeeze=False, constrained_layout=True,
    )
    for n, row in enumerate(axes):
        for axis, t in zip(row, times, strict=True):
            kept = batch.weight[0, :t, n] > 0
            samples = [part[0, :t, n, :, 0][kept].numpy() for part in (batch.X, batch.Y)]
            axis.plot(*samples, '.', ms=3, color='tab:orange', label='own samples')
            axis.plot(x, batch.answers[0, n, :, 0].numpy(), 'k', lw=0.8, label='truth')
            axis.plot(x, answers[t - 1, n, :, 0].numpy(), color='tab:blue', label='learned')
            if n == 0:
                axis.set_title(f't = {t}', fontsize=9)
        row[0].set_ylabel(f'agent {n + 1}, f{batch.group[0, n].item() + 1}', fontsize=8)
    axes[0, 0].legend(fontsize=6)
    return fig


def images(run: Run, batch: Batch) -> Figure:
    """Draw the first image that each agent gets in each step."""
    steps, agents = batch.X.shape[1:3]
    shown = (run.task.inputs(batch.X[0, :, :, 0]) + 1) / 2  # (T, N, channels, height, width)
    fig, axes = plt.subplots(
        agents, steps, figsize=(0.8 * steps, 0.85 * agents), squeeze=False, constrained_layout=True
    )
    for n, row in enumerate(axes):
        for t, axis in enumerate(row):
            axis.imshow(shown[t, n].movedim(0, -1).squeeze(-1).numpy(), cmap='gray')
            axis.set(xticks=[], yticks=[])
            label = batch.Y[0, t, n, 0].argmax().item() + 1
            axis.set_title(f'class {label}', fontsize=6)
        row[0].set_ylabel(f'group {batch.group[0, n].item() + 1}', fontsize=7)
    return fig


def _example(run: Run) -> Batch:
    """Return a test sequence with more than one group, if the task has any."""
    batch = fixed(run.task, 20, 'test', run.seeds[0])
    row = int((batch.group.amax(1) == 1).int().argmax())
    return batch.rows(slice(row, row + 1))


def _times(batch: Batch) -> list[int]:
    steps = batch.X.shape[1]
    return sorted({1, min(3, steps), (steps + 1) // 2, steps})
