"""The simulator node over DDS: rates, frames, stamps, latched topics, services, bad parameters."""

from __future__ import annotations

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
from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from delama_ros.msg import Links
from delama_ros.robot.parameters import SIMULATOR
from delama_ros.ros.conversions import LATCHED, occupancy_from_ros
from delama_ros.simulation.world import make_world
from delama_sim.plans import load

NAMES = ['ada', 'bob', 'eve']
PATIENCE = 120.0  # s
# Deep, so that a stall of this process loses nothing.
SCANS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


def command(**parameters: str) -> list[str]:
    given = [text for name, value in parameters.items() for text in ('-p', f'{name}:={value}')]
    return [sys.executable, '-m', 'delama_ros.simulation.node', '--ros-args', *given]


def stamp_of(message: Any) -> int:
    stamp = message.clock if hasattr(message, 'clock') else message.header.stamp
    return int(stamp.sec * 10**9 + stamp.nanosec)


class Listener(Node):
    def __init__(self, context: Any) -> None:
        super().__init__('listener', context=context)
        self.got: dict[str, list[Any]] = defaultdict(list)
        self.arrival: dict[str, list[float]] = defaultdict(list)
        for name in NAMES:
            self.listen(LaserScan, f'/{name}/scan', SCANS)
            self.listen(Odometry, f'/{name}/odom', 100)
        self.listen(Clock, '/clock', 100)
        self.listen(TFMessage, '/tf', 100)

    def listen(self, kind: Any, topic: str, qos: Any) -> None:
        def keep(message: Any) -> None:
            self.got[topic].append(message)
            self.arrival[topic].append(time.monotonic())

        self.create_subscription(kind, topic, keep, qos)


class Bench:
    """A simulator in its own process and a listener here."""

    def __init__(self, listener: Listener, executor: SingleThreadedExecutor) -> None:
        self.listener, self._executor = listener, executor

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f'{what} did not happen in {PATIENCE} s'
            self._executor.spin_once(timeout_sec=0.02)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.listener.create_client(kind, name)
        assert client.wait_for_service(timeout_sec=PATIENCE), f'no service {name}'
        future = client.call_async(request)
        self.wait(future.done, f'an answer of {name}')
        self.listener.destroy_client(client)
        return future.result()


@pytest.fixture
def bench(ros_environment: dict[str, str], request: pytest.FixtureRequest) -> Iterator[Bench]:
    usual = {'plan': 'generated:3', 'seed': '4', 'scan_rate': '10.0', 'ground_truth_tf': 'true'}
    process = subprocess.Popen(
        command(robots=f'[{",".join(NAMES)}]', **{**usual, **getattr(request, 'param', {})}),
        env=ros_environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    context = rclpy.Context()
    rclpy.init(context=context)
    listener = Listener(context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(listener)
    yield Bench(listener, executor)
    listener.destroy_node()
    rclpy.try_shutdown(context=context)
    process.send_signal(2)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert 'Traceback' not in errors


def test_rates_frames_and_stamps(bench: Bench) -> None:
    got = bench.listener.got
    bench.wait(lambda: all(len(got[f'/{n}/scan']) >= 25 for n in NAMES), 'scans of all')
    for name in NAMES:
        stamps = np.array([stamp_of(m) for m in got[f'/{name}/scan']])
        assert (np.diff(stamps) > 0).all()
        assert (stamps % 10**8 == 0).all(), 'scans come every 0.1 s of simulated time'
        assert np.median(np.diff(stamps)) == 10**8
        scan = got[f'/{name}/scan'][0]
        assert scan.header.frame_id == f'{name}/laser'
        assert len(scan.ranges) == 360
        assert scan.angle_min + 359 * scan.angle_increment == pytest.approx(scan.angle_max)
        odometry = got[f'/{name}/odom'][0]
        assert odometry.header.frame_id == f'{name}/odom'
        assert odometry.child_frame_id == f'{name}/base_link'
        ticks = np.diff([stamp_of(m) for m in got[f'/{name}/odom']])
        assert (ticks == 5 * 10**7).all(), 'odometry comes every 0.05 s'
    arrivals = bench.listener.arrival['/ada/scan']
    wall = (arrivals[-1] - arrivals[0]) / (len(arrivals) - 1)
    assert 0.08 < wall < 1.0, 'at speed 1 that is 0.1 s of real time, on a busy machine more'

    links = {(t.header.frame_id, t.child_frame_id) for m in got['/tf'] for t in m.transforms}
    assert links == {
        pair for n in NAMES for pair in (('map', f'{n}/odom'), (f'{n}/odom', f'{n}/base_link'))
    }
    clock = np.array([stamp_of(m) for m in got['/clock']])
    assert (np.diff(clock) > 0).all()


def test_late_subscribers_get_map_links_and_mounts(bench: Bench) -> None:
    listener = bench.listener
    bench.wait(lambda: len(listener.got['/ada/scan']) > 3, 'a scan')
    listener.listen(OccupancyGrid, '/sim/truth', LATCHED)
    listener.listen(Links, '/delama/links', LATCHED)
    listener.listen(TFMessage, '/tf_static', LATCHED)
    for topic in ('/sim/truth', '/delama/links', '/tf_static'):
        bench.wait(lambda topic=topic: len(listener.got[topic]) > 0, topic)  # type: ignore[misc]
    truth = listener.got['/sim/truth'][0]
    assert truth.header.frame_id == 'map'
    assert (occupancy_from_ros(truth).cells == load('generated:3').map.cells).all()
    links = listener.got['/delama/links'][0]
    assert list(links.robots) == NAMES
    assert len(links.hears) == 9
    fixed = listener.got['/tf_static'][0].transforms
    mounts = {(t.header.frame_id, t.child_frame_id) for t in fixed}
    assert mounts == {(f'{n}/base_link', f'{n}/laser') for n in NAMES}


def test_scans_are_those_of_the_library(bench: Bench) -> None:
    got = bench.listener.got
    bench.wait(lambda: all(len(got[f'/{n}/scan']) >= 10 for n in NAMES), 'scans')
    options = {name: option.default for name, option in SIMULATOR.items()}
    world = make_world(
        {**options, 'plan': 'generated:3', 'robots': NAMES, 'seed': 4, 'scan_rate': 10.0}
    )
    expected = {(s.robot, s.stamp): s.ranges for s in world.advance(2.0)}
    compared = 0
    for name in NAMES:
        for message in got[f'/{name}/scan']:
            ranges = expected.get((name, stamp_of(message)))
            if ranges is not None:
                compared += 1
                assert np.asarray(message.ranges, np.float32).tobytes() == ranges.tobytes()
    assert compared >= 30


def test_pause_step_reset_and_speed(bench: Bench) -> None:
    got = bench.listener.got
    bench.wait(lambda: len(got['/ada/scan']) > 3, 'a scan')
    refused = bench.call(Trigger, '/simulator/step', Trigger.Request())
    assert not refused.success
    assert 'not paused' in refused.message

    assert bench.call(SetBool, '/simulator/pause', SetBool.Request(data=True)).success
    bench.spin(1.0)
    clocks, scans = len(got['/clock']), len(got['/ada/scan'])
    bench.spin(0.5)
    assert (len(got['/clock']), len(got['/ada/scan'])) == (clocks, scans), 'paused: nothing moves'
    last = stamp_of(got['/ada/scan'][-1])
    assert bench.call(Trigger, '/simulator/step', Trigger.Request()).success
    bench.wait(lambda: len(got['/ada/scan']) > scans, 'the scan of one step')
    bench.spin(0.3)
    assert len(got['/ada/scan']) == scans + 1
    assert stamp_of(got['/ada/scan'][-1]) == last + 10**8

    assert bench.call(Trigger, '/simulator/reset', Trigger.Request()).success
    assert bench.call(SetBool, '/simulator/pause', SetBool.Request(data=False)).success
    bench.wait(lambda: len(got['/ada/scan']) > scans + 5, 'scans after the reset')
    again, first = got['/ada/scan'][scans + 1], got['/ada/scan'][0]
    assert stamp_of(first) == 10**8
    assert again.ranges == first.ranges, 'after a reset the run is the same'

    change = Parameter('speed', value=5.0).to_parameter_msg()
    answer = bench.call(
        SetParameters, '/simulator/set_parameters', SetParameters.Request(parameters=[change])
    )
    assert answer.results[0].successful
    arrived = bench.listener.arrival['/clock']

    def speed() -> float:
        """Return simulated s per s over the last second."""
        begin = np.searchsorted(arrived, arrived[-1] - 1.0)
        passed = stamp_of(got['/clock'][-1]) - stamp_of(got['/clock'][begin])
        return float(passed / 1e9 / (arrived[-1] - arrived[begin] + 1e-3))

    bench.wait(lambda: 2 < speed() < 6, 'five times as fast, or as fast as a busy machine can')
    for name, value in (('speed', -1.0), ('beams', 10)):
        wrong = Parameter(name, value=value).to_parameter_msg()
        answer = bench.call(
            SetParameters, '/simulator/set_parameters', SetParameters.Request(parameters=[wrong])
        )
        assert not answer.results[0].successful, f'{name} must be refused'
    clock = np.array([stamp_of(m) for m in got['/clock']])
    assert (np.diff(clock) > 0).all(), '/clock never runs back, not even at a reset'


@pytest.mark.parametrize(
    'bench', [{'plan': 'generated:1, generated:2', 'namespaced_tf': 'true'}], indirect=True
)
def test_two_buildings_and_frames_for_nav2(bench: Bench) -> None:
    listener = bench.listener
    listener.listen(TFMessage, '/bob/tf', 100)
    listener.listen(OccupancyGrid, '/sim/truth', LATCHED)
    listener.listen(OccupancyGrid, '/sim/truth_1', LATCHED)
    for topic in ('/bob/tf', '/bob/scan', '/sim/truth', '/sim/truth_1'):
        bench.wait(lambda topic=topic: len(listener.got[topic]) > 0, topic)  # type: ignore[misc]
    links = listener.got['/bob/tf'][0].transforms
    assert [(t.header.frame_id, t.child_frame_id) for t in links] == [
        ('map', 'odom'),
        ('odom', 'base_link'),
    ]
    assert listener.got['/bob/scan'][0].header.frame_id == 'laser'
    assert not listener.got['/tf']
    for topic, plan in (('/sim/truth', 'generated:1'), ('/sim/truth_1', 'generated:2')):
        truth = occupancy_from_ros(listener.got[topic][0])
        assert (truth.cells == load(plan).map.cells).all()


def test_waypoints_and_edits(tmp_path: Path) -> None:
    options = {name: option.default for name, option in SIMULATOR.items()}
    explored = make_world({**options, 'robots': NAMES})
    explored.advance(12.0)
    goal = explored.poses[1, :2]
    (tmp_path / 'way.csv').write_text(f'{goal[0]}, {goal[1]}\n')
    world = make_world({**options, 'robots': NAMES, 'waypoints': ['', str(tmp_path / 'way.csv')]})
    world.advance(60.0)
    assert world.poses[1, :2] == pytest.approx(goal, abs=0.1)
    edited = make_world({**options, 'thicken_walls': 0.05, 'add_blocks': 2})
    assert edited.maps[0].solid.sum() > 1.2 * world.maps[0].solid.sum()


@pytest.mark.parametrize(
    ('parameters', 'part'),
    [
        ({'plan': 'nowhere.yaml'}, 'nowhere.yaml'),
        ({'waypoints': '[gone.csv]'}, 'gone.csv'),
        ({'dropout': '1.5'}, 'dropout'),
        ({'range_min': '5.0', 'range_max': '2.0'}, 'range_min'),
        ({'robots': '[a, a]'}, 'not all different'),
        ({'robots': '["two words"]'}, 'two words'),
        ({'scan_rate': '"often"'}, 'scan_rate'),
    ],
)
def test_wrong_parameters_end_it_with_one_line(
    ros_environment: dict[str, str], parameters: dict[str, str], part: str
) -> None:
    done = subprocess.run(
        command(**parameters), env=ros_environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    start = 'delama_simulator: error: '
    lines = [line for line in done.stderr.splitlines() if line.startswith(start)]
    assert len(lines) == 1
    assert part in lines[0]
    assert 'Traceback' not in done.stderr
