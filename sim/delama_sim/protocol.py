"""The mapping protocol that all figures share: five robots, one scan per 1.2 m of way.

`drive` gives the same ways at driving rate, with odometry: what a robot needs for SLAM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.grid import Floats, OccupancyMap, Pose
from delama_ros.geometry.truth import SurfaceTruth, surface_truth
from delama_sim.explore import Explorer
from delama_sim.lidar import Lidar, Ranges
from delama_sim.motion import Body, along
from delama_sim.odometry import Odometry, OdometryState, odometry_preset
from delama_sim.paths import start_poses
from delama_sim.planner import Planner
from delama_sim.plans.edit import add_blocks, thicken_walls
from delama_sim.plans.plan import Plan
from delama_sim.rays import RayCaster
from delama_sim.robot import Drive

SPACING = 1.2  # m of way between two scans
DENSE_WAY, DENSE_TURN = 0.1, np.deg2rad(15.0)  # m or rad between two scans while driving


@dataclass(frozen=True, eq=False)
class MappingRun:
    """Data of one run; T steps, N robots, B beams."""

    map: OccupancyMap  # what the robots were really in
    poses: Floats  # (T, N, 3), of the LiDARs
    ranges: Ranges  # (T, N, B)
    angles: Floats  # (B,), in the LiDAR frame
    range_max: float
    truth: SurfaceTruth


@dataclass(frozen=True, eq=False)
class Measurement:
    """What one robot measures at one place, and where that truly was.

    Poses (3,) are those of base_link at the time of the first beam, `odom_end` at the end of the
    sweep. Odometry starts at the origin of the robot's odom frame.
    """

    stamp: float  # s
    true_pose: Floats
    odom_pose: Floats
    odom_end: Floats
    scan: Ranges  # (B,), angles and limits as the LiDAR has them
    step: int  # of the protocol; the last measurement of a step is made where its scan is


def prepare(plan: Plan | OccupancyMap, seed: int) -> OccupancyMap:
    """Return the map ready for mapping: walls 5 cm thicker a side, one to three blocks added.

    A plan that is ready stays as it is.

    Args:
        plan: a plan or its map.
        seed: of number, size and place of the blocks.
    """
    if isinstance(plan, Plan) and plan.ready:
        return plan.map
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
    """Let robots explore a map and scan once per step.

    Args:
        occupancy: the map, as `prepare` returns it for the protocol.
        seed: of starts, ways and noise.
        robots: number N of robots.
        steps: number T of scans of each robot.
        spacing: m of way between two scans.
        lidar: the sensor.
        body: the robot.
        starts: poses (N, 3) of bodies to start from instead of random ones.

    Returns:
        Scans and poses of all robots, and the truth to score maps against.

    Raises:
        PlanError: if there is no room for a robot, or a wall is too near to a start.
    """
    lidar, body = lidar or Lidar(), body or Body()
    rng = np.random.default_rng([seed, 0x0A9])
    planner = Planner(occupancy, body.radius)
    starts = _starts(planner, robots, body, starts, rng)
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


def drive(
    plan: Plan | OccupancyMap,
    seed: int,
    *,
    robots: int = 5,
    steps: int = 12,
    spacing: float = SPACING,
    odometry: str | Odometry = 'turtlebot',
    lidar: Lidar | None = None,
    body: Body | None = None,
    starts: Floats | None = None,
) -> list[list[Measurement]]:
    """Drive the ways of `mapping_run` with a scan every 0.1 m or 15°, and odometry.

    Args:
        plan: Where to drive, as `prepare` returns it for the protocol.
        seed: Of starts, ways, and errors of sensors; starts and ways are those of `mapping_run`.
        robots: Number of robots.
        steps: Steps of the protocol; the way is (steps - 1) times `spacing` long.
        spacing: Metres between two steps.
        odometry: Error model, or the name of a preset.
        lidar: The sensor; `Lidar(sweep=…)` measures while the robot moves.
        body: The robot.
        starts: Poses (N, 3) to start from instead of random ones.

    Returns:
        Measurements of each robot in order of time. A robot that can drive no further ends early.

    Raises:
        ValueError: There is no such preset, or no step.
        PlanError: There is no room for a robot.

    """
    if steps < 1:
        raise ValueError(f'steps is {steps}, expected at least 1')
    occupancy = plan.map if isinstance(plan, Plan) else plan
    model = odometry_preset(odometry) if isinstance(odometry, str) else odometry
    lidar, body = lidar or Lidar(), body or Body()
    rng = np.random.default_rng([seed, 0x0A9])
    planner = Planner(occupancy, body.radius)
    caster = RayCaster(occupancy)
    measured = []
    for i, start in enumerate(_starts(planner, robots, body, starts, rng)):
        way = Drive(start, Explorer(planner, start[:2], rng).next_leg, body)
        stops = [way.time_after(0.0, spacing * k) for k in range(steps)]
        times = np.union1d(way.times_every(DENSE_WAY, DENSE_TURN, stops[-1]), stops)
        at_beams = times[:, None] + lidar.time_increment * np.arange(lidar.beams)
        poses = way.poses_at(times) if lidar.sweep == 0 else way.poses_at(at_beams)
        ranges, _ = lidar.scan(caster, poses, np.random.default_rng([seed, 0x5CA, i]))
        noise = np.random.default_rng([seed, 0x0D0, i])
        begin, end = _odometry(way, model, start, times, times + lidar.sweep, noise)
        number = np.ceil(way.way_at(times) / spacing - 1e-6).astype(int)
        true = way.poses_at(times)
        measured.append(
            [
                Measurement(float(times[k]), true[k], begin[k], end[k], ranges[k], int(number[k]))
                for k in range(len(times))
            ]
        )
    return measured


def _odometry(
    way: Drive,
    model: Odometry,
    start: Floats,
    begins: Floats,
    ends: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Odometry poses (n, 3) at times `begins` and `ends` (n,), which may overlap."""
    state = OdometryState(model, start, rng)
    times, where = np.unique(np.concatenate([begins, ends]), return_inverse=True)
    poses = np.empty((len(times), 3))
    for k, true in enumerate(way.poses_at(times)):
        state.move_to(true)
        poses[k] = state.pose
    return poses[where[: len(begins)]], poses[where[len(begins) :]]


def _starts(
    planner: Planner, robots: int, body: Body, starts: Floats | None, rng: np.random.Generator
) -> Floats:
    """Start poses (N, 3): those given, or random ones."""
    fixed: list[Pose | None] = [None] * robots
    if starts is not None:
        fixed = [(float(x), float(y), float(yaw)) for x, y, yaw in starts]
    home = np.zeros(robots, np.int64)
    return start_poses([planner], home, body.radius, rng, fixed)
