"""Every mapping method that is compared (paper, 6.3), on the same run: figures at every step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.experiments.mapping.references import LogOdds, Seen
from delama_ros.experiments.mapping.rows import Protocol, Rows
from delama_ros.experiments.mapping.runner import Step, delta_port, exact_port, run_swarm
from delama_ros.experiments.runs_as import RunsAs
from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_ros.mapping import completion
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.default import make_mapper
from delama_ros.mapping.mapper import Mapper
from delama_sim.protocol import MappingRun

SCAN_BYTES = 4  # per beam, as sensor_msgs/LaserScan has them

COMPLETED = '_completed'  # what the names of completed maps end with


@dataclass(frozen=True, eq=False)
class Trial:
    """One run to map, and the maps to score: those learned or, where True, completed ones."""

    run: MappingRun
    poses: Floats  # (T, N, 3), estimated by the robots
    protocol: Protocol
    checkpoint: Checkpoint
    heads: Sequence[bool]

    def rows(self) -> list[Rows]:
        """Return where the figures of each head go."""
        return [Rows(self.run, self.protocol) for _ in self.heads]

    def links(self) -> npt.NDArray[np.bool_]:
        """Return who receives whom, (N, N)."""
        number = np.arange(self.protocol.robots)
        reach = {'full': self.protocol.robots, 'line': 1}
        if self.protocol.links not in reach:
            raise ValueError(f'links are {self.protocol.links!r}, expected full or line')
        links: npt.NDArray[np.bool_] = np.abs(number[:, None] - number) <= reach[
            self.protocol.links
        ]
        return links

    def decoder(self) -> completion.Decoder:
        """Return the network that completes maps."""
        return completion.packaged(Path(self.protocol.decoder or completion.PACKAGED))

    def drawn(self, mapper: Mapper, completed: bool) -> OccupancyMap:
        """Return a robot's map, or its completed one."""
        return mapper.completed(self.decoder()) if completed else mapper.occupancy()

    def raw_bytes(self) -> int:
        """Return the bytes of a robot's raw scans of a step."""
        return SCAN_BYTES * int(self.run.ranges.shape[-1]) * self.protocol.scans


Method = Callable[[Trial], list[Rows]]


def swarm(
    trial: Trial, *, exact: bool = False, alone: bool = False,
    changes: dict[str, object] | None = None,
) -> list[Rows]:
    """Score a swarm of agents: each robot's own map, averaged over robots."""
    rows = trial.rows()

    def take(step: Step, t: int) -> None:
        for own, completed in zip(rows, trial.heads, strict=True):
            maps = [trial.drawn(mapper, completed) for mapper in step.mappers]
            own.add(maps, float(step.bytes.mean()), step.seconds)

    run_swarm(
        trial.run,
        trial.checkpoint,
        poses=trial.poses,
        links=np.eye(trial.protocol.robots, dtype=np.bool_) if alone else trial.links(),
        scans=trial.protocol.scans,
        port=exact_port if exact else delta_port,
        take=take,
        **(changes or {}),
    )
    return rows


def centralised(trial: Trial) -> list[Rows]:
    """Score one learner that gets all robots' scans."""
    rows, mapper = trial.rows(), make_mapper('all', trial.checkpoint)
    for t in range(trial.protocol.steps):
        began = time.process_time()
        for k in trial.protocol.scans_of(t):
            for i in range(trial.protocol.robots):
                x, y, yaw = trial.poses[k, i].tolist()
                mapper.add_scan(scan_of(trial.run, k, i), (x, y, yaw))
        mapper.begin(t + 1, [])
        mapper.agent.advance()
        spent = time.process_time() - began
        for own, completed in zip(rows, trial.heads, strict=True):
            own.add([trial.drawn(mapper, completed)], trial.raw_bytes(), spent)
    return rows


def log_odds(trial: Trial, *, merged: bool) -> list[Rows]:
    """Score log-odds grids, each robot's own or one of all raw scans."""
    rows, robots = Rows(trial.run, trial.protocol), trial.protocol.robots
    grids = [LogOdds() for _ in range(1 if merged else robots)]
    for t in range(trial.protocol.steps):
        began = time.process_time()
        for k in trial.protocol.scans_of(t):
            for i in range(robots):
                grids[0 if merged else i].add(trial.run, trial.poses, k, i)
        spent = (time.process_time() - began) / robots
        rows.add([grid.occupancy() for grid in grids], trial.raw_bytes() if merged else 0, spent)
    return [rows]


def ceiling(trial: Trial, *, alone: bool = False) -> list[Rows]:
    """Score perfect maps of all surfaces that any robot has seen, or each robot by itself."""
    rows, everybody = Rows(trial.run, trial.protocol), list(range(trial.protocol.robots))
    teams = [[robot] for robot in everybody] if alone else [everybody]
    seen = [Seen(trial.run.truth) for _ in teams]
    for t in range(trial.protocol.steps):
        for k in trial.protocol.scans_of(t):
            for own, team in zip(seen, teams, strict=True):
                own.add(trial.run, k, team)
        rows.add_scores([own.ceiling() for own in seen], 0.0, 0.0)
    return [rows]


def implicit(trial: Trial, *, name: str, replay: bool = True) -> list[Rows]:
    """Score networks as maps, learned by decentralised optimisation; replay: of all own scans."""
    from delama_ros.experiments.baselines.completed_map import CompletedMaps  # needs torch
    from delama_ros.experiments.baselines.implicit_map import TUNED, draw_maps, learn

    protocol = trial.protocol
    if protocol.scans != 1 or protocol.turn:
        raise ValueError(
            f'{protocol.scans} scans per step, building turned by {protocol.turn:g} degrees, '
            f'expected 1 and 0 for {name}'
        )
    rows = trial.rows()
    drawings = [
        CompletedMaps(trial.run, trial.poses, trial.checkpoint.model, trial.decoder()) if completed
        else partial(draw_maps, truth=trial.run.truth) for completed in trial.heads
    ]
    for step in learn(
        trial.run, trial.poses, trial.links(), TUNED[name], replay=replay, seed=protocol.seed
    ):
        for own, drawing in zip(rows, drawings, strict=True):
            own.add(drawing(step), step.bytes, step.seconds)
    return rows


@dataclass(frozen=True)
class Record:
    """A method: how it is run and scored, and what it runs as."""

    score: Method
    runs_as: RunsAs = 'agents'
    completed: bool = False  # whether its maps can also be scored completed
    by_gradients: bool = False  # needs torch and minutes per plan: it runs only when it is named


def _by_gradients(name: str, *, replay: bool = True) -> Record:
    score = partial(implicit, name=name, replay=replay)
    return Record(score, 'gradient', completed=replay, by_gradients=True)


METHODS: dict[str, Record] = {
    'fusion': Record(swarm, completed=True),
    'fusion_exact': Record(partial(swarm, exact=True)),
    'alone': Record(partial(swarm, alone=True), completed=True),
    'centralised': Record(centralised, 'central', completed=True),
    'logodds': Record(partial(log_odds, merged=False), 'grid'),
    'logodds_merged': Record(partial(log_odds, merged=True), 'central grid'),
    'ceiling': Record(ceiling, '–'),
    'ceiling_alone': Record(partial(ceiling, alone=True), '–'),
    # λ3 ≫ λ2: every neighbour gets the same weight, which in one building is the true graph.
    'fusion_uniform': Record(partial(swarm, changes={'lambda3': 1e3})),
    'fusion_paper_distance': Record(partial(swarm, changes={'distance': 'paper'})),
    'dsgd': _by_gradients('dsgd'),
    'dsgt': _by_gradients('dsgt'),
    'dinno': _by_gradients('dinno'),
    'dsgd_naive': _by_gradients('dsgd', replay=False),
    'dsgt_naive': _by_gradients('dsgt', replay=False),
    'dinno_naive': _by_gradients('dinno', replay=False),
}


def _names(*, by_gradients: bool) -> list[str]:
    """Return methods, and behind them those whose maps are also completed."""
    own = {name: r for name, r in METHODS.items() if r.by_gradients == by_gradients}
    return [*own, *(name + COMPLETED for name, r in own.items() if r.completed)]


# What can be asked for: all of the first by default.
DEFAULT = _names(by_gradients=False)
NAMES = [*DEFAULT, *_names(by_gradients=True)]
# The rows of the paper's table 6, and what can be put beside them.
TABLE = [
    *(name for name, record in METHODS.items() if record.by_gradients),
    'logodds_merged', 'alone', 'centralised', 'fusion',
    *(name + COMPLETED for name in ('dsgd', 'dsgt', 'dinno', 'alone', 'centralised', 'fusion')),
]


def base_of(name: str) -> str:
    """Return the method that learns the map which a completed map is drawn from."""
    return name.removesuffix(COMPLETED)


def needs_torch(name: str) -> bool:
    """Whether a method learns by gradients."""
    return METHODS[base_of(name)].by_gradients


def runs_as(name: str) -> RunsAs:
    """Return what a method runs as."""
    return METHODS[base_of(name)].runs_as


def run_methods(
    run: MappingRun, poses: Floats, protocol: Protocol, checkpoint: Checkpoint,
    names: Sequence[str],
) -> dict[str, Rows]:
    """Run methods on one run; maps and completed maps come from the same learning."""
    asked: dict[str, list[str]] = {}
    for name in names:
        asked.setdefault(base_of(name), []).append(name)
    found: dict[str, Rows] = {}
    for base, of_base in asked.items():
        heads = [name.endswith(COMPLETED) for name in of_base]
        trial = Trial(run, poses, protocol, checkpoint, heads)
        found.update(zip(of_base, METHODS[base].score(trial), strict=True))
    return {name: found[name] for name in names}
