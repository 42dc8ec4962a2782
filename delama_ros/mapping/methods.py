"""Every way of mapping that is compared (paper, 6.3), on the same run: figures at every step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from delama_ros.mapping import completion
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.dataset import scan_of
from delama_ros.mapping.default import make_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.references import LogOdds, Seen
from delama_ros.mapping.rows import Protocol, Rows
from delama_ros.mapping.runner import Step, delta_port, exact_port, run_swarm
from delama_sim.grid import Floats, OccupancyMap
from delama_sim.protocol import MappingRun

SCAN_BYTES = 4  # per beam, as sensor_msgs/LaserScan has them

# Maps one run; gives figures of its maps or, where True is asked for, of its completed maps.
Method = Callable[[MappingRun, Floats, Protocol, Checkpoint, Sequence[bool]], list[Rows]]

COMPLETED = '_completed'  # what the names of completed maps end with


def links_of(protocol: Protocol) -> npt.NDArray[np.bool_]:
    """Return who hears whom, (N, N)."""
    number = np.arange(protocol.robots)
    reach = {'full': protocol.robots, 'line': 1}
    if protocol.links not in reach:
        raise ValueError(f'links are {protocol.links!r}, expected full or line')
    hears: npt.NDArray[np.bool_] = np.abs(number[:, None] - number) <= reach[protocol.links]
    return hears


def decoder_of(protocol: Protocol) -> completion.Decoder:
    """Return the network that completes maps."""
    return completion.packaged(Path(protocol.decoder or completion.PACKAGED))


def drawn(mapper: Mapper, protocol: Protocol, completed: bool) -> OccupancyMap:
    """Return a robot's map, or its completed one."""
    return mapper.completed(decoder_of(protocol)) if completed else mapper.occupancy()


def swarm(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    heads: Sequence[bool],
    *,
    exact: bool = False,
    alone: bool = False,
    changes: dict[str, object] | None = None,
) -> list[Rows]:
    """Score DeLAMA: each robot's own map, averaged over robots."""
    rows = [Rows(run, protocol) for _ in heads]

    def take(step: Step, t: int) -> None:
        for own, completed in zip(rows, heads, strict=True):
            maps = [drawn(mapper, protocol, completed) for mapper in step.mappers]
            own.add(maps, float(step.bytes.mean()), step.seconds)

    run_swarm(
        run,
        checkpoint,
        poses=poses,
        links=np.eye(protocol.robots, dtype=np.bool_) if alone else links_of(protocol),
        scans=protocol.scans,
        port=exact_port if exact else delta_port,
        take=take,
        **(changes or {}),
    )
    return rows


def oracle(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    heads: Sequence[bool],
) -> list[Rows]:
    """Score one learner who gets all robots' scans."""
    rows, mapper = [Rows(run, protocol) for _ in heads], make_mapper('all', checkpoint)
    for t in range(protocol.steps):
        began = time.process_time()
        for k in protocol.scans_of(t):
            for i in range(protocol.robots):
                x, y, yaw = poses[k, i].tolist()
                mapper.add_scan(scan_of(run, k, i), (x, y, yaw))
        mapper.begin(t + 1, [])
        mapper.agent.advance()
        spent = time.process_time() - began
        size = SCAN_BYTES * run.ranges.shape[-1] * protocol.scans
        for own, completed in zip(rows, heads, strict=True):
            own.add([drawn(mapper, protocol, completed)], size, spent)
    return rows


def log_odds(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    heads: Sequence[bool],
    *,
    merged: bool,
) -> list[Rows]:
    """Score log-odds grids, each robot's own or one of all raw scans."""
    rows = Rows(run, protocol)
    grids = [LogOdds() for _ in range(1 if merged else protocol.robots)]
    for t in range(protocol.steps):
        began = time.process_time()
        for k in protocol.scans_of(t):
            for i in range(protocol.robots):
                grids[0 if merged else i].add(run, poses, k, i)
        spent = (time.process_time() - began) / protocol.robots
        size = SCAN_BYTES * run.ranges.shape[-1] * protocol.scans if merged else 0
        rows.add([grid.occupancy() for grid in grids], size, spent)
    return [rows]


def ceiling(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    heads: Sequence[bool],
    *,
    alone: bool = False,
) -> list[Rows]:
    """Score perfect maps of all surfaces that anybody has seen, or each robot by itself."""
    rows, everybody = Rows(run, protocol), range(protocol.robots)
    teams = [(Seen(run.truth), [i]) for i in everybody] if alone else [
        (Seen(run.truth), list(everybody))
    ]
    for t in range(protocol.steps):
        for k in protocol.scans_of(t):
            for seen, team in teams:
                seen.add(run, k, team)
        rows.add_scores([seen.ceiling() for seen, _ in teams], 0.0, 0.0)
    return [rows]


def implicit(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    heads: Sequence[bool],
    *,
    name: str,
    replay: bool = True,
) -> list[Rows]:
    """Score networks as maps, learned by decentralised optimisation; replay: of all own scans."""
    from delama_ros.compare.completed_map import CompletedMaps  # needs torch
    from delama_ros.compare.implicit_map import TUNED, draw_maps, learn

    if protocol.scans != 1 or protocol.turn:
        raise ValueError(
            f'{protocol.scans} scans per step, building turned by {protocol.turn:g} degrees, '
            f'expected 1 and 0 for {name}'
        )
    rows = [Rows(run, protocol) for _ in heads]
    drawings = [
        CompletedMaps(run, poses, checkpoint.model, decoder_of(protocol)) if completed
        else partial(draw_maps, truth=run.truth) for completed in heads
    ]
    for step in learn(
        run, poses, links_of(protocol), TUNED[name], replay=replay, seed=protocol.seed
    ):
        for own, drawing in zip(rows, drawings, strict=True):
            own.add(drawing(step), step.bytes, step.seconds)
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

QUICK: dict[str, Method] = {
    'delama': swarm,
    'delama_exact': partial(swarm, exact=True),
    'wc': partial(swarm, alone=True),
    'oracle': oracle,
    'logodds': partial(log_odds, merged=False),
    'logodds_merged': partial(log_odds, merged=True),
    'ceiling': ceiling,
    'ceiling_alone': partial(ceiling, alone=True),
    # λ3 ≫ λ2: every neighbour gets the same weight, which in one building is the true graph.
    'delama_uniform': partial(swarm, changes={'lambda3': 1e3}),
    'delama_paper_distance': partial(swarm, changes={'distance': 'paper'}),
}

# What can be asked for: all of these by default, and the slow ones.
DEFAULT = [*QUICK, *(name + COMPLETED for name in ('delama', 'wc', 'oracle'))]
NAMES = [*DEFAULT, *SLOW, *(name + COMPLETED for name in ('dsgd', 'dsgt', 'dinno'))]


def needs_torch(name: str) -> bool:
    """Whether a method learns by gradients."""
    return name.removesuffix(COMPLETED) in SLOW


def run_methods(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    names: Sequence[str],
) -> dict[str, Rows]:
    """Run methods on one run; maps and completed maps come from the same learning."""
    asked: dict[str, list[str]] = {}
    for name in names:
        asked.setdefault(name.removesuffix(COMPLETED), []).append(name)
    found: dict[str, Rows] = {}
    for base, of_base in asked.items():
        heads = [name.endswith(COMPLETED) for name in of_base]
        rows = (QUICK | SLOW)[base](run, poses, protocol, checkpoint, heads)
        found.update(zip(of_base, rows, strict=True))
    return {name: found[name] for name in names}
