"""Cost of mapping: marks of a scan, a robot's step early and late, messages."""

from __future__ import annotations

import time

import numpy as np

from delama_ros.experiments.mapping.dataset import CELLS, RESOLUTION, scan_of
from delama_ros.experiments.mapping.runner import Step, run_swarm
from delama_ros.mapping.default import packaged
from delama_ros.mapping.scan import scan_marks
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

STEPS = 36
EXPLORED = 18  # steps after which five robots have seen nearly all of the flat
REPEATS = 200


def run(*, seed: int = 0) -> dict[str, float]:
    """Measure on one generated plan; five robots, 36 steps, one after the other on one core."""
    checkpoint = packaged()
    world = mapping_run(prepare(load(f'generated:{seed}'), seed), seed, steps=STEPS)
    x, y, yaw = world.poses[0, 0].tolist()
    scan = scan_of(world, 0, 0)
    began = time.process_time()
    for _ in range(REPEATS):
        scan_marks(scan, (x, y, yaw), resolution=RESOLUTION, tile_cells=CELLS)
    marks = (time.process_time() - began) / REPEATS
    seconds, sizes = np.zeros(STEPS), np.zeros(STEPS)

    def take(step: Step, t: int) -> None:
        seconds[t], sizes[t] = step.seconds, step.bytes.mean()

    run_swarm(world, checkpoint, take=take)
    return {
        'features': float(len(checkpoint.model.table)),
        'marks_ms_per_scan': 1e3 * marks,
        'step_ms_per_robot': 1e3 * float(np.median(seconds)),
        # How cost depends on time, not on how much of the flat is known.
        'late_step_over_early_step': float(
            np.median(seconds[-9:]) / np.median(seconds[EXPLORED : EXPLORED + 9])
        ),
        'bytes_per_robot_and_step': float(sizes.mean()),
        'bytes_at_t_12': float(sizes[11]),
    }
