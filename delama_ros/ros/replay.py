"""Replays logs as robots over ROS 2: a node that owns /clock and publishes recorded scans."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time as Stamp
from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import LaserScan
from tf2_msgs.msg import TFMessage

from delama_ros.data.log import Reading
from delama_ros.data.playback import NANO, Playback
from delama_ros.data.prepare import limited, split
from delama_ros.data.read import read_log
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.robot.parameters import NAME, REPLAY
from delama_ros.ros.conversions import LATCHED, occupancy_to_ros, transform
from delama_ros.ros.options import declare
from delama_ros.ros.pacing import Pace
from delama_ros.ros.running import run

RELIABLE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
HERE = np.zeros(3)
RATE, MAX_RATE = 20.0, 50.0  # Hz of log time, and at most of wall time, of clock and poses


def tick(speed: float) -> int:
    """Return ns of log time between ticks: fewer at high speed, so that robots can keep up."""
    return round(NANO * max(1 / RATE, speed / MAX_RATE))


@dataclass(frozen=True)
class Recorded:
    """Contents of the logs."""

    robots: dict[str, Sequence[Reading]]  # scans, by robot
    notes: list[str]  # what was left out or assumed while reading
    truth: OccupancyMap | None  # the true map, if a log contains one


def read_robots(options: Mapping[str, Any]) -> Recorded:
    """Read the logs that the parameters of the node name; ValueError says what is wrong."""
    names, files, topics = options['robots'], options['logs'], options['topics']
    for name in names:
        if not NAME.fullmatch(name):
            raise ValueError(f'robots: {name!r} is not a ROS name (letters, digits, _)')
    if len(set(names)) < len(names):
        raise ValueError(f'robots: {names}, expected each name once')
    if not all(files):
        raise ValueError('logs: expected the file of at least one log')
    if len(files) not in (1, len(names)):
        raise ValueError(f'logs: {len(files)} for {len(names)} robots, expected 1 or {len(names)}')
    if any(topics) and len(topics) != len(files):
        raise ValueError(f'topics: {len(topics)} for {len(files)} logs, expected {len(files)}')
    chosen = [topic or None for topic in topics] if any(topics) else [None] * len(files)
    logs = [read_log(f, topic=t, delay=None) for f, t in zip(files, chosen, strict=True)]
    notes = [f'{f}: {note}' for f, log in zip(files, logs, strict=True) for note in log.notes]
    parts: list[Sequence[Reading]] = [log.readings for log in logs]
    if len(files) < len(names):
        if len(parts[0]) < len(names):
            raise ValueError(f'{files[0]}: {len(parts[0])} scans for {len(names)} robots')
        parts = [*split(parts[0], len(names))]
    truth = next((log.truth for log in logs if log.truth is not None), None)
    return Recorded(dict(zip(names, parts, strict=True)), notes, truth)


class Replay(Node):
    """Plays logs at the pace of the wall clock."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('replay', **kwargs)
        self._options = declare(self, REPLAY, mutable='speed')
        recorded = read_robots(self._options)
        robots = recorded.robots
        for note in recorded.notes:
            self.get_logger().info(note)
        self._playback = Playback(robots)
        self._playback.tick = tick(self._options['speed'])
        prefix = not self._options['namespaced_tf']
        self._frames = {name: f'{name}/' if prefix else '' for name in robots}
        self._tf = {name: '/tf' if prefix else f'{name}/tf' for name in robots}
        self._clock_out = self.create_publisher(ClockMessage, '/clock', RELIABLE)
        self._scans = {
            name: self.create_publisher(LaserScan, f'{name}/scan', qos_profile_sensor_data)
            for name in robots
        }
        self._odometry = {
            name: self.create_publisher(Odometry, f'{name}/odom', RELIABLE) for name in robots
        }
        topics = sorted(set(self._tf.values()))
        self._tf_out = {t: self.create_publisher(TFMessage, t, RELIABLE) for t in topics}
        self._fixed_out = {
            t: self.create_publisher(TFMessage, f'{t}_static', LATCHED) for t in topics
        }
        self._truth_out = self.create_publisher(OccupancyGrid, 'sim/truth', LATCHED)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._publish_fixed()
        if recorded.truth is not None:
            grid = occupancy_to_ros(recorded.truth)
            grid.header.frame_id = self._options['map_frame']
            self._truth_out.publish(grid)
        self._pace = Pace(
            self,
            self._scans,
            self._options,
            now=lambda: self._playback.time,
            next_event=self._playback.next_event,
            advance=self._advance,
        )

    def _on_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        for change in changes:
            if change.name == 'speed':  # type and range were checked against the descriptor
                self._options['speed'] = change.value
                self._playback.tick = tick(change.value)
                self._pace.restart()
        return SetParametersResult(successful=True)

    def _advance(self) -> None:
        """Advance to the next event and publish it: transforms first, then clock, then scans."""
        before = self._playback.ended
        taken = self._playback.advance()
        stamp = Time(nanoseconds=self._playback.time).to_msg()
        self._publish_poses(stamp)
        self._clock_out.publish(ClockMessage(clock=stamp))
        for robot, reading in taken:
            self._publish_scan(robot, reading, stamp)
        if self._playback.ended and not before:
            self.get_logger().info(f'all scans played at {self._playback.time / NANO:.1f} s')

    def _publish_poses(self, stamp: Stamp) -> None:
        links: dict[str, list[Any]] = {topic: [] for topic in self._tf_out}
        for name, frame in self._frames.items():
            pose = np.array(self._playback.pose(name))
            link = transform(f'{frame}odom', f'{frame}base_link', pose, stamp)
            links[self._tf[name]].append(link)
            message = Odometry(header=link.header, child_frame_id=link.child_frame_id)
            position, shift = message.pose.pose.position, link.transform.translation
            position.x, position.y = shift.x, shift.y
            message.pose.pose.orientation = link.transform.rotation
            self._odometry[name].publish(message)
        for topic, out in self._tf_out.items():
            out.publish(TFMessage(transforms=links[topic]))

    def _publish_scan(self, robot: str, reading: Reading, stamp: Stamp) -> None:
        scan = limited(reading.scan, self._options['reach'])
        message = LaserScan(
            angle_min=scan.angle_min,
            angle_max=scan.angle_min + scan.angle_increment * (scan.ranges.size - 1),
            angle_increment=scan.angle_increment,
            range_min=scan.range_min,
            range_max=scan.range_max,
        )
        message.header.stamp = stamp
        message.header.frame_id = f'{self._frames[robot]}laser'
        message.ranges.frombytes(scan.ranges.astype(np.float32).tobytes())
        self._scans[robot].publish(message)

    def _publish_fixed(self) -> None:
        """Publish the fixed transforms: odom is the log's frame, the laser is on the base."""
        for topic, out in self._fixed_out.items():
            links = []
            for name, frame in self._frames.items():
                if self._tf[name] == topic:
                    parent = self._options['map_frame']
                    links.append(transform(parent, f'{frame}odom', HERE, Stamp()))
                    links.append(transform(f'{frame}base_link', f'{frame}laser', HERE, Stamp()))
            out.publish(TFMessage(transforms=links))


def main() -> int:
    """Run until interrupted; a wrong parameter is reported in one line."""
    return run('delama_replay', Replay, lambda node: None)


if __name__ == '__main__':
    sys.exit(main())
