"""Speed of the simulator: exact rays, a numpy march for comparison, and a large swarm."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_sim.lidar import Lidar
from delama_sim.plans.generator import generate
from delama_sim.protocol import mapping_run, prepare
from delama_sim.rays import RayCaster
from delama_sim.world import World

FRAME = 16.0  # m
REACH = 12.0  # m
REPEATS = 3  # the fastest counts: other work on the machine only ever slows down


def run(*, seed: int = 0) -> dict[str, float]:
    """Measure on one core; ratios compare within this run."""
    occupancy = generate(seed, 'office', frame=FRAME).map
    rng = np.random.default_rng(seed)
    rows, cols = np.nonzero(occupancy.free)
    pick = rng.integers(len(rows), size=1000)
    origins = occupancy.centre_of(rows[pick], cols[pick])
    angles = rng.uniform(-math.pi, math.pi, (1000, 1)) + Lidar().angles
    caster = RayCaster(occupancy)
    caster.ranges(origins[:1], angles[:1], REACH)  # compile
    exact = marched = math.inf
    for _ in range(REPEATS):  # in turn, so that both meet the same conditions
        exact = min(exact, _timed(lambda: caster.ranges(origins, angles, REACH)))
        marched = min(marched, _timed(lambda: march(occupancy, origins, angles, REACH)))

    world = World(generate(seed, 'office', frame=FRAME), 50, seed=seed, scan_rate=10.0)
    world.advance(1.0)
    swarm = min(_timed(lambda: world.advance(2.0)) for _ in range(REPEATS))

    generate(seed)
    plans = _timed(lambda: [generate(k) for k in range(20)])
    mapping_run(prepare(generate(seed), seed), seed)
    runs = _timed(lambda: [mapping_run(prepare(generate(k), k), k) for k in range(10)])
    return {
        'exact rays, million/s': angles.size / exact / 1e6,
        'numpy march of the same rays, million/s': angles.size / marched / 1e6,
        'exact rays : numpy march': marched / exact,
        '50 robots x 360 beams x 10 Hz, times real time': 2.0 / swarm,
        'generated plans/s': 20 / plans,
        'mapping runs (plan, 5 robots, 12 steps)/s': 10 / runs,
    }


def march(occupancy: OccupancyMap, origins: Floats, angles: Floats, limit: float) -> Floats:
    """Walk all rays at once in steps of half a cell: the plain way to do it in numpy."""
    solid = np.pad(occupancy.solid, 1)
    rows, cols = solid.shape
    start = occupancy.to_grid(origins)[:, None] + 1
    x, y = (np.broadcast_to(start[..., k], angles.shape).ravel() for k in (0, 1))
    dx, dy = np.cos(angles).ravel() / 2, np.sin(angles).ravel() / 2
    ranges = np.full(angles.size, math.inf)
    alive = np.arange(angles.size)
    for count in range(int(2 * limit / occupancy.resolution)):
        column = np.clip((x + count * dx).astype(np.int64), 0, cols - 1)
        row = np.clip((y + count * dy).astype(np.int64), 0, rows - 1)
        hit = solid[row, column]
        ranges[alive[hit]] = count * occupancy.resolution / 2
        if hit.any():
            alive, x, y, dx, dy = alive[~hit], x[~hit], y[~hit], dx[~hit], dy[~hit]
    return ranges.reshape(angles.shape)


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
