"""The replay node over DDS: scans, poses, frames and clock of a log cut up among robots."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from tf2_msgs.msg import TFMessage

from delama_ros.data.log import Log, Reading
from delama_ros.data.write import write_bag
from delama_ros.geometry.frames import Frames
from delama_ros.mapping.scan import Scan
from delama_ros.robot.parameters import REPLAY
from delama_ros.ros.conversions import LATCHED, yaw_of

PATIENCE = 120.0  # s
# Deep, so that a stall of this process loses nothing.
SCANS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
NAMES = ['ada', 'bob']


def seconds(stamp: Any) -> float:
    return float(stamp.sec + stamp.nanosec * 1e-9)


@pytest.fixture
def log() -> Log:
    """Ten scans a second apart, each with its own ranges, a no return and a far wall."""
    readings = []
    for i in range(10):
        ranges = np.full(90, 1.0 + i)
        ranges[0], ranges[1] = math.inf, 30.0
        scan = Scan(ranges, -1.5, 0.125, 0.0, 50.0)
        readings.append(Reading(500.0 + i, scan, (0.5 * i, -1.0, 0.25 * i)))
    return Log('ten', tuple(readings))


def command(**parameters: str) -> list[str]:
    given = [text for name, value in parameters.items() for text in ('-p', f'{name}:={value}')]
    return [sys.executable, '-m', 'delama_ros.ros.replay', '--ros-args', *given]


@pytest.fixture
def heard(
    log: Log, tmp_path: Path, ros_environment: dict[str, str]
) -> Iterator[Callable[[Callable[[dict[str, list[Any]]], bool]], dict[str, list[Any]]]]:
    write_bag(log, tmp_path / 'bag')
    process = subprocess.Popen(
        command(logs=f'[{tmp_path / "bag"}]', robots='[ada,bob]', speed='10.0'),
        env=ros_environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    context = rclpy.Context()
    rclpy.init(context=context)
    node = Node('listener', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    got: dict[str, list[Any]] = defaultdict(list)
    for name in NAMES:
        for kind, topic, qos in (
            (LaserScan, f'/{name}/scan', SCANS),
            (Odometry, f'/{name}/odom', 100),
        ):
            node.create_subscription(kind, topic, got[topic].append, qos)
    node.create_subscription(Clock, '/clock', got['/clock'].append, 100)
    node.create_subscription(TFMessage, '/tf', got['/tf'].append, 100)
    node.create_subscription(TFMessage, '/tf_static', got['/tf_static'].append, LATCHED)

    def wait(done: Callable[[dict[str, list[Any]]], bool]) -> dict[str, list[Any]]:
        end = time.monotonic() + PATIENCE
        while not done(got):
            assert time.monotonic() < end, {topic: len(said) for topic, said in got.items()}
            executor.spin_once(timeout_sec=0.02)
        return got

    yield wait
    node.destroy_node()
    rclpy.try_shutdown(context=context)
    process.send_signal(2)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert 'Traceback' not in errors


def test_a_log_cut_up_among_two_robots(log: Log, heard: Callable[..., dict[str, Any]]) -> None:
    got = heard(
        lambda g: all(len(g[f'/{n}/scan']) == 5 for n in NAMES)
        and g['/tf_static']
        and seconds(g['/tf'][-1].transforms[0].header.stamp) > 5
    )
    frames = Frames(keep=math.inf)
    for message in got['/tf_static']:
        for link in message.transforms:
            frames.set_fixed(link.header.frame_id, link.child_frame_id, pose_of(link.transform))
    for message in got['/tf']:
        for link in message.transforms:
            stamp = seconds(link.header.stamp)
            frames.add(link.header.frame_id, link.child_frame_id, stamp, pose_of(link.transform))
    for k, name in enumerate(NAMES):
        assert [seconds(m.header.stamp) for m in got[f'/{name}/scan']] == [1, 2, 3, 4, 5]
        for message, reading in zip(got[f'/{name}/scan'], log.readings[5 * k :], strict=False):
            assert message.header.frame_id == f'{name}/laser'
            assert math.isnan(message.ranges[0]), 'no return says nothing'
            assert message.ranges[1] == math.inf, 'a wall beyond reach says that all is free'
            assert message.range_max == 20.0
            np.testing.assert_array_equal(message.ranges[2:], reading.scan.ranges[2:])
            stamp = seconds(message.header.stamp)
            pose = frames.lookup('map', message.header.frame_id, stamp)
            assert pose == pytest.approx(reading.pose, abs=1e-6)
        odometry = got[f'/{name}/odom'][-1]
        assert odometry.header.frame_id == f'{name}/odom'
        assert odometry.child_frame_id == f'{name}/base_link'
    clock = np.array([seconds(m.clock) for m in got['/clock']])
    assert np.diff(clock).min() > 0
    assert np.diff(clock).max() < 0.201, 'at speed 10 the clock ticks every 0.2 s'


def pose_of(moved: Any) -> tuple[float, float, float]:
    r = moved.rotation
    return moved.translation.x, moved.translation.y, yaw_of(r.x, r.y, r.z, r.w)


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({}, 'logs: expected the file of at least one log'),
        ({'logs': '[missing.bag]'}, 'missing.bag: no such file'),
        ({'logs': '[a.log,b.log,c.log]', 'robots': '[a,b]'}, 'logs: 3 for 2 robots'),
        ({'logs': '[a.log]', 'robots': '[1a]'}, "'1a' is not a ROS name"),
        ({'logs': '[a.log]', 'topics': '[/a,/b]'}, 'topics: 2 for 1 logs'),
    ],
)
def test_wrong_parameters_end_it_with_a_line(
    parameters: dict[str, str], words: str, ros_environment: dict[str, str]
) -> None:
    done = subprocess.run(command(**parameters), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith('delama_replay: error: ')
    assert words in done.stderr


def test_every_parameter_is_described() -> None:
    text = (Path(__file__).parents[2] / 'docs' / 'logs.md').read_text()
    assert all(f'| `{name}` |' in text for name in REPLAY)
