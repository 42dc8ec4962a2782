"""A picture of training: the loss and each validation value over the iterations of all stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt


def plot_curves(curves: Mapping[str, Sequence[Mapping[str, Any]]], path: str | Path) -> None:
    """Draw the curves (lines of the log) of one or more runs, known by name."""
    names = dict.fromkeys(
        name for curve in curves.values() for line in curve for name in line['values']
    )
    panels = ['loss', *names]
    fig, axes = plt.subplots(
        1, len(panels), figsize=(4 * len(panels), 3.4), squeeze=False, constrained_layout=True
    )
    for run, curve in curves.items():
        at = _positions(curve)
        for panel, axis in zip(panels, axes[0], strict=True):
            rows = [line['loss'] if panel == 'loss' else line['values'].get(panel)
                    for line in curve]
            kept = [(x, row) for x, row in zip(at, rows, strict=True) if row is not None]
            if kept:
                # Lists are values over t: the last is what the run ends with.
                axis.plot(
                    [x for x, _ in kept],
                    [row[-1] if isinstance(row, list) else row for _, row in kept], label=run,
                )
    for panel, axis in zip(panels, axes[0], strict=True):
        axis.set(title=panel, xlabel='iteration')
        axis.grid(alpha=0.3)
        if panel != 'loss' and all(line.get_ydata().min() > 0 for line in axis.lines):
            axis.set_yscale('log')
    axes[0, 0].legend(fontsize=8)
    fig.savefig(path, dpi=110)
    plt.close(fig)


def _positions(curve: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the iteration of each check, counted over all stages."""
    positions: list[int] = []
    offset = last = 0
    stage = None
    for line in curve:
        if line['stage'] != stage:
            stage, offset = line['stage'], offset + last
        last = line['iteration']
        positions.append(offset + last)
    return positions
