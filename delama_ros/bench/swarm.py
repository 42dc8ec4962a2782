"""Cost of a swarm over DDS: a step against its round trips, start, whole run, memory.

In a round every robot sends and waits for the messages of all others. That is compared
with round trips without any computing of the same processes in the same run, between their steps:
of two robots, and of all at once (each answers when it has received from all others).

The rounds are timed in every robot from its first message of a step to the last one it receives:
sending, waiting for robots that begin later, decoding, and all computing between the rounds. A
whole step adds learning from the robot's own data before its first message and refining the model
after the last. Neither holds taking in scans or drawing the map.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from delama_ros.resources import resource
from delama_ros.swarm.description import Swarm, read
from delama_ros.swarm.record import Record
from delama_ros.swarm.run import run_swarm


def run(*, seed: int = 0, swarm: Swarm | None = None) -> dict[str, float]:
    """Measure on one generated plan; the swarm of config/swarm.yaml unless another is given."""
    overrides = {'seed': seed, 'plan': f'generated:{seed}'}
    swarm = swarm or read(resource('config/swarm.yaml'), overrides)
    record = Record(swarm.robots, swarm.steps)
    began = time.monotonic()
    shown: list[float] = []
    with tempfile.TemporaryDirectory(prefix='delama_bench_') as folder:
        run_swarm(
            swarm,
            Path(folder),
            lambda _, step: shown.append(time.monotonic() - began),
            record,
            robot=('delama_ros.ros.ping', {'ping_folder': folder}),
        )
        trips = [json.loads(Path(f'{folder}/{n}.json').read_text()) for n in swarm.robots]
    return figures(record, trips) | {
        'first_map_s': shown[0],
        'whole_run_s': time.monotonic() - began,
        'memory_gb': record.memory / 1e9,
    }


def figures(record: Record, trips: list[dict[str, list[float]]]) -> dict[str, float]:
    """Return what steps took, against rounds times round trip; medians over robots and steps."""
    # The first step begins before all have found each other.
    steps = [row for step, rows in record.rounds.items() if step > 1 for row in rows.values()]
    rounds = float(np.median([row.complete + row.incomplete for row in steps]))
    exchange, step, computing = (
        float(np.median(values))
        for values in zip(*((r.exchanging, r.seconds, r.computing) for r in steps), strict=True)
    )
    two, everybody = (
        float(np.median([t for robot in trips for t in robot[group]])) for group in ('two', 'all')
    )
    return {
        'rounds_per_step': rounds,
        'round_trip_ms_of_two': 1e3 * two,
        'round_trip_ms_of_all': 1e3 * everybody,
        'rounds_ms': 1e3 * exchange,
        'step_ms': 1e3 * step,
        'step_ms_95_percent': 1e3 * float(np.percentile([row.seconds for row in steps], 95)),
        'computing_ms_per_robot_and_step': 1e3 * computing,
        'rounds_over_round_trips_of_two': exchange / (rounds * two),
        'rounds_over_round_trips_of_all': exchange / (rounds * everybody),
        'step_over_round_trips_of_all': step / (rounds * everybody),
    }
