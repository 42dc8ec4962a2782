"""Runs a described swarm in one process, without ROS: the same robots and the same numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.geometry.anchors import Anchors
from delama_ros.geometry.frames import Frames
from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose
from delama_ros.localization.scan import Sweep
from delama_ros.mapping.mapper import Mapper
from delama_ros.robot.in_process import DEFAULTS, InProcessRobot
from delama_ros.robot.localization import Located
from delama_ros.robot.memory_file import load_memory, save_memory
from delama_ros.robot.parameters import SIMULATOR, encoding
from delama_ros.robot.rendezvous import Rendezvous
from delama_ros.robot.scan_buffer import ScanBuffer
from delama_ros.robot.timed_scan import TimedScan
from delama_ros.simulation.world import make_world
from delama_ros.swarm.description import DescriptionError, Swarm
from delama_ros.swarm.film import Film, Shot
from delama_ros.swarm.record import Record, Rounds
from delama_ros.swarm.starts import with_starts
from delama_ros.transport.local import Links, LocalTransport
from delama_sim.lidar import Lidar
from delama_sim.world import NANO, World


def run_local(
    swarm: Swarm, on_step: Callable[[Record, int], None], record: Record, film: Film | None = None
) -> None:
    """Run all steps, call `on_step` after each, and fill in `record` and `film`, if given."""
    running = LocalSwarm(swarm, record, film)
    for step in range(1, swarm.steps + 1):
        running.run_step(step)
        on_step(record, step)
    for robot in running.robots.values():
        robot.save()


class LocalSwarm:
    """A described swarm, run step by step."""

    def __init__(self, swarm: Swarm, record: Record, film: Film | None = None) -> None:
        """Build the world and its robots; fill in `record`, and `film`, from now on."""
        defaults = {name: option.default for name, option in SIMULATOR.items()}
        self.world = make_world({**defaults, **swarm.simulator_parameters()})
        self.record, self._film = record, film
        record.set_truth(self.world.maps[0])
        options = {name: {**DEFAULTS, **values} for name, values in with_starts(swarm).items()}
        encodings = {encoding(values) for values in options.values()}
        if len(encodings) > 1:
            raise DescriptionError('overrides: encodings differ, expected one for all robots')
        self._frames = Frames()
        self.anchors = Anchors()  # where the frames that robots chose are in the building
        self._period = swarm.period
        self.robots = {
            name: Robot(name, values, self._frames, self.anchors)
            for name, values in options.items()
        }
        agents = (robot.mapper.agent for robot in self.robots.values())
        sealed = any(values['swarm_key_file'] for values in options.values())
        self._transport = LocalTransport(agents, encoding=encodings.pop(), sealed=sealed)

    def run_step(self, step: int, links: Links | None = None) -> None:
        """Run the next step: with the scans up to step · period, as robot nodes do.

        Args:
            step: its number, from 1 on.
            links: the robots that each robot reaches; by default as the simulated radio has it.
        """
        mappers = {name: robot.mapper for name, robot in self.robots.items()}
        record = self.record
        _scan(self.world, round(step * self._period * NANO), self.robots, self._frames)
        for mapper in mappers.values():
            mapper.prepare()
        before = {name: _rounds(mapper) for name, mapper in mappers.items()}
        began = time.perf_counter()
        traffic = self._transport.run_step(step, _links(self.world) if links is None else links)
        seconds = time.perf_counter() - began  # all robots, one after the other
        for robot in self.robots.values():
            robot.find_frames()
        for name, mapper in mappers.items():
            complete, incomplete = np.subtract(_rounds(mapper), before[name]).tolist()
            rounds = Rounds(complete, incomplete, seconds, 0.0, seconds / len(mappers))
            record.add_step(name, step, traffic.bytes[name], rounds)
            record.add_weights(name, step, dict(mapper.agent.weights))
            record.add_map(name, step, self.robots[name].occupancy())
            if record.free:
                frame = mapper.agent.frame
                record.add_frame(name, step, frame, self.anchors.error(name, frame))
        if self._film is not None:
            self._film.add(
                step, (robot.shot(record.maps[name]) for name, robot in self.robots.items())
            )


class Robot:
    """One robot of the swarm: its scans, its localization and its mapper."""

    def __init__(
        self, name: str, options: Mapping[str, Any], frames: Frames, anchors: Anchors
    ) -> None:
        """Load the checkpoint, and the memory if it was saved.

        frames: of all robots; anchors: where the frames that robots chose are in the building.
        """
        self._robot = InProcessRobot(name, options)
        self.mapper: Mapper = self._robot.mapper
        self.mode = options['localization']
        self._name, self._frames = name, frames
        self._file = Path(options['memory_file']).expanduser() if options['memory_file'] else None
        if self._file and self._file.exists():
            load_memory(self._file, self.mapper, self._robot.localization)
        self.true_pose: Pose = (0.0, 0.0, 0.0)
        self._newest: Located | None = None
        self._anchors = anchors
        self.peers: list[str] = []
        self._buffer = ScanBuffer(
            options, frames, peers=lambda: self.peers, take=self._take, info=_ignore, warn=_ignore
        )

    @property
    def rendezvous(self) -> Rendezvous | None:
        """Return how it looks for peers' frames; None if it knows where it started."""
        return self._robot.rendezvous

    def add_scan(self, stamp: float, sweep: Sweep) -> None:
        """Add a scan whose transforms are known."""
        self._buffer.add(stamp, f'{self._name}/laser', sweep, 0.0)

    def find_frames(self) -> None:
        """Compare models after a step, if the robot does not know where it started."""
        if self.rendezvous is not None:
            # Its own frame may have other users after it has left it in the first step.
            self._anchors.begin(self._name, self.mapper.agent.frame)
        move = self._robot.find_frames()
        if move is not None and self._newest is not None:
            self._newest = self._newest.moved(as_pose(move.transform))
            self._anchors.add_pose(self._name, self._newest.stamp, self._newest.pose)

    def occupancy(self) -> OccupancyMap:
        """Return the map; in the simulator's frame if the robot's own is one of its choice."""
        drawn = self.mapper.occupancy()
        if self.rendezvous is None:
            return drawn
        frame = self.mapper.agent.frame
        self._anchors.begin(self._name, frame)
        return self._anchors.placed(drawn, frame) or drawn

    def shot(self, placed: OccupancyMap) -> Shot:
        """Return what an animation shows of the robot and its map in the simulator's frame."""
        frame = '' if self.rendezvous is None else self.mapper.agent.frame
        place = self._anchors.of(frame) or (0.0, 0.0, 0.0)
        return Shot(self._name, frame, place, placed, self.true_pose)

    def save(self) -> None:
        """Save the memory if it has a file."""
        if self._file:
            save_memory(self._file, self.mapper, self._robot.localization)

    def _take(self, scan: TimedScan) -> None:
        located = self._newest = self._robot.add(scan)
        self._anchors.add_true(self._name, scan.stamp, self.true_pose)
        self._anchors.add_pose(self._name, scan.stamp, located.pose)
        if located.correction is not None:
            self._frames.add('map', f'{self._name}/odom', scan.stamp, located.correction)


def _ignore(_: str) -> None:
    """Log nothing."""


def _rounds(mapper: Mapper) -> tuple[int, int]:
    return mapper.agent.complete_rounds, mapper.agent.incomplete_rounds


def _scan(world: World, end: int, robots: Mapping[str, Robot], frames: Frames) -> None:
    """Advance the world to `end` ns and pass every robot its scans and odometry."""
    lidar = world.lidar
    while (tick := world.next_event()) <= end:
        scans = world.advance_to(tick)
        now = tick * 1e-9
        for name, pose, correction, true in zip(
            world.names, world.odometry, world.corrections(), world.poses, strict=True
        ):
            robot = robots[name]
            robot.true_pose = as_pose(true)
            robot.peers = [
                other for other in world.names
                if other != name and robots[other].mapper.agent.frame == robot.mapper.agent.frame
            ]
            frames.set_fixed(f'{name}/base_link', f'{name}/laser', lidar.mount)
            frames.add(f'{name}/odom', f'{name}/base_link', now, as_pose(pose))
            if robot.mode == 'tf':
                frames.add('map', f'{name}/odom', now, as_pose(correction))
        for taken in scans:
            robots[taken.robot].add_scan(taken.stamp * 1e-9, _sweep(lidar, taken.ranges))


def _sweep(lidar: Lidar, ranges: Any) -> Sweep:
    """Return a scan as it comes out of a LaserScan, which has 32-bit fields."""
    values = (
        *(lidar.angle_min, lidar.angle_increment, lidar.range_min, lidar.range_max),
        lidar.time_increment,
    )
    return Sweep(ranges.astype(np.float64), *(float(np.float32(value)) for value in values))


def _links(world: World) -> dict[str, list[str]]:
    hears = world.links.hears
    return {
        name: [other for j, other in enumerate(world.names) if hears[i, j] and other != name]
        for i, name in enumerate(world.names)
    }
