"""Runs a described swarm in one process, without ROS: the same agents and the same numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.evidence import Scan
from delama_ros.mapping.mapper import Mapper
from delama_ros.swarm.description import Swarm
from delama_ros.swarm.options import SIMULATOR
from delama_ros.swarm.record import Record, Rounds
from delama_ros.swarm.world import make_world
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import Encoding
from delama_sim.grid import Pose
from delama_sim.odometry import compose
from delama_sim.world import NANO, World


def run_local(swarm: Swarm, on_step: Callable[[Record, int], None], record: Record) -> None:
    """Run all steps, filling in `record`; on_step is called after each.

    Step t takes the scans up to t · period, from poses that odometry and a known start give, as
    robot nodes do.
    """
    defaults = {name: option.default for name, option in SIMULATOR.items()}
    world = make_world({**defaults, **swarm.simulator_parameters()})
    record.set_truth(world.maps[0])
    origins = world.corrections()
    mappers = {name: default_mapper(name) for name in swarm.robots}
    transport = LocalTransport(
        (mapper.agent for mapper in mappers.values()),
        encoding=Encoding[swarm.encoding.upper()],
    )
    for step in range(1, swarm.steps + 1):
        _scan(world, round(step * swarm.period * NANO), mappers, origins)
        for mapper in mappers.values():
            mapper.learn()
        before = {name: _rounds(mapper) for name, mapper in mappers.items()}
        began = time.perf_counter()
        traffic = transport.run_step(step, _links(world))
        seconds = time.perf_counter() - began  # all robots, one after the other
        for name, mapper in mappers.items():
            complete, incomplete = np.subtract(_rounds(mapper), before[name]).tolist()
            rounds = Rounds(complete, incomplete, seconds, 0.0, seconds / len(mappers))
            record.add_step(name, step, traffic.bytes[name], rounds)
            record.add_weights(name, step, dict(mapper.agent.weights))
            record.add_map(name, step, mapper.occupancy())
        on_step(record, step)


def _rounds(mapper: Mapper) -> tuple[int, int]:
    return mapper.agent.complete_rounds, mapper.agent.incomplete_rounds


def _scan(world: World, end: int, mappers: Mapping[str, Mapper], origins: np.ndarray) -> None:
    """Let time pass until `end` ns and give every robot its scans."""
    lidar = world.lidar
    # LaserScan has 32-bit fields.
    first, step, low, high = (
        float(np.float32(value))
        for value in (lidar.angle_min, lidar.angle_increment, lidar.range_min, lidar.range_max)
    )
    while (tick := world.next_event()) <= end:
        scans = world.advance_to(tick)
        poses = {
            name: compose(origin, odometry)
            for name, origin, odometry in zip(world.names, origins, world.odometry, strict=True)
        }
        for taken in scans:
            scan = Scan(taken.ranges.astype(np.float64), first, step, low, high)
            x, y, yaw = compose(poses[taken.robot], np.array(lidar.mount))
            sensor: Pose = (float(x), float(y), float(yaw))
            peers = [pose[:2] for name, pose in poses.items() if name != taken.robot]
            mappers[taken.robot].add_scan(scan, sensor, peers)


def _links(world: World) -> dict[str, list[str]]:
    hears = world.links.hears
    return {
        name: [other for j, other in enumerate(world.names) if hears[i, j] and other != name]
        for i, name in enumerate(world.names)
    }
