"""A recorded log as a swarm: its stretches mapped together, each alone, and all by one learner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from delama_ros.data.log import Log, LogError, Reading
from delama_ros.data.prepare import limited, split, thinned
from delama_ros.experiments.mapping.log_agreement import HeldOut, agreement
from delama_ros.experiments.mapping.methods import runs_as
from delama_ros.experiments.runner import Progress
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.geometry.score import score
from delama_ros.geometry.truth import surface_truth
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan, within
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import Encoding

STEPS = 12  # if no period is given
HOLD_OUT = 10  # one scan in so many is held out from all learners, to measure their maps with
SCAN_BYTES = 4  # per beam, as sensor_msgs/LaserScan has them


@dataclass(frozen=True)
class Protocol:
    """How a log is cut up."""

    robots: int = 5
    period: float | None = None  # s of the log per step; None: STEPS steps
    limit: int | None = None  # use the first so many scans only
    reach: float = 20.0  # m
    checkpoint: str | None = None
    prepared: bool = False  # beams without return are decided: +Inf is free, NaN says nothing

    def mapped_scan(self, reading: Reading) -> Scan:
        """Return what is mapped of a reading."""
        return (within if self.prepared else limited)(reading.scan, self.reach)


@dataclass
class Result:
    """Maps at the end of a log, and bytes sent in every step."""

    log: Log
    robots: list[str]
    period: float
    stretches: list[list[Reading]]  # what each robot learned from
    central: OccupancyMap
    alone: dict[str, OccupancyMap] = field(default_factory=dict)
    fusion: dict[str, OccupancyMap] = field(default_factory=dict)
    bytes: list[dict[str, int]] = field(default_factory=list)  # per step, by robot
    figures: dict[str, Any] = field(default_factory=dict)


def evaluate(log: Log, protocol: Protocol) -> Result:
    """Map a log three ways.

    Args:
        log: Scans with poses.
        protocol: How it is cut up.

    Returns:
        Maps, bytes and figures.

    Raises:
        LogError: There are fewer scans than robots.

    """
    kept = thinned(log.readings[: protocol.limit])
    learned = [reading for i, reading in enumerate(kept) if i % HOLD_OUT != HOLD_OUT - 1]
    if len(learned) < protocol.robots:
        raise LogError(
            f'{log.name}: {len(learned)} scans far enough apart for {protocol.robots} robots'
        )
    stretches = split(learned, protocol.robots)
    longest = max(s[-1].stamp - s[0].stamp for s in stretches)
    period = protocol.period or longest / STEPS or 1.0
    steps = [in_steps(stretch, period) for stretch in stretches]

    names = [f'robot{i + 1}' for i in range(protocol.robots)]
    together = [default_mapper(name, protocol.checkpoint) for name in names]
    alone = [default_mapper(name, protocol.checkpoint) for name in names]
    central = default_mapper('all', protocol.checkpoint)
    swarm = LocalTransport((m.agent for m in together), encoding=Encoding.DELTA)
    others = LocalTransport([*(m.agent for m in alone), central.agent])
    links = dict.fromkeys(names, names)
    sent = []
    progress = Progress(max(map(len, steps)), 'steps')
    for step in range(max(map(len, steps))):
        for own, a, b in zip(steps, together, alone, strict=True):
            for mapper in (a, b, central):
                _take(mapper, own[step] if step < len(own) else [], protocol)
        for mapper in (*together, *alone, central):
            mapper.prepare()
        sent.append(dict(swarm.run_step(step + 1, links).bytes))
        others.run_step(step + 1, {})
        progress.step()
    progress.end()
    result = Result(log, names, period, stretches, central.occupancy(), bytes=sent)
    result.fusion = {n: m.occupancy() for n, m in zip(names, together, strict=True)}
    result.alone = {n: m.occupancy() for n, m in zip(names, alone, strict=True)}
    result.figures = _figures(result, kept[HOLD_OUT - 1 :: HOLD_OUT], protocol)
    return result


def in_steps(stretch: Sequence[Reading], period: float) -> list[list[Reading]]:
    """Cut a stretch into steps of `period` seconds from its own beginning on."""
    ends = [(reading.stamp - stretch[0].stamp) / period for reading in stretch]
    numbers = [max(math.ceil(end - 1e-9), 1) for end in ends]  # step t takes scans up to t · period
    steps: list[list[Reading]] = [[] for _ in range(numbers[-1])]
    for number, reading in zip(numbers, stretch, strict=True):
        steps[number - 1].append(reading)
    return steps


def _take(mapper: Mapper, readings: Sequence[Reading], protocol: Protocol) -> None:
    for reading in readings:
        mapper.add_scan(protocol.mapped_scan(reading), reading.pose)


def map_alone(readings: Sequence[Reading], protocol: Protocol) -> OccupancyMap:
    """Return the map of one learner that gets all readings, as far as they are apart."""
    mapper = default_mapper('all', protocol.checkpoint)
    _take(mapper, thinned(readings), protocol)
    mapper.learn()
    LocalTransport([mapper.agent]).run_step(1, {})
    return mapper.occupancy()


def _figures(result: Result, unseen: Sequence[Reading], protocol: Protocol) -> dict[str, Any]:
    held = HeldOut([(protocol.mapped_scan(reading), reading.pose) for reading in unseen])
    maps_of = {
        'alone': list(result.alone.values()),
        'fusion': list(result.fusion.values()),
        'centralised': [result.central],
    }
    truth = None if result.log.truth is None else surface_truth(result.log.truth)
    rows: dict[str, dict[str, Any]] = {}
    for name, maps in maps_of.items():
        pairs = [agreement(m, result.central) for m in maps]
        rows[name] = {
            'runs_as': runs_as(name),
            'agreement_f1': [round(100 * a.f1, 2) for a in pairs],
            'coverage': [round(100 * a.coverage, 2) for a in pairs],
            'held_out_f1': [round(100 * held.f1(m), 2) for m in maps],
        }
        if truth is not None:
            rows[name]['truth_f1'] = [round(100 * score(m, truth).f1, 2) for m in maps]
    mean = [float(np.mean(list(step.values()))) for step in result.bytes]
    rows['fusion']['bytes'] = [round(size, 1) for size in mean]
    learned = [reading for stretch in result.stretches for reading in stretch]
    raw = SCAN_BYTES * sum(reading.scan.ranges.size for reading in learned)
    rows['centralised']['bytes'] = [round(raw / protocol.robots / len(mean), 1)] * len(mean)
    return {
        'log': result.log.name,
        'scans': len(result.log.readings),
        'scans_learned': len(learned),
        'robots': protocol.robots,
        'steps': len(result.bytes),
        'period_s': round(result.period, 3),
        'methods': rows,
    }
