"""Mapping figures (paper, 6.3): every method on the same runs, at every step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.dataset import noisy_poses, scan_of
from delama_ros.mapping.default import make_mapper
from delama_ros.mapping.references import LogOdds, Seen
from delama_ros.mapping.runner import Step, delta_port, exact_port, run_swarm
from delama_ros.mapping.score import Score, on_truth, score
from delama_sim.grid import Floats
from delama_sim.plans import load
from delama_sim.protocol import MappingRun, mapping_run, prepare

FIGURES = ('f1', 'precision', 'recall', 'coverage', 'bytes', 'ms')
ZONES = ('seen', 'near', 'beyond')
SCAN_BYTES = 4  # per beam, as sensor_msgs/LaserScan has them


@dataclass(frozen=True)
class Protocol:
    """What a run is made of."""

    robots: int = 5
    steps: int = 12
    seed: int = 0
    noise: float = 0.0  # m, standard deviation of positions; headings in proportion
    links: str = 'full'  # or 'line': robot i hears i - 1 and i + 1 only


@dataclass
class Rows:
    """Figures of one method on one plan, (T, FIGURES)."""

    values: list[list[float]] = field(default_factory=list)

    def add(self, scores: Sequence[Score], size: float, seconds: float) -> None:
        """Take in the scores of all robots' maps after a step."""
        parts = [[s.f1, s.precision, s.recall, s.coverage] for s in scores]
        shares = [100 * value for value in np.mean(parts, 0)]
        self.values.append([*shares, size, 1000 * seconds])


Method = Callable[[MappingRun, Floats, Protocol, Checkpoint], Rows]


def links_of(protocol: Protocol) -> npt.NDArray[np.bool_]:
    """Return who hears whom, (N, N)."""
    number = np.arange(protocol.robots)
    reach = {'full': protocol.robots, 'line': 1}
    if protocol.links not in reach:
        raise ValueError(f'links are {protocol.links!r}, expected full or line')
    hears: npt.NDArray[np.bool_] = np.abs(number[:, None] - number) <= reach[protocol.links]
    return hears


def swarm(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    *,
    exact: bool = False,
    alone: bool = False,
    changes: dict[str, object] | None = None,
) -> Rows:
    """Score DeLAMA: each robot's own map, averaged over robots."""
    rows = Rows()

    def take(step: Step, t: int) -> None:
        scores = [score(mapper.occupancy(), run.truth) for mapper in step.mappers]
        rows.add(scores, float(step.bytes.mean()), step.seconds)

    hears = np.eye(protocol.robots, dtype=np.bool_) if alone else links_of(protocol)
    port = exact_port if exact else delta_port
    run_swarm(
        run, checkpoint, poses=poses, links=hears, port=port, take=take, **(changes or {})
    )
    return rows


def completion(
    run: MappingRun, poses: Floats, protocol: Protocol, checkpoint: Checkpoint
) -> dict[str, list[list[float]]]:
    """Count, by distance from what the team has seen, what DeLAMA claims: zone → (T, 3).

    The three are cells claimed, claimed rightly and truly occupied, means over robots.
    """
    seen = Seen(run.truth)
    out: dict[str, list[list[float]]] = {name: [] for name in ZONES}

    def take(step: Step, t: int) -> None:
        seen.add(run, t)
        claims = [on_truth(mapper.occupancy(), run.truth)[0] for mapper in step.mappers]
        for name, zone in seen.zones().items():
            claimed = float(np.mean([(claim & zone).sum() for claim in claims]))
            correct = [(claim & zone & run.truth.occupied).sum() for claim in claims]
            wanted = float((zone & run.truth.occupied).sum())
            out[name].append([claimed, float(np.mean(correct)), wanted])

    run_swarm(run, checkpoint, poses=poses, links=links_of(protocol), take=take)
    return out


def oracle(run: MappingRun, poses: Floats, protocol: Protocol, checkpoint: Checkpoint) -> Rows:
    """Score one learner who gets all robots' scans."""
    rows, mapper = Rows(), make_mapper('all', checkpoint)
    for t in range(protocol.steps):
        began = time.perf_counter()
        for i in range(protocol.robots):
            x, y, yaw = poses[t, i].tolist()
            mapper.add_scan(scan_of(run, t, i), (x, y, yaw))
        mapper.begin(t + 1, [])
        mapper.agent.advance()
        spent = time.perf_counter() - began
        size = SCAN_BYTES * run.ranges.shape[-1]
        rows.add([score(mapper.occupancy(), run.truth)], size, spent)
    return rows


def log_odds(
    run: MappingRun, poses: Floats, protocol: Protocol, checkpoint: Checkpoint, *, merged: bool
) -> Rows:
    """Score log-odds grids, each robot's own or one of all raw scans."""
    rows = Rows()
    grids = [LogOdds() for _ in range(1 if merged else protocol.robots)]
    for t in range(protocol.steps):
        began = time.perf_counter()
        for i in range(protocol.robots):
            grids[0 if merged else i].add(run, poses, t, i)
        spent = (time.perf_counter() - began) / protocol.robots
        size = SCAN_BYTES * run.ranges.shape[-1] if merged else 0
        rows.add([score(grid.occupancy(), run.truth) for grid in grids], size, spent)
    return rows


def ceiling(run: MappingRun, poses: Floats, protocol: Protocol, checkpoint: Checkpoint) -> Rows:
    """Score a perfect map of all surfaces that anybody has seen."""
    rows, seen = Rows(), Seen(run.truth)
    for t in range(protocol.steps):
        seen.add(run, t)
        rows.add([seen.ceiling()], 0.0, 0.0)
    return rows


def implicit(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    *,
    name: str,
    replay: bool = True,
) -> Rows:
    """Score networks as maps, learned by decentralised optimisation; replay: of all own scans."""
    from delama_ros.compare.implicit_map import TUNED, learn  # needs torch

    rows = Rows()
    hears = links_of(protocol)
    for maps, size, seconds in learn(
        run, poses, hears, TUNED[name], replay=replay, seed=protocol.seed
    ):
        rows.add([score(own, run.truth) for own in maps], size, seconds)
    return rows


# Take minutes per plan: they run only when they are named.
SLOW: dict[str, Method] = {
    'dsgd': partial(implicit, name='dsgd'),
    'dsgt': partial(implicit, name='dsgt'),
    'dinno': partial(implicit, name='dinno'),
    'dsgd_naive': partial(implicit, name='dsgd', replay=False),
    'dsgt_naive': partial(implicit, name='dsgt', replay=False),
    'dinno_naive': partial(implicit, name='dinno', replay=False),
}

METHODS: dict[str, Method] = {
    'delama': swarm,
    'delama_exact': partial(swarm, exact=True),
    'wc': partial(swarm, alone=True),
    'oracle': oracle,
    'logodds': partial(log_odds, merged=False),
    'logodds_merged': partial(log_odds, merged=True),
    'ceiling': ceiling,
    # λ3 ≫ λ2: every neighbour gets the same weight, which in one building is the true graph.
    'delama_uniform': partial(swarm, changes={'lambda3': 1e3}),
    'delama_paper_distance': partial(swarm, changes={'distance': 'paper'}),
}


def on_plan(
    spec: str, *, protocol: Protocol, checkpoint: Checkpoint, methods: Sequence[str]
) -> tuple[dict[str, list[list[float]]], dict[str, list[list[float]]]]:
    """Run all methods on one plan; figures by method, and counts by zone for DeLAMA."""
    run = mapping_run(
        prepare(load(spec), protocol.seed),
        protocol.seed,
        robots=protocol.robots,
        steps=protocol.steps,
    )
    poses = noisy_poses(run, protocol.noise, protocol.seed)
    every = METHODS | SLOW
    figures = {name: every[name](run, poses, protocol, checkpoint).values for name in methods}
    zones = completion(run, poses, protocol, checkpoint) if 'delama' in methods else {}
    return figures, zones


def evaluate(
    specs: Sequence[str],
    protocol: Protocol,
    checkpoint: Checkpoint,
    methods: Sequence[str],
    *,
    jobs: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run all methods on all plans; mean and standard error over plans, lists over t."""
    work = partial(on_plan, protocol=protocol, checkpoint=checkpoint, methods=methods)
    results = []
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        for number, result in enumerate((pool.map if pool else map)(work, specs), 1):
            results.append(result)
            say(f'{number} of {len(specs)} plans')
    return {
        'protocol': vars(protocol),
        'plans': len(specs),
        'methods': {name: summary([figures[name] for figures, _ in results]) for name in methods},
        'zones': {
            name: _shares([zones[name] for _, zones in results])
            for name in ZONES
            if 'delama' in methods
        },
    }


def summary(rows: list[list[list[float]]]) -> dict[str, list[float]]:
    """Return mean figures over plans and the standard error of F1, as lists over t."""
    values = np.array(rows)  # (plans, T, FIGURES)
    mean = values.mean(0)
    spread = values.std(0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
    out = {name: np.round(mean[:, k], 3).tolist() for k, name in enumerate(FIGURES)}
    out['f1_se'] = np.round(spread[:, 0] / np.sqrt(len(values)), 3).tolist()
    return out


def _shares(counts: list[list[list[float]]]) -> dict[str, list[float]]:
    """Precision and recall of all plans' cells together, and the share of surfaces, over t."""
    claimed, right, wanted = np.array(counts).sum(0).T  # (T,) each
    return {
        'precision': np.round(100 * right / np.maximum(claimed, 1.0), 3).tolist(),
        'recall': np.round(100 * right / np.maximum(wanted, 1.0), 3).tolist(),
        'cells': np.round(wanted / len(counts), 1).tolist(),
        'claimed': np.round(claimed / len(counts), 1).tolist(),
    }
