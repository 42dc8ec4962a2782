"""Pictures as in the paper: inferred graphs beside the true one, and what agents learn."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from delama_ros.experiments.tasks.images import Images
from delama_ros.experiments.tasks.task import Batch, Task, fixed
from delama_ros.experiments.tasks.trained import TrainedRun


def draw_all(run: TrainedRun, task: Task, folder: Path) -> list[Path]:
    """Draw an example of a task and what the learners of a run make of it; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    batch = _example(task)
    pictures = {'graphs': graphs(run, task, batch)}
    if isinstance(task, Images):
        pictures['images'] = images(task, batch)
    elif batch.X.shape[-1] == batch.Y.shape[-1] == 1:
        pictures['functions'] = functions(run, task, batch)
    paths = []
    for name, figure in pictures.items():
        paths.append(folder / f'{task.name}_{name}.png')
        figure.savefig(paths[-1], dpi=110)
        plt.close(figure)
    return paths


@torch.no_grad()
def graphs(run: TrainedRun, task: Task, batch: Batch) -> Figure:
    """Draw the graphs that methods infer over t in one sequence, beside the true one."""
    names = [name for name in ('bayes', 'row', 'paper') if run.has(name)]
    times = _times(batch)
    fig, axes = plt.subplots(
        len(names), len(times) + 1, figsize=(2 * len(times) + 2, 2.1 * len(names)),
        squeeze=False, constrained_layout=True,
    )
    for name, row in zip(names, axes, strict=True):
        learner = run.learner(name, 0, task)
        W = learner(batch).output.W[0]
        truth = batch.oracle(learner.network.settings())[0, -1]
        for axis, t in zip(row, times, strict=False):
            axis.imshow(W[t - 1].numpy(), vmin=0, vmax=truth.max().item(), cmap='Blues')
            axis.set_title(f't = {t}', fontsize=9)
        row[-1].imshow(truth.numpy(), vmin=0, cmap='Blues')
        row[-1].set_title('true', fontsize=9)
        row[0].set_ylabel(name, fontsize=8)
        for axis in row:
            axis.set(xticks=[], yticks=[])
    return fig


@torch.no_grad()
def functions(run: TrainedRun, task: Task, batch: Batch) -> Figure:
    """Draw each agent's samples up to t, what it learned, and the truth."""
    answers = run.learner('bayes', 0, task)(batch).predictions[0]  # (T, N, Q, 1)
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


def images(task: Images, batch: Batch) -> Figure:
    """Draw the first image that each agent gets in each step."""
    steps, agents = batch.X.shape[1:3]
    shown = (task.inputs(batch.X[0, :, :, 0]) + 1) / 2  # (T, N, channels, height, width)
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


def _example(task: Task) -> Batch:
    """Return a test sequence with more than one group, if the task has any."""
    batch = fixed(task, 20, 'test', 0)
    row = int((batch.group.amax(1) == 1).int().argmax())
    return batch.rows(slice(row, row + 1))


def _times(batch: Batch) -> list[int]:
    steps = batch.X.shape[1]
    return sorted({1, min(3, steps), (steps + 1) // 2, steps})
