"""A finished comparison as tables beside the paper's, Markdown, CSV and a picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use('Agg')

import matplotlib.pyplot as plt

from delama_ros.compare.printed import GRAPH_ERRORS, PRINTED

Rows = list[dict[str, Any]]  # a method in one set-up each; lists over t

# Methods without a server, variants of DeLAMA left out; by the row of DeLAMA they stand against.
DECENTRALISED = {
    'delama': {
        'dsgd', 'dsgt', 'dfedavgm', 'dinno', 'ns', 'dsgd_naive', 'dsgt_naive', 'dinno_naive',
    },
    'delama_completed': {'dsgd_completed', 'dsgt_completed', 'dinno_completed'},
}


def table(rows: Rows, task: str, steps: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Lay rows out: figures at the steps the paper names, and the printed ones."""
    error = any('graph_error' in row for row in rows)
    header = ['method', 'set-up', *(f't={t}' for t in steps), *(f'paper t={t}' for t in steps)]
    header += ['kB/step', 'rounds', *(['GMSE', 'paper GMSE'] if error else [])]
    lines = []
    for row in rows:
        printed = PRINTED[task].get(row['method'], {})
        line = [row['label'], row['setup']]
        line += [_figure(row['mean'][t - 1], row['error'][t - 1]) for t in steps]
        line += [_figure(printed[t]) if t in printed else '–' for t in steps]
        line += [f'{row["bytes"] / 1000:.4g}', str(row['rounds'])]
        if error:
            values = row.get('graph_error')
            shown = [f'{values[t - 1]:.2f}' for t in steps] if values else []
            said = GRAPH_ERRORS[task].get(row['method'], {})
            line.append(' / '.join(shown) or '–')
            line.append(' / '.join(f'{said[t]:.2f}' for t in steps if t in said) or '–')
        lines.append(line)
    return header, lines


def standard_error(values: Any) -> Any:
    """Return the standard error of the mean over the first axis; 0 where there is one value."""
    spread = np.std(values, axis=0, ddof=1) if len(values) > 1 else np.zeros(np.shape(values)[1:])
    return spread / len(values) ** 0.5


def _figure(value: float, error: float | None = None) -> str:
    size = abs(value)
    digits = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    text = f'{value:.{digits}f}'
    return text if error is None else f'{text} ± {error:.{digits}f}'


def margins(rows: Rows, steps: Sequence[int], metric: str) -> list[str]:
    """Say how DeLAMA stands against the best other method without a server, where there is one.

    All methods saw the same sequences, so the error of the difference is that of its own mean.
    """
    best = min if metric == 'mse' else max
    lines = []
    for own in rows:
        others = [r for r in rows if r['method'] in DECENTRALISED.get(own['method'], ())]
        if not others:
            continue
        parts = []
        for t in steps:
            other = best(others, key=lambda row: row['mean'][t - 1])
            ahead = np.array(own['scores'])[:, t - 1] - np.array(other['scores'])[:, t - 1]
            ahead = -ahead if metric == 'mse' else ahead
            parts.append(
                f't={t} {_figure(own["mean"][t - 1])} against {_figure(other["mean"][t - 1])} '
                f'({other["label"]}, {other["setup"]}), '
                f'{_figure(ahead.mean(), standard_error(ahead))} ahead'
            )
        lines.append(
            f'{own["label"]}, {own["setup"]}, and the best other method without a server: '
            + '; '.join(parts)
        )
    return lines


def figures(rows: Rows, metric: str) -> dict[str, dict[str, Any]]:
    """Return name → metric, its error and more, lists over t; NAME_strong is that set-up's."""
    named = {}
    for row in rows:
        name = f'{row["method"]}_strong' if row['setup'] == 'strong' else row['method']
        named[name] = {metric: row['mean'], f'{metric}_se': row['error']}
        if 'graph_error' in row:
            named[name]['gmse'] = row['graph_error']
        others = ('bytes', 'rounds', 'sequences', 'setting', 'seconds')
        named[name] |= {key: row[key] for key in others if key in row}
    return named


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rule = ['---'] * len(header)
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in [header, rule, *lines]) + '\n'


def write(folder: Path, rows: Rows, task: str, steps: Sequence[int], metric: str) -> None:
    """Write TASK.md, TASK.csv and TASK.png."""
    folder.mkdir(parents=True, exist_ok=True)
    header, lines = table(rows, task, steps)
    (folder / f'{task}.md').write_text(markdown(header, lines))
    with (folder / f'{task}.csv').open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['method', 'setup', 't', metric, 'standard_error', 'bytes', 'rounds'])
        for row in rows:
            for t, (mean, error) in enumerate(zip(row['mean'], row['error'], strict=True), 1):
                writer.writerow([
                    row['method'], row['setup'], t, mean, error, row['bytes'], row['rounds']
                ])
    plot(folder / f'{task}.png', rows, metric)


def plot(path: Path, rows: Rows, metric: str) -> None:
    """Draw the metric over t for every row."""
    fig, axes = plt.subplots(figsize=(9, 5), constrained_layout=True)
    colours = mpl.colormaps['tab20'](np.linspace(0, 1, 20))
    for number, row in enumerate(rows):
        own = row['method'] == 'delama'
        axes.plot(
            range(1, len(row['mean']) + 1), row['mean'], color='black' if own else
            colours[number % 20], linewidth=2.5 if own else 1.2,
            linestyle='--' if row['setup'] == 'strong' else '-',
            label=f'{row["label"]} {row["setup"]}',
        )
    if metric == 'mse':
        axes.set_yscale('log')
    axes.set(xlabel='step', ylabel=metric)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, ncol=2, bbox_to_anchor=(1.01, 1), loc='upper left')
    fig.savefig(path, dpi=110)
    plt.close(fig)
