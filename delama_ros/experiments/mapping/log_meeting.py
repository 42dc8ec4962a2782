"""Robots with unknown starts in recorded logs: they localize, map, exchange models and meet.

A log is cut in time, one part per robot, or every robot has a log of its own. Each robot starts at
its own origin with its own localizer; all run at once, step by step, and compare models after each
step as real robots do. Relations between scans of different robots then measure the common frame.
"""

from __future__ import annotations

import base64
import math
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.data.log import Log, LogError, Reading
from delama_ros.data.prepare import split
from delama_ros.experiments.mapping.log_picture import Panel, write_panels
from delama_ros.experiments.mapping.log_run import in_steps
from delama_ros.experiments.mapping.log_slam import keys_of, timed_of
from delama_ros.experiments.runner import Cell, Figures, Progress, Runner
from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_ros.localization.offline import relation_error
from delama_ros.robot.in_process import DEFAULTS, InProcessRobot
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import Encoding

STEPS = 40  # at least, if no period is given ...
METRES = 6.0  # ... and enough that no robot drives farther in one: what is sent per step is bounded
EXTRA = 8  # steps after the last scan, in which robots stand still and finish their searches


@dataclass(frozen=True)
class Protocol:
    """How logs become robots."""

    robots: int = 2  # that one log is cut into
    period: float | None = None  # s of the log per step; None: by STEPS and METRES
    reach: float = 20.0  # m
    checkpoint: str | None = None


@dataclass
class Team:
    """Robots that take their parts of a recording step by step; they hear each other always."""

    parts: Sequence[Sequence[Reading]]
    protocol: Protocol
    robots: list[InProcessRobot] = field(init=False)
    frames: list[list[str]] = field(init=False, default_factory=list)  # per step and robot
    bytes: list[list[int]] = field(init=False, default_factory=list)  # sent, alike
    spent: dict[str, float] = field(init=False, default_factory=dict)  # s of CPU, by stage

    def __post_init__(self) -> None:
        longest = max(part[-1].stamp - part[0].stamp for part in self.parts)
        steps = max(STEPS, math.ceil(max(map(_path, self.parts)) / METRES))
        self.period = self.protocol.period or longest / steps or 1.0
        self._steps = [in_steps(part, self.period) for part in self.parts]
        options = {
            **DEFAULTS, 'reach': self.protocol.reach, 'checkpoint': self.protocol.checkpoint or ''
        }
        self.robots = [
            InProcessRobot(f'robot{i + 1}', options, record=True) for i in range(len(self.parts))
        ]
        self._transport = LocalTransport(
            (robot.mapper.agent for robot in self.robots), encoding=Encoding.DELTA
        )

    def __len__(self) -> int:
        return max(map(len, self._steps)) + EXTRA

    def step(self) -> None:
        """Take in the scans of the next step, exchange models and compare them."""
        number = len(self.frames)
        began = time.process_time()
        for robot, steps in zip(self.robots, self._steps, strict=True):
            for reading in steps[number] if number < len(steps) else []:
                robot.add(timed_of(reading))
        began = self._note('localize and map', began)
        for robot in self.robots:
            robot.mapper.prepare()
        names = [robot.name for robot in self.robots]
        traffic = self._transport.run_step(number + 1, dict.fromkeys(names, names))
        began = self._note('exchange', began)
        for robot in self.robots:
            robot.find_frames()
        self._note('compare', began)
        self.frames.append([robot.mapper.agent.frame for robot in self.robots])
        self.bytes.append([traffic.bytes[name] for name in names])

    def _note(self, stage: str, began: float) -> float:
        now = time.process_time()
        self.spent[stage] = self.spent.get(stage, 0.0) + now - began
        return now


@dataclass(frozen=True, eq=False)
class Meeting:
    """What became of the robots."""

    logs: list[Log]
    parts: list[list[Reading]]
    poses: list[Floats]  # (T, 3) per robot, in its frame
    frames: list[str]  # per robot, at the end
    occupancy: OccupancyMap  # of the first robot in the frame that most share
    figures: Figures

    @property
    def common(self) -> str:
        """Frame that most robots share."""
        return most_common(self.frames)


def most_common(frames: Sequence[str]) -> str:
    """Return the frame that most robots use, of equally many the smallest name."""
    counts = Counter(frames)
    return min(counts, key=lambda frame: (-counts[frame], frame))


def meet(
    logs: Sequence[Log], protocol: Protocol, source: Mapping[str, Any], runner: Runner
) -> Meeting:
    """Let the robots of one log, cut in time, or of several logs run.

    Args:
        logs: With raw odometry; one per robot, or one for all.
        protocol: How it is cut up.
        source: What the logs were read from, in JSON values: a cell is computed once for it.
        runner: Computes the cell.

    Returns:
        Poses, the common map and figures.

    Raises:
        LogError: There are fewer scans than robots.
    """
    if len(logs) > 1:
        parts = [list(log.readings) for log in logs]
    else:
        parts = split(logs[0].readings, protocol.robots)
    if not all(parts):
        scans = ', '.join(f'{log.name}: {len(log.readings)} scans' for log in logs)
        raise LogError(f'{scans}: too few for {len(parts)} robots')
    cell = Cell.make('log', 'rendezvous', protocol=asdict(protocol), **source)
    figures = runner.run([cell], lambda _: _run(parts, protocol))[cell]
    poses = [np.array(rows) for rows in figures.pop('poses')]
    occupancy = _unpacked(figures.pop('map'))
    return Meeting(list(logs), parts, poses, figures.pop('frames'), occupancy, figures)


def _path(part: Sequence[Reading]) -> float:
    """Return the metres that a robot drives, by its odometry."""
    ways = np.diff([reading.pose[:2] for reading in part], axis=0)
    return float(np.hypot(*ways.T).sum()) if len(ways) else 0.0


def _run(parts: Sequence[Sequence[Reading]], protocol: Protocol) -> Figures:
    began = time.perf_counter()
    team = Team(parts, protocol)
    progress = Progress(len(team), 'steps')
    for _ in range(len(team)):
        team.step()
        progress.step()
    progress.end()
    frames = team.frames[-1]
    common = most_common(frames)
    drawn = team.robots[frames.index(common)].mapper.occupancy()
    return {
        'robots': len(parts),
        'scans': [len(part) for part in parts],
        'steps': len(team),
        'extra_steps': EXTRA,
        'period_s': round(team.period, 3),
        'joined': frames.count(common),
        'join_steps': [_since(own, common) for own in zip(*team.frames, strict=True)],
        'frame_changes': [
            sum(a != b for a, b in pairwise(own))
            for own in zip(*team.frames, strict=True)
        ],
        'bytes': np.mean(team.bytes, axis=0).round(1).tolist(),
        'seconds': round(time.perf_counter() - began, 1),
        'cpu_seconds': {stage: round(s, 1) for stage, s in team.spent.items()},
        'frames': frames,
        'poses': [robot.localization.trajectory().tolist() for robot in team.robots],
        'map': _packed(drawn),
    }


def _since(frames: Sequence[str], common: str) -> int | None:
    """Return the step from which on a robot's models were in the common frame; None: never."""
    if frames[-1] != common:
        return None
    others = [step for step, frame in enumerate(frames, 1) if frame != common]
    return max(others, default=0) + 1


def score(meeting: Meeting, relations: Floats) -> Figures:
    """Compare poses with known relations, within robots and between robots of one frame.

    Args:
        meeting: Of robots from one log.
        relations: (R, 8) of Kümmerle et al. 2009.

    Raises:
        ValueError: No relation names two scans.
    """
    keys = np.concatenate([keys_of(part) for part in meeting.parts])
    robot = np.repeat(np.arange(len(meeting.parts)), [len(part) for part in meeting.parts])
    owner = {round(float(key), 3): int(i) for key, i in zip(keys, robot, strict=True)}
    pairs = [(owner.get(round(r[0], 3)), owner.get(round(r[1], 3))) for r in relations.tolist()]
    kinds = np.array([_kind(meeting.frames, a, b) for a, b in pairs])
    if not (kinds != UNKNOWN).any():
        raise ValueError(f'none of the {len(relations)} relations names two scans')
    poses = np.concatenate(meeting.poses)
    figures: Figures = {
        'relations_given': len(relations), 'cross_relations': 0,
        'cross_unjoined': int((kinds == UNJOINED).sum()),
    }
    for kind, prefix in ((WITHIN, ''), (CROSS, 'cross_')):
        if (kinds == kind).any():
            error = asdict(relation_error(keys, poses, relations[kinds == kind]))
            figures |= {prefix + name: value for name, value in error.items()}
    return figures


UNKNOWN, WITHIN, CROSS, UNJOINED = range(4)  # what a relation lies between


def _kind(frames: Sequence[str], a: int | None, b: int | None) -> int:
    if a is None or b is None:
        return UNKNOWN
    if a == b:
        return WITHIN
    return CROSS if frames[a] == frames[b] else UNJOINED


def draw(meeting: Meeting, path: Path) -> None:
    """Draw the common map with the trajectories of all robots in its frame."""
    ways = [
        poses[:, :2] if frame == meeting.common else np.zeros((0, 2))
        for poses, frame in zip(meeting.poses, meeting.frames, strict=True)
    ]
    title = f'{meeting.figures["joined"]} of {len(meeting.frames)} robots in one frame'
    write_panels([Panel(title, meeting.occupancy, ways)], path)


def _packed(drawn: OccupancyMap) -> dict[str, Any]:
    """Return a map as JSON values."""
    cells = base64.b64encode(zlib.compress(drawn.cells.astype(np.int8).tobytes())).decode()
    return {
        'cells': cells, 'shape': drawn.cells.shape, 'resolution': drawn.resolution,
        'origin': drawn.origin,
    }


def _unpacked(stored: Mapping[str, Any]) -> OccupancyMap:
    cells = np.frombuffer(zlib.decompress(base64.b64decode(stored['cells'])), np.int8)
    x, y, yaw = stored['origin']
    return OccupancyMap(cells.reshape(stored['shape']), stored['resolution'], (x, y, yaw))
