"""Every way of mapping that is compared (paper, 6.3), on the same run: figures at every step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
from delama_ros.mapping.runner import Step, delta_port, exact_port, run_swarm
from delama_ros.mapping.score import Score, compare, on_truth
from delama_sim.grid import Floats, OccupancyMap
from delama_sim.protocol import MappingRun

FIGURES = ('f1', 'precision', 'recall', 'coverage', 'bytes', 'ms')
SCAN_BYTES = 4  # per beam, as sensor_msgs/LaserScan has them


@dataclass(frozen=True)
class Protocol:
    """What a run is made of."""

    robots: int = 5
    steps: int = 12
    seed: int = 0
    noise: float = 0.0  # m, standard deviation of positions; headings in proportion
    links: str = 'full'  # or 'line': robot i hears i - 1 and i + 1 only
    scans: int = 1  # per step
    turn: float = 0.0  # degrees by which the building is turned in the map frame
    decoder: str = ''  # file of the network that completes maps; '': the packaged one

    @property
    def frame(self) -> tuple[float, float, float]:
        """Where the plan's origin is in the map frame."""
        return (0.0, 0.0, math.radians(self.turn))

    def scans_of(self, t: int) -> range:
        """Return the scans of a step, counted from the start of the run."""
        return range(t * self.scans, (t + 1) * self.scans)


@dataclass
class Rows:
    """Figures of one method on one plan at each step."""

    run: MappingRun
    protocol: Protocol
    values: list[list[float]] = field(default_factory=list)  # (T, FIGURES)
    # Cells claimed, claimed rightly and truly occupied in each of the zones of `Seen`, (T, 3, 3).
    zones: list[list[list[float]]] = field(default_factory=list)

    def add(self, maps: Sequence[OccupancyMap], size: float, seconds: float) -> None:
        """Take in all robots' maps after a step."""
        frame, truth = self.protocol.frame, self.run.truth
        drawn = [on_truth(occupancy, truth, frame) for occupancy in maps]
        self.add_scores([compare(claimed, known, truth) for claimed, known in drawn], size, seconds)
        if not hasattr(self, '_seen'):
            self._seen = Seen(truth)
        for k in self.protocol.scans_of(len(self.values) - 1):
            self._seen.add(self.run, k)
        row = []
        for zone in self._seen.zones().values():
            claims = [(claimed & zone).sum() for claimed, _ in drawn]
            right = [(claimed & zone & truth.occupied).sum() for claimed, _ in drawn]
            wanted = float((zone & truth.occupied).sum())
            row.append([float(np.mean(claims)), float(np.mean(right)), wanted])
        self.zones.append(row)

    def add_scores(self, scores: Sequence[Score], size: float, seconds: float) -> None:
        """Take in scores alone."""
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
    *,
    exact: bool = False,
    alone: bool = False,
    completed: bool = False,
    changes: dict[str, object] | None = None,
) -> Rows:
    """Score DeLAMA: each robot's own map, averaged over robots."""
    rows = Rows(run, protocol)

    def take(step: Step, t: int) -> None:
        maps = [drawn(mapper, protocol, completed) for mapper in step.mappers]
        rows.add(maps, float(step.bytes.mean()), step.seconds)

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
    *,
    completed: bool = False,
) -> Rows:
    """Score one learner who gets all robots' scans."""
    rows, mapper = Rows(run, protocol), make_mapper('all', checkpoint)
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
        rows.add([drawn(mapper, protocol, completed)], size, spent)
    return rows


def log_odds(
    run: MappingRun, poses: Floats, protocol: Protocol, checkpoint: Checkpoint, *, merged: bool
) -> Rows:
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
    return rows


def ceiling(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    *,
    alone: bool = False,
) -> Rows:
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
    return rows


def implicit(
    run: MappingRun,
    poses: Floats,
    protocol: Protocol,
    checkpoint: Checkpoint,
    *,
    name: str,
    replay: bool = True,
    completed: bool = False,
) -> Rows:
    """Score networks as maps, learned by decentralised optimisation; replay: of all own scans."""
    from delama_ros.compare.completed_map import CompletedMaps  # needs torch
    from delama_ros.compare.implicit_map import TUNED, learn

    if protocol.scans != 1 or protocol.turn:
        raise ValueError(
            f'{protocol.scans} scans per step, building turned by {protocol.turn:g} degrees, '
            f'expected 1 and 0 for {name}'
        )
    rows = Rows(run, protocol)
    drawing = None
    if completed:
        drawing = CompletedMaps(run, poses, checkpoint.model, decoder_of(protocol))
    for maps, size, seconds in learn(
        run, poses, links_of(protocol), TUNED[name], replay=replay, seed=protocol.seed,
        drawing=drawing,
    ):
        rows.add(maps, size, seconds)
    return rows


# Take minutes per plan: they run only when they are named.
SLOW: dict[str, Method] = {
    'dsgd': partial(implicit, name='dsgd'),
    'dsgt': partial(implicit, name='dsgt'),
    'dinno': partial(implicit, name='dinno'),
    'dsgd_naive': partial(implicit, name='dsgd', replay=False),
    'dsgt_naive': partial(implicit, name='dsgt', replay=False),
    'dinno_naive': partial(implicit, name='dinno', replay=False),
    'dsgd_completed': partial(implicit, name='dsgd', completed=True),
    'dsgt_completed': partial(implicit, name='dsgt', completed=True),
    'dinno_completed': partial(implicit, name='dinno', completed=True),
}

METHODS: dict[str, Method] = {
    'delama': swarm,
    'delama_exact': partial(swarm, exact=True),
    'wc': partial(swarm, alone=True),
    'oracle': oracle,
    'logodds': partial(log_odds, merged=False),
    'logodds_merged': partial(log_odds, merged=True),
    'ceiling': ceiling,
    'ceiling_alone': partial(ceiling, alone=True),
    'delama_completed': partial(swarm, completed=True),
    'wc_completed': partial(swarm, alone=True, completed=True),
    'oracle_completed': partial(oracle, completed=True),
    # λ3 ≫ λ2: every neighbour gets the same weight, which in one building is the true graph.
    'delama_uniform': partial(swarm, changes={'lambda3': 1e3}),
    'delama_paper_distance': partial(swarm, changes={'distance': 'paper'}),
}
