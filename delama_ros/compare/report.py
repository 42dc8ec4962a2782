"""A finished comparison as tables beside the paper's, Markdown, CSV and a picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

mpl.use('Agg')

import matplotlib.pyplot as plt

from delama_ros.compare.graph_learners import GRIDS
from delama_ros.compare.ours import SPARSE
from delama_ros.compare.printed import GRAPH_ERRORS, PRINTED, TABLES, Table

Rows = list[dict[str, Any]]  # a method in one set-up each; lists over t

VARIANTS = {'delama_paper', 'delama_mina', 'delama'}  # stand in tables of methods and of graphs
ABOUT_GRAPHS = {*GRIDS, 'oracle', *SPARSE}

# Methods that collaborate without a server, by the row of DeLAMA that they stand against; variants
# of DeLAMA left out.
DECENTRALISED = {
    'delama': {
        'dsgd', 'dsgt', 'dfedavgm', 'dinno', 'ns', 'dsgd_naive', 'dsgt_naive', 'dinno_naive',
    },
    'delama_completed': {'dsgd_completed', 'dsgt_completed', 'dinno_completed'},
}


class Laid(NamedTuple):
    """A table ready to be printed."""

    title: str
    header: list[str]
    lines: list[list[str]]


def tables(rows: Rows, task: str) -> list[Laid]:
    """Lay rows out as the tables of the paper."""
    return [_laid(table, own, task) for table, own in _sections(rows, task)]


def _sections(rows: Rows, task: str) -> list[tuple[Table, Rows]]:
    """Return the rows of each table; one that would repeat what is there is left out."""
    sections: list[tuple[Table, Rows]] = []
    shown: set[str] = set()
    for table in TABLES[task]:
        own = rows if len(TABLES[task]) == 1 else [
            row for row in rows
            if row['method'] in VARIANTS or (row['method'] in ABOUT_GRAPHS) == table.graphs
        ]
        methods = {row['method'] for row in own}
        if not methods <= shown:
            sections.append((table, own))
            shown |= methods
    return sections


def _laid(table: Table, rows: Rows, task: str) -> Laid:
    """Lay a table out: our figures, the printed ones, and what a step costs."""
    steps = steps_of(table, rows)
    header = ['method', 'set-up', *(f't={t}' for t in steps), *(f'paper t={t}' for t in steps)]
    header += ['GMSE', 'paper GMSE'] if table.graphs else []
    lines = []
    for row in rows:
        printed = PRINTED[task].get(row['method'], {})
        line = [row['label'], row['setup']]
        errors = row['error'] if row.get('sequences') != 1 else [None] * len(row['mean'])
        line += [_figure(row['mean'][t - 1], errors[t - 1]) for t in steps]
        line += [_figure(printed[t]) if t in printed else '–' for t in steps]
        if table.graphs:
            values = row.get('graph_error')
            said = GRAPH_ERRORS[task].get(row['method'], {})
            line.append(' / '.join(f'{values[t - 1]:.2f}' for t in steps) if values else '–')
            line.append(' / '.join(f'{said[t]:.2f}' for t in steps if t in said) or '–')
        size = row['bytes'] / 1000
        lines.append([*line, f'{size:.4g}' if size < 1000 else f'{size:.0f}', str(row['rounds'])])
    return Laid(table.title, [*header, 'kB/step', 'rounds'], lines)


def steps_of(table: Table, rows: Rows) -> list[int]:
    """Return the steps of a table that were run."""
    return [t for t in table.steps if t <= len(rows[0]['mean'])]


def standard_error(values: Any) -> Any:
    """Return the standard error of the mean over the first axis; 0 where there is one value."""
    spread = np.std(values, axis=0, ddof=1) if len(values) > 1 else np.zeros(np.shape(values)[1:])
    return spread / len(values) ** 0.5


def _figure(value: float, error: float | None = None) -> str:
    size = abs(value)
    digits = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    text = f'{value:.{digits}f}'
    return text if error is None else f'{text} ± {error:.{digits}f}'


def margins(rows: Rows, task: str, metric: str) -> list[str]:
    """Say how DeLAMA stands against the best other decentralised method, where there is one.

    All methods saw the same sequences, so the error of the difference is that of its own mean.
    """
    best = min if metric == 'mse' else max
    steps = steps_of(TABLES[task][0], rows)
    lines = []
    for own in rows:
        others = [r for r in rows if r['method'] in DECENTRALISED.get(own['method'], ())]
        if not others:
            continue
        parts = []
        for t in steps:
            sound = [row for row in others if np.isfinite(row['mean'][t - 1])]
            if not sound:
                continue
            other = best(sound, key=lambda row: row['mean'][t - 1])
            ahead = np.array(own['scores'])[:, t - 1] - np.array(other['scores'])[:, t - 1]
            ahead = -ahead if metric == 'mse' else ahead
            parts.append(
                f't={t} {_figure(own["mean"][t - 1])} against {_figure(other["mean"][t - 1])} '
                f'({other["label"]}, {other["setup"]}), '
                f'{_figure(ahead.mean(), standard_error(ahead))} ahead'
            )
        lines.append(
            f'{own["label"]}, {own["setup"]}, and the best other decentralised method: '
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


def write(folder: Path, rows: Rows, task: str, metric: str, made: dict[str, Any]) -> None:
    """Write TASK.md, TASK.csv and TASK.png; made says with how much effort."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f'{title}\n\n{markdown(header, lines)}' for title, header, lines in tables(rows, task)]
    effort = ', '.join(f'{name} {value}' for name, value in made.items())
    parts.append(f'{metric} ± standard error; {effort}\n')
    (folder / f'{task}.md').write_text('\n'.join(parts))
    with (folder / f'{task}.csv').open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['method', 'setup', 't', metric, 'standard_error', 'bytes', 'rounds'])
        for row in rows:
            for t, (mean, error) in enumerate(zip(row['mean'], row['error'], strict=True), 1):
                writer.writerow([
                    row['method'], row['setup'], t, mean, error, row['bytes'], row['rounds']
                ])
    plot(folder / f'{task}.png', rows, task, metric)


def plot(path: Path, rows: Rows, task: str, metric: str) -> None:
    """Draw the metric over t for every row, a panel per table."""
    sections = _sections(rows, task)
    fig, panels = plt.subplots(
        len(sections), figsize=(10, 5.5 * len(sections)), constrained_layout=True, squeeze=False
    )
    colours = mpl.colormaps['tab20'](np.linspace(0, 1, 20))
    for axes, (table, own) in zip(panels.flat, sections, strict=True):
        for number, row in enumerate(own):
            ours = row['method'] == 'delama'
            axes.plot(
                range(1, len(row['mean']) + 1), row['mean'],
                color='black' if ours else colours[number % 20], linewidth=2.5 if ours else 1.2,
                linestyle='--' if row['setup'] == 'strong' else '-',
                label=f'{row["label"]} {row["setup"]}',
            )
        if metric == 'mse':
            axes.set_yscale('log')
        axes.set(title=table.title, xlabel='step', ylabel=metric)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=6, ncol=2, bbox_to_anchor=(1.01, 1), loc='upper left')
    fig.savefig(path, dpi=110)
    plt.close(fig)
