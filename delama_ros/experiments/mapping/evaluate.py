"""Evaluation of mapping: every method on every plan, one cell each, means over plans."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.experiments.mapping.dataset import in_frame, noisy_poses
from delama_ros.experiments.mapping.methods import base_of, run_methods, runs_as
from delama_ros.experiments.mapping.references import ZONES
from delama_ros.experiments.mapping.rows import FIGURES, Protocol, Rows
from delama_ros.experiments.report import Report, Row
from delama_ros.experiments.runner import Cell, Figures, Runner
from delama_ros.experiments.runs_as import RunsAs
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.completion import PACKAGED
from delama_sim.plans import load
from delama_sim.protocol import SPACING, MappingRun, mapping_run, prepare


def evaluate(
    specs: Sequence[str], protocol: Protocol, checkpoint: Checkpoint, methods: Sequence[str],
    runner: Runner, seeds: Sequence[int] = (),
) -> Report:
    """Run all methods on all plans.

    Args:
        specs: Plans.
        protocol: What a run is made of.
        checkpoint: The tile model of all robots.
        methods: Names; maps and completed maps of a method come from the same learning.
        runner: Computes a cell per plan, method and seed.
        seeds: Of the runs; none: that of the protocol.

    Returns:
        Mean and standard error over plans, as lists over t.

    """
    heads: dict[str, list[str]] = {}
    for name in methods:
        heads.setdefault(base_of(name), []).append(name)
    compute = partial(_on_plan, checkpoint=checkpoint)
    cells = {
        base: [
            plan_cell(base, [spec], replace(protocol, seed=seed), checkpoint, heads=names)
            for spec in specs for seed in seeds or [protocol.seed]
        ]
        for base, names in heads.items()
    }
    # Plan by plan, so that a run is simulated once for all its methods.
    in_order = [cell for group in zip(*cells.values(), strict=True) for cell in group]
    results = runner.run(in_order, compute)
    rows = []
    for name in methods:
        found = [results[cell][name] for cell in cells[base_of(name)]]
        rows.append(row_of(name, runs_as(name), found))
    return report_of('mapping', rows, protocol, len(specs), len(seeds) or 1)


def plan_cell(
    method: str, specs: Sequence[str], protocol: Protocol, checkpoint: Checkpoint,
    task: str = 'mapping', **condition: Any,
) -> Cell:
    """Return the cell of a method on one plan, or on a pair of them."""
    decoder = Path(protocol.decoder or PACKAGED).read_bytes()
    return Cell.make(
        task, method, protocol.seed, plans=list(specs), contents=[_contents(s) for s in specs],
        protocol=asdict(protocol), model=f'{checkpoint.fingerprint:016x}',
        decoder=zlib.crc32(decoder), **condition,
    )


def _contents(spec: str) -> int:
    """Return a checksum of the files of a plan; a generated plan has none."""
    path = Path(spec)
    files = sorted(path.parent.glob(f'{path.stem}.*')) if path.is_file() else []
    return zlib.crc32(b''.join(file.read_bytes() for file in files))


def _on_plan(cell: Cell, checkpoint: Checkpoint) -> Figures:
    """Run one method on one plan."""
    protocol = Protocol(**cell['protocol'])
    run = _run_on(cell['plans'][0], protocol)
    poses = in_frame(noisy_poses(run, protocol.noise, protocol.seed), protocol.frame)
    found = run_methods(run, poses, protocol, checkpoint, cell['heads'])
    return {name: figures_of(rows) for name, rows in found.items()}


@lru_cache(maxsize=1)
def _run_on(spec: str, protocol: Protocol) -> MappingRun:
    return mapping_run(
        prepare(load(spec), protocol.seed),
        protocol.seed,
        robots=protocol.robots,
        steps=protocol.steps * protocol.scans,
        spacing=SPACING / protocol.scans,
    )


def figures_of(rows: Rows) -> Figures:
    """Return the figures of one method on one plan as JSON values."""
    return {'values': rows.values, 'zones': rows.zones}


def row_of(name: str, kind: RunsAs, found: Sequence[Figures]) -> Row:
    """Join the plans of a method."""
    values, zones = ([figures[key] for figures in found] for key in ('values', 'zones'))
    scores = [[at_t[0] for at_t in plan] for plan in values]
    return Row(name, kind, summary(values, zones), scores=scores)


def report_of(
    task: str, rows: list[Row], protocol: Protocol, plans: int, seeds: int = 1
) -> Report:
    """Return the report of rows over plans."""
    about = {'protocol': asdict(protocol), 'plans': plans}
    over = f'{plans} plan{"" if plans == 1 else "s"}'
    if seeds > 1:
        over = f'{seeds * plans} runs on {over}'
    return Report(task, 'f1', rows, about, over)


def summary(
    results: Sequence[list[list[float]]], zones: Sequence[list[list[list[float]]]] = ()
) -> dict[str, list[float]]:
    """Return mean figures over plans and the standard error of F1, as lists over t.

    Precision and recall by zone are those of all plans' cells together.
    """
    values = np.array(results)  # (plans, T, FIGURES)
    mean = values.mean(0)
    spread = values.std(0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
    out = {name: _rounded(mean[:, k]) for k, name in enumerate(FIGURES)}
    out['f1_se'] = _rounded(spread[:, 0] / np.sqrt(len(values)))
    counts = np.array(zones)  # (plans, T, zones, 3), or nothing
    for k, zone in enumerate(ZONES if counts.size else ()):
        claimed, right, wanted = counts[:, :, k].sum(0).T  # (T,) each
        out[f'precision_{zone}'] = _rounded(100 * right / np.maximum(claimed, 1.0))
        out[f'recall_{zone}'] = _rounded(100 * right / np.maximum(wanted, 1.0))
        out[f'cells_{zone}'] = _rounded(wanted / len(results))
    return out


def _rounded(values: Any) -> list[float]:
    numbers: list[float] = np.round(values, 3).tolist()
    return numbers


def on_plans(
    work: Callable[..., Figures], cells: Sequence[Cell], checkpoint: Checkpoint, runner: Runner
) -> list[Figures]:
    """Compute cells in their order."""
    results = runner.run(cells, partial(work, checkpoint=checkpoint))
    return [results[cell] for cell in cells]
