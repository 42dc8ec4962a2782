"""Cost of a step by the number of robots: time, memory and bytes, and how fast they grow."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.mapping.default import make_mapper, packaged
from delama_ros.swarm.description import Swarm
from delama_ros.swarm.record import Record
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import Encoding
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

ROBOTS = (5, 10, 20)
STEPS = 4  # of which the first is not counted: it loads and compiles
TRANSPORTS = ('local', 'ros')


def run(
    *, seed: int = 0, robots: Sequence[int] = ROBOTS, transport: str = 'local',
    neighbours: int | None = None,
) -> dict[str, float]:
    """Measure on one generated plan.

    Args:
        seed: of the plan.
        robots: sizes of the swarm.
        transport: all robots in this process, or each in its own over ROS 2.
        neighbours: that each robot receives, the nearest in a ring; all by default.

    Raises:
        ValueError: if sizes are not increasing, or neighbours are limited over ROS 2.
    """
    sizes = list(robots)
    if min(sizes) < 2 or sorted(set(sizes)) != sizes:
        raise ValueError(f'robots are {sizes}, expected increasing numbers of 2 or more')
    if transport not in TRANSPORTS:
        raise ValueError(f'transport is {transport!r}, expected one of {TRANSPORTS}')
    if transport == 'ros' and neighbours is not None:
        raise ValueError('neighbours can be limited with --transport local only')
    figures: dict[str, float] = {}
    links, seconds = [], []
    for count in sizes:
        near = count - 1 if neighbours is None else min(neighbours, count - 1)
        found = (
            _in_process(count, near, seed) if transport == 'local' else _over_ros(count, seed)
        )
        figures |= {f'{name}_of_{count}': value for name, value in found.items()}
        links.append(count * near)
        seconds.append(found['step_ms'])
    if len(sizes) > 1:
        growth = np.polyfit(np.log(links), np.log(seconds), 1)[0]
        figures['exponent_of_step_ms_in_links'] = float(growth)
    return figures


def _in_process(count: int, neighbours: int, seed: int) -> dict[str, float]:
    """Return what a step of all robots takes; ms of processor time."""
    plan = prepare(load(f'generated:{seed}'), seed)
    episode = mapping_run(plan, seed, robots=count, steps=STEPS)
    names = [f'robot{i}' for i in range(count)]
    mappers = [make_mapper(name, packaged()) for name in names]
    transport = LocalTransport([mapper.agent for mapper in mappers], encoding=Encoding.DELTA)
    shifts = [k for n in range(1, neighbours + 1) for k in ((n + 1) // 2 * (-1) ** n,)]
    links = {a: [names[(i + k) % count] for k in shifts] for i, a in enumerate(names)}
    times, sent = [], []
    for t in range(STEPS):
        for i, mapper in enumerate(mappers):
            mapper.add_scan(scan_of(episode, t, i), tuple(episode.poses[t, i].tolist()))
            mapper.prepare()
        began = time.process_time()
        traffic = transport.run_step(t + 1, links)
        times.append(1e3 * (time.process_time() - began))
        sent.append(float(np.mean([traffic.bytes[name] for name in names])))
    return {
        'step_ms': float(np.median(times[1:])),
        'step_ms_per_robot': float(np.median(times[1:])) / count,
        'bytes_per_robot_and_step': float(np.mean(sent[1:])),
        'memory_gb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def _over_ros(count: int, seed: int) -> dict[str, float]:
    """Return what a step takes in robots that are processes of their own; ms of wall time."""
    from delama_ros.swarm.run import run_swarm

    swarm = Swarm(
        robots=tuple(f'robot{i}' for i in range(1, count + 1)), plan=f'generated:{seed}',
        seed=seed, parameters={'steps': STEPS, 'localization': 'tf'},
    )
    record = Record(swarm.robots, STEPS)
    with tempfile.TemporaryDirectory(prefix='delama_bench_') as folder:
        run_swarm(swarm, Path(folder), lambda _, step: None, record)
    rows = [r for step, by_robot in record.rounds.items() if step > 1 for r in by_robot.values()]
    sent = [b for step, by_robot in record.bytes.items() if step > 1 for b in by_robot.values()]
    return {
        'step_ms': 1e3 * float(np.median([row.seconds for row in rows])),
        'step_ms_per_robot': 1e3 * float(np.median([row.computing for row in rows])),
        'incomplete_rounds': float(sum(row.incomplete for row in rows)),
        'bytes_per_robot_and_step': float(np.mean(sent)),
        'memory_gb': record.memory / 1e9,
    }
