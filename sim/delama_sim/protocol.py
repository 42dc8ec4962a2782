"""The mapping protocol that all figures share: five robots, one scan per 1.2 m of way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delama_sim.explore import Explorer
from delama_sim.grid import Floats, OccupancyMap, Pose
from delama_sim.lidar import Lidar, Ranges
from delama_sim.motion import Body, along
from delama_sim.paths import start_poses
from delama_sim.planner import Planner
from delama_sim.plans.edit import add_blocks, thicken_walls
from delama_sim.plans.plan import Plan
from delama_sim.rays import RayCaster
from delama_sim.truth import SurfaceTruth, surface_truth

SPACING = 1.2  # m of way between two scans


@dataclass(frozen=True, eq=False)
class MappingRun:
    """Data of one run; T steps, N robots, B beams."""

    map: OccupancyMap  # what the robots were really in
    poses: Floats  # (T, N, 3), of the LiDARs
    ranges: Ranges  # (T, N, B)
    angles: Floats  # (B,), in the LiDAR frame
    range_max: float
    truth: SurfaceTruth


def prepare(plan: Plan | OccupancyMap, seed: int) -> OccupancyMap:
    """Make a plan ready for mapping: walls 5 cm thicker a side, one to three blocks added."""
    occupancy = plan.map if isinstance(plan, Plan) else plan
    rng = np.random.default_rng([seed, 0xB10C])
    thick = thicken_walls(occupancy, 0.05)
    return add_blocks(thick, int(rng.integers(1, 4)), rng)


def mapping_run(
    occupancy: OccupancyMap,
    seed: int,
    *,
    robots: int = 5,
    steps: int = 12,
    spacing: float = SPACING,
    lidar: Lidar | None = None,
    body: Body | None = None,
    starts: Floats | None = None,
) -> MappingRun:
    """Robots at random free starts, one scan per step, steps `spacing` metres apart.

    starts: poses (N, 3) of bodies to start from instead; PlanError if a wall is too near to one.
    """
    lidar, body = lidar or Lidar(), body or Body()
    rng = np.random.default_rng([seed, 0x0A9])
    planner = Planner(occupancy, body.radius)
    home = np.zeros(robots, np.int64)
    fixed: list[Pose | None] = [None] * robots
    if starts is not None:
        fixed = [(float(x), float(y), float(yaw)) for x, y, yaw in starts]
    starts = start_poses([planner], home, body.radius, rng, fixed)
    distances = spacing * np.arange(steps, dtype=np.float64)
    poses = np.empty((steps, robots, 3))
    for i, start in enumerate(starts):
        path = Explorer(planner, start[:2], rng).path(float(distances[-1]) + 0.1)
        poses[:, i] = along(path, distances, float(start[2]))
    ranges, _ = lidar.scan(RayCaster(occupancy), poses.reshape(-1, 3), rng)
    return MappingRun(
        occupancy,
        lidar.laser_poses(poses),
        ranges.reshape(steps, robots, -1),
        lidar.angles,
        lidar.range_max,
        surface_truth(occupancy),
    )
