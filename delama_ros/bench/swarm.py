"""Cost of a swarm over DDS: a step against its round trips, start, whole run, memory.

In a round everybody says something and waits until all others have been heard. That is compared
with round trips without any computing, measured beside the robots in the same run: between two
processes, while robots are in their steps, and between as many processes as there are robots, all
at once, between steps. The difference is that on one machine five robots share its cores.
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
        groups = {'pair': ['pair1', 'pair2'], 'all': [f'all{i}' for i in range(len(swarm.robots))]}
        beside = {
            member: (
                'delama_ros.nodes.ping',
                {
                    'group': group,
                    'member': member,
                    'in_steps': name == 'pair',
                    'robots': list(swarm.robots),
                    'path': f'{folder}/{member}.json',
                },
            )
            for name, group in groups.items()
            for member in group
        }
        run_swarm(
            swarm,
            Path(folder),
            lambda _, step: shown.append(time.monotonic() - began),
            record,
            beside=beside,
        )
        trips = {
            name: [json.loads(Path(f'{folder}/{member}.json').read_text()) for member in group]
            for name, group in groups.items()
        }
    return figures(record, trips) | {
        'first_map_s': shown[0],
        'whole_run_s': time.monotonic() - began,
        'memory_gb': record.memory / 1e9,
    }


def figures(record: Record, trips: dict[str, list[dict[str, list[float]]]]) -> dict[str, float]:
    """Return what steps took, against rounds times round trip; medians over robots and steps."""
    # The first step begins before all have found each other.
    steps = [row for step, rows in record.rounds.items() if step > 1 for row in rows.values()]
    rounds = float(np.median([row.complete + row.incomplete for row in steps]))
    seconds = np.array([row.seconds for row in steps])
    step = float(np.median(seconds))
    pair, quiet_pair, everybody = (
        float(np.median([t for member in trips[group] for t in member[state]]))
        for group, state in (('pair', 'busy'), ('pair', 'quiet'), ('all', 'quiet'))
    )
    return {
        'rounds_per_step': rounds,
        'round_trip_ms_of_two_in_steps': 1e3 * pair,
        'round_trip_ms_of_two_between_steps': 1e3 * quiet_pair,
        'round_trip_ms_of_all_between_steps': 1e3 * everybody,
        'step_ms': 1e3 * step,
        'step_ms_95_percent': 1e3 * float(np.percentile(seconds, 95)),
        'computing_ms_per_robot_and_step': 1e3 * float(np.median([r.computing for r in steps])),
        'step_over_round_trips_of_two': step / (rounds * pair),
        'step_over_round_trips_of_all': step / (rounds * everybody),
    }
