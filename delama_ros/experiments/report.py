"""Figures of an evaluation as tables beside the paper's, JSON, Markdown, CSV and a picture."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from delama_ros.experiments.printed import GRAPH_ERRORS, PRINTED, TABLES, Table
from delama_ros.experiments.runs_as import RunsAs

# Variants stand in the tables of methods and of graphs.
VARIANTS = {'paper', 'row', 'bayes'}
GRAPH_ROWS = ('ns', 'glasso', 'mtrl', 'gl_logdet', 'l2g_pds', 'oracle', 'bayes_')

# Methods that collaborate without a server, by the row of ours that they are compared with.
DECENTRALISED = {
    'bayes': {'dsgd', 'dsgt', 'dfedavgm', 'dinno', 'ns'},
    'fusion': {'dsgd', 'dsgt', 'dinno', 'dsgd_naive', 'dsgt_naive', 'dinno_naive'},
    'fusion_completed': {'dsgd_completed', 'dsgt_completed', 'dinno_completed'},
}


@dataclass(frozen=True)
class Row:
    """One method under one condition."""

    method: str
    runs_as: RunsAs
    figures: dict[str, Any]  # metric → list over t, and what else there is to know
    setup: str = ''  # of gradient methods
    scores: list[list[float]] = field(default_factory=list)  # (sequences or plans, T)

    @property
    def name(self) -> str:
        """The name in JSON."""
        return f'{self.method}_strong' if self.setup == 'strong' else self.method


@dataclass(frozen=True)
class Report:
    """All rows of a task, and what they were computed from."""

    task: str
    metric: str
    rows: list[Row]
    about: dict[str, Any]  # JSON values, such as seeds and sizes
    over: str = ''  # what the standard error is over, such as '3 seeds'

    @property
    def steps(self) -> int:
        """How many steps the rows have."""
        return len(self.rows[0].figures[self.metric])

    def as_json(self) -> dict[str, Any]:
        """Return methods → NAME → metric → list over t, with what they were computed from."""
        methods = {row.name: {**row.figures, 'runs_as': row.runs_as} for row in self.rows}
        return {'task': self.task, 'metric': self.metric, **self.about, 'methods': methods}


class Laid(NamedTuple):
    """A table ready to be printed."""

    title: str
    header: list[str]
    lines: list[list[str]]


def tables(report: Report) -> list[Laid]:
    """Lay out rows, as the tables of the paper where it has some."""
    return [_laid(report, table, rows) for table, rows in _sections(report)]


def _sections(report: Report) -> list[tuple[Table, list[Row]]]:
    """Return the rows of each table; one that would repeat what is there is left out."""
    middle = (report.steps + 1) // 2
    own = Table(report.task, sorted({1, middle, report.steps}))
    named = TABLES.get(report.task, [own])
    sections: list[tuple[Table, list[Row]]] = []
    shown: set[str] = set()
    for table in named:
        if not [t for t in table.steps if t <= report.steps][1:]:
            table = Table(table.title, own.steps, table.graphs)
        rows = report.rows if len(named) == 1 else [
            row for row in report.rows
            if row.method in VARIANTS or row.method.startswith(GRAPH_ROWS) == table.graphs
        ]
        if not {row.name for row in rows} <= shown:
            sections.append((table, rows))
            shown |= {row.name for row in rows}
    if len(sections) == 2 and not any(row.method in GRAPH_ROWS[:5] for row in report.rows):
        return [(sections[0][0], report.rows)]  # too few for two tables
    return sections


def _laid(report: Report, table: Table, rows: Sequence[Row]) -> Laid:
    steps = [t for t in table.steps if t <= report.steps]
    columns: dict[str, list[str]] = {
        'method': [row.method for row in rows], 'runs as': [row.runs_as for row in rows],
    }
    if any(row.setup for row in rows):
        columns['set-up'] = [row.setup or '–' for row in rows]
    for t in steps:
        columns[f'{report.metric} t={t}'] = [_at(report, row, t) for row in rows]
    printed = PRINTED.get(report.task, {})
    columns['paper'] = [_joined(printed.get(row.method, {}), steps, report.metric) for row in rows]
    if any('gmse' in row.figures for row in rows):
        columns['GMSE'] = [_graph_error(row, steps, table.graphs) for row in rows]
        errors = GRAPH_ERRORS.get(report.task, {})
        columns['paper GMSE'] = [_joined(errors.get(row.method, {}), steps, 'gmse') for row in rows]
    for key in ('precision', 'recall', 'coverage'):
        if any(key in row.figures for row in rows):
            columns[key] = [f'{row.figures[key][-1]:.1f}' for row in rows]
    columns |= _costs(rows)
    kept = {name: cells for name, cells in columns.items() if set(cells) != {'–'}}
    return Laid(table.title, list(kept), [list(line) for line in zip(*kept.values(), strict=True)])


def _costs(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return what methods send, and how long they compute."""
    columns = {}
    sent = [row.figures['bytes'] for row in rows]
    if isinstance(sent[0], list):
        columns['bytes'] = [f'{np.mean(sizes):.0f}' for sizes in sent]
        columns['bytes at the end'] = [f'{sizes[-1]:.0f}' for sizes in sent]
    else:
        columns['kB/step'] = [_kilobytes(size) for size in sent]
        columns['rounds'] = [str(row.figures['rounds']) for row in rows]
    if all('ms' in row.figures for row in rows):
        times = [sorted(row.figures['ms']) for row in rows]
        columns['ms'] = [f'{ms[len(ms) // 2]:.1f}' for ms in times]
    return columns


def _at(report: Report, row: Row, t: int) -> str:
    value, error = (row.figures[key][t - 1] for key in (report.metric, f'{report.metric}_se'))
    single = row.figures.get('sequences') == 1  # has no error
    return _figure(value, report.metric, None if single else error)


def _joined(printed: dict[int, float], steps: Sequence[int], metric: str) -> str:
    """Return printed figures as one cell, a dash where the paper prints none."""
    found = [_figure(printed[t], metric) if t in printed else '–' for t in steps]
    return ' / '.join(found) if set(found) != {'–'} else '–'


def _graph_error(row: Row, steps: Sequence[int], all_links: bool) -> str:
    key = 'gmse_all_links' if all_links else 'gmse'
    values = row.figures.get(key)
    return _joined({t: values[t - 1] for t in steps}, steps, 'gmse') if values else '–'


def _kilobytes(size: float) -> str:
    size /= 1000
    return f'{size:.4g}' if size < 1000 else f'{size:.0f}'


def _figure(value: float, metric: str, error: float | None = None) -> str:
    size = abs(value)
    adaptive = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    digits = {'accuracy': 2, 'f1': 1, 'gmse': 3}.get(metric, adaptive)
    text = f'{value:.{digits}f}'
    return text if error is None else f'{text} ± {error:.{digits}f}'


def standard_error(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the standard error of the mean over the first axis; 0 where there is one value."""
    count = (~np.isnan(values)).sum(0)
    mean = np.nansum(values, 0) / np.maximum(count, 1)
    spread = np.nansum((values - mean) ** 2, 0) / np.maximum(count - 1, 1)
    error: npt.NDArray[np.float64] = np.sqrt(spread / np.maximum(count, 1))
    return error


def margins(report: Report) -> list[str]:
    """Compare our rows with the best other decentralised method, where there is one.

    All methods saw the same sequences, so the error of the difference is that of its own mean.
    """
    lower = report.metric == 'mse'
    lines = []
    for own in report.rows:
        others = [r for r in report.rows if r.method in DECENTRALISED.get(own.method, ())]
        if not others:
            continue
        parts = []
        for t in TABLES[report.task][0].steps if report.task in TABLES else (report.steps,):
            sound = [
                row for row in others
                if t <= report.steps and np.isfinite(row.figures[report.metric][t - 1])
            ]
            if not sound:
                continue
            best = (min if lower else max)(sound, key=lambda r: r.figures[report.metric][t - 1])
            ahead = np.array(own.scores)[:, t - 1] - np.array(best.scores)[:, t - 1]
            ahead = -ahead if lower else ahead
            error = float(standard_error(ahead))
            parts.append(f't={t} {_figure(float(ahead.mean()), "", error)} ahead of {best.name}')
        if parts:
            lines.append(f'{own.name} and the best other decentralised method: ' + '; '.join(parts))
    return lines


def ratios(report: Report) -> list[str]:
    """Return the error of `bayes` in shares of those of `oracle` and `alone`."""
    errors = {row.method: row.figures['mse'] for row in report.rows if 'mse' in row.figures}
    lines = []
    for other in ('oracle', 'alone') if 'bayes' in errors else ():
        if other in errors:
            shown = sorted({1, (report.steps + 1) // 2, report.steps})
            shares = [f'{errors["bayes"][t - 1] / errors[other][t - 1]:.2f}' for t in shown]
            lines.append(f'bayes relative to {other}: {" / ".join(shares)}')
    return lines


def write(report: Report, folder: Path) -> None:
    """Write TASK.md, TASK.csv and, with matplotlib, TASK.png."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f'{title}\n\n{markdown(header, lines)}' for title, header, lines in tables(report)]
    effort = ', '.join(f'{k} {v}' for k, v in report.about.items() if not isinstance(v, dict))
    parts.append(f'{report.metric} ± standard error over {report.over}; {effort}\n')
    (folder / f'{report.task}.md').write_text('\n'.join(parts))
    with (folder / f'{report.task}.csv').open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['method', 'setup', 't', report.metric, 'standard_error'])
        for row in report.rows:
            means, errors = row.figures[report.metric], row.figures[f'{report.metric}_se']
            for t, (mean, error) in enumerate(zip(means, errors, strict=True), 1):
                writer.writerow([row.method, row.setup, t, mean, error])
    if importlib.util.find_spec('matplotlib') is not None:
        plot(report, folder / f'{report.task}.png')


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rule = ['---'] * len(header)
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in [header, rule, *lines]) + '\n'


def plot(report: Report, path: Path) -> None:
    """Draw the metric over t for every row, a panel per table, and over bytes where these vary."""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    sections = _sections(report)
    by_bytes = isinstance(report.rows[0].figures.get('bytes'), list)
    fig, panels = plt.subplots(
        len(sections) + by_bytes, figsize=(10, 5.5 * (len(sections) + by_bytes)),
        constrained_layout=True, squeeze=False,
    )
    colours = mpl.colormaps['tab20'](np.linspace(0, 1, 20))
    for axes, (table, rows) in zip(panels.flat, sections, strict=False):
        for number, row in enumerate(rows):
            ours = row.method in DECENTRALISED
            values, error = row.figures[report.metric], row.figures[f'{report.metric}_se']
            axes.errorbar(
                range(1, len(values) + 1), values, error, capsize=2,
                color='black' if ours else colours[number % 20], linewidth=2.5 if ours else 1.2,
                linestyle='--' if row.setup == 'strong' else '-', label=row.name,
            )
        if report.metric == 'mse':
            axes.set_yscale('log')
        axes.set(title=table.title, xlabel='step', ylabel=report.metric)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=6, ncol=2, bbox_to_anchor=(1.01, 1), loc='upper left')
    for number, row in enumerate(report.rows if by_bytes else ()):
        sent = np.cumsum(row.figures['bytes']) / 1000
        if sent[-1] > 0:
            axes = panels.flat[-1]
            colour = 'black' if row.method in DECENTRALISED else colours[number % 20]
            axes.plot(sent, row.figures[report.metric], '.-', color=colour, label=row.name)
            axes.legend(fontsize=6, ncol=2, bbox_to_anchor=(1.01, 1), loc='upper left')
            axes.set(xlabel='kB sent per robot so far', ylabel=report.metric, xscale='log')
            axes.grid(alpha=0.3)
    fig.savefig(path, dpi=110)
    plt.close(fig)
