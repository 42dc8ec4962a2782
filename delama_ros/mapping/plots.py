"""Pictures of mapping figures."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt

LABELS = {
    'delama': 'DeLAMA',
    'wc': 'one robot alone',
    'oracle': 'centralised',
    'logodds': 'log-odds grid, alone',
    'logodds_merged': 'log-odds grid, all raw scans',
    'ceiling': 'perfect map of what was seen',
    'delama_completed': 'DeLAMA, completed',
}


def plot_figures(figures: dict[str, Any], path: str | Path) -> None:
    """Draw F1 over steps, and over what each robot has sent up to then."""
    fig, (over_time, over_bytes) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for name, label in LABELS.items():
        if name not in figures['methods']:
            continue
        values = figures['methods'][name]
        steps = range(1, len(values['f1']) + 1)
        (line,) = over_time.plot(steps, values['f1'], label=label)
        low = [f - e for f, e in zip(values['f1'], values['f1_se'], strict=True)]
        high = [f + e for f, e in zip(values['f1'], values['f1_se'], strict=True)]
        over_time.fill_between(steps, low, high, color=line.get_color(), alpha=0.2)
        sent = [total / 1000 for total in accumulate(values['bytes'])]
        if sent[-1] > 0:
            over_bytes.plot(sent, values['f1'], '.-', color=line.get_color(), label=label)
    over_time.set(xlabel='step', ylabel='F1 of occupied cells (%)')
    over_bytes.set(xlabel='kB sent per robot so far', ylabel='F1 of occupied cells (%)')
    for axes in (over_time, over_bytes):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    fig.savefig(path, dpi=120)
    plt.close(fig)
