"""Where simulated robots are at their first scan, as robots with slam may be told."""

from __future__ import annotations

import numpy as np

from delama_ros.geometry.poses import as_pose
from delama_ros.robot.parameters import SIMULATOR
from delama_ros.simulation.world import make_world
from delama_ros.swarm.description import Swarm


def start_parameters(swarm: Swarm) -> dict[str, dict[str, object]]:
    """Return pose and odometry of each robot at its first scan; empty without a simulation.

    Poses are true, or off by a random error with the standard deviations given to the robot.
    """
    if not swarm.plan:
        return {}
    defaults = {name: option.default for name, option in SIMULATOR.items()}
    world = make_world({**defaults, **swarm.simulator_parameters()})
    while not world.advance_to(world.next_event()):
        pass
    errors = np.random.default_rng([swarm.seed, 0x57A27]).normal(size=(len(world.names), 3))
    found: dict[str, dict[str, object]] = {}
    for name, pose, odometry, error in zip(
        world.names, world.poses, world.odometry, errors, strict=True
    ):
        spread = swarm.start_uncertainty(name)
        m, rad = spread or (0.0, 0.0)
        told = as_pose(np.asarray(pose) + error * (m, m, rad)) if spread else as_pose(pose)
        found[name] = {'start_pose': list(told), 'start_odometry': list(as_pose(odometry))}
        if spread:
            found[name]['start_uncertainty'] = list(spread)
    return found


def with_starts(swarm: Swarm) -> dict[str, dict[str, object]]:
    """Return the parameters of every robot, with its start pose unless the description has one."""
    starts = start_parameters(swarm) if swarm.starts != 'unknown' else {}
    given = {name: swarm.robot_parameters(name) for name in swarm.robots}
    return {
        name: parameters if 'start_pose' in parameters else {**starts.get(name, {}), **parameters}
        for name, parameters in given.items()
    }
