"""The robot node over DDS: lifecycle, services, and sensors that misbehave."""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import OccupancyGrid, Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from delama_ros.nodes.maps import LATCHED, occupancy_from_ros
from delama_ros.srv import File
from delama_sim.map_file import read_map

PERIOD = 0.5


class Bench:
    """A robot node in a process of its own, and everything around it played by the test."""

    def __init__(self, environment: dict[str, str], folder: Path, **parameters: str) -> None:
        given = {'period': str(PERIOD), 'deadline': '0.2', **parameters}
        flags = [text for name, value in given.items() for text in ('-p', f'{name}:={value}')]
        self.log = folder / 'robot.log'
        command = [sys.executable, '-m', 'delama_ros.nodes.robot', '--ros-args']
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [*command, '-r', '__ns:=/ann', *flags],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node('bench', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.maps: list[OccupancyGrid] = []
        self.status: dict[str, str] = {'message': ''}
        self.node.create_subscription(OccupancyGrid, '/ann/map', self.maps.append, LATCHED)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_status, 10)
        self.scans = self.node.create_publisher(LaserScan, '/ann/scan', qos_profile_sensor_data)
        self._tf = self.node.create_publisher(TFMessage, '/tf', 100)
        self.odometry = self.node.create_publisher(Odometry, '/ann/odom', 10)
        self._clock = self.node.create_publisher(Clock, '/clock', 10)
        self.now: Any = None  # of the simulated clock, if there is one

    def _on_status(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.status = {item.key: item.value for item in status.values}
            self.status['message'] = status.message

    def close(self) -> None:
        self.process.send_signal(2)
        assert self.process.wait(60) == 0
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def until(
        self, condition: Callable[[], Any], meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        end = time.monotonic() + 120.0
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, (self.status, self.log.read_text())
            meanwhile()
            self._executor.spin_once(timeout_sec=0.05)

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, f'/ann/delama/{name}')
        self.until(client.service_is_ready)
        future = client.call_async(kind.Request(**fields))
        self.until(future.done)
        return future.result()

    def set_clock(self, seconds: float) -> None:
        """Let the simulated clock be this, here and there."""
        self.now = Time(nanoseconds=round(seconds * 1e9)).to_msg()
        self._clock.publish(Clock(clock=self.now))

    def scan(self, ranges: Any = None, frame: str = 'ann/laser', *, pose: bool = True) -> None:
        """Publish a scan of a round room of 2 m, and the pose it was taken from."""
        stamp = self.now or self.node.get_clock().now().to_msg()
        message = LaserScan(
            angle_min=0.0, angle_increment=math.pi / 90, range_min=0.1, range_max=8.0
        )
        message.header.frame_id, message.header.stamp = frame, stamp
        message.ranges = np.full(180, 2.0, np.float32).tolist() if ranges is None else ranges
        if pose:
            link = TransformStamped(child_frame_id='ann/laser')
            link.header.frame_id, link.header.stamp = 'map', stamp
            link.transform.rotation.w = 1.0
            self._tf.publish(TFMessage(transforms=[link]))
        self.scans.publish(message)

    def map_some(self) -> None:
        """Let it map until what it draws has come to rest."""
        self.maps.clear()
        self.until(
            lambda: len(self.maps) > 2 and 100 < walls(self.maps[-2]) <= walls(self.maps[-1]),
            meanwhile=self.scan,
        )


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, tmp_path: Path, ros_environment: dict[str, str]
) -> Iterator[Bench]:
    bench = Bench(ros_environment, tmp_path, **getattr(request, 'param', {}))
    yield bench
    bench.close()
    assert 'Traceback' not in bench.log.read_text()


def walls(grid: OccupancyGrid) -> int:
    return int((np.asarray(grid.data) >= 50).sum())


def test_services(bench: Bench, tmp_path: Path) -> None:
    bench.map_some()
    drawn = occupancy_from_ros(bench.maps[-1])
    assert drawn.value_at([0.0, 0.0]) < 20
    assert drawn.value_at([2.05, 0.0]) > 60

    answer = bench.call(File, 'save_map', path=str(tmp_path / 'maps' / 'room'))
    assert answer.success, answer.message
    assert read_map(tmp_path / 'maps' / 'room.yaml').value_at([2.05, 0.0]) == 100
    answer = bench.call(File, 'save_map', path='/proc/no/such/place')
    assert not answer.success
    assert '/proc' in answer.message
    assert not bench.call(File, 'save_map', path='').success

    memory = str(tmp_path / 'memory.npz')
    assert bench.call(File, 'save_memory', path=memory).success
    assert bench.call(Trigger, 'reset').success
    bench.maps.clear()
    bench.until(lambda: bench.maps)  # without scans: the clock begins steps
    assert walls(bench.maps[-1]) == 0
    answer = bench.call(File, 'load_memory', path=memory)
    assert answer.success, answer.message
    bench.maps.clear()
    bench.until(lambda: bench.maps)
    assert walls(bench.maps[-1]) > 100

    (tmp_path / 'broken.npz').write_bytes(b'not a memory')
    answer = bench.call(File, 'load_memory', path=str(tmp_path / 'broken.npz'))
    assert not answer.success
    assert 'broken.npz' in answer.message
    assert not bench.call(File, 'load_memory', path=str(tmp_path / 'missing.npz')).success

    assert bench.call(SetBool, 'pause', data=True).success
    time.sleep(2 * PERIOD)
    bench.maps.clear()
    end = time.monotonic() + 4 * PERIOD
    bench.until(lambda: time.monotonic() > end, meanwhile=bench.scan)
    assert bench.maps == []
    assert bench.call(SetBool, 'pause', data=False).success
    bench.map_some()


@pytest.mark.parametrize('bench', [{'quiet': '2.0'}], indirect=True)
def test_scans_that_are_of_no_use_are_named_and_do_no_harm(bench: Bench) -> None:
    bench.map_some()
    before = walls(bench.maps[-1])
    nan, inf = float('nan'), float('inf')
    for scan, words in (
        (lambda: bench.scan([nan] * 180), 'scan refused: none of its 180 ranges is a number'),
        (lambda: bench.scan([]), 'scan refused: ranges have shape (0,)'),
        (lambda: bench.scan(frame='some/where', pose=False), "'some/where' has no parent"),
    ):
        bench.until(
            lambda w=words: w in bench.log.read_text() and w in bench.status['message'],
            meanwhile=scan,
        )
    bench.until(lambda: 'no scan for 2 s on /ann/scan' in bench.status['message'])
    for _ in range(10):  # some beams are wrong, the others are taken
        bench.scan([2.0, nan, inf, -inf, 99.0, 0.0] * 30)
        time.sleep(0.02)
    bench.map_some()  # and it goes on without a restart
    assert walls(bench.maps[-1]) > 0.8 * before
    bench.until(
        lambda: bench.status['message'] == 'no neighbour for 2 s'
        and float(bench.status['scans per second']) > 1,
        meanwhile=bench.scan,
    )


@pytest.mark.parametrize('bench', [{'use_sim_time': 'true'}], indirect=True)
def test_a_clock_that_jumps_back(bench: Bench) -> None:
    now = 100.0

    def go_on() -> None:
        nonlocal now
        now += 0.05
        bench.set_clock(now)
        bench.scan()

    def steps(condition: Callable[[int], bool]) -> None:
        bench.until(lambda: condition(int(bench.status.get('step', 0))), meanwhile=go_on)

    steps(lambda step: step > 203 and walls(bench.maps[-1]) > 100)
    now = 50.0
    steps(lambda step: 100 < step < 200)
    assert bench.status['clock jumps'] == '1'
    assert 'the clock has jumped back to 50.' in bench.log.read_text()
    scans = int(bench.status['scans'])
    bench.until(lambda: int(bench.status['scans']) > scans + 5, meanwhile=go_on)
    assert walls(bench.maps[-1]) > 100


def test_a_laser_that_hangs_upside_down(bench: Bench) -> None:
    near_on_its_left = [2.0] * 90 + [4.0] * 90
    fixed = bench.node.create_publisher(TFMessage, '/tf_static', LATCHED)
    link = TransformStamped(child_frame_id='ann/hanging')
    link.header.frame_id = 'ann/laser'
    link.transform.rotation.x, link.transform.rotation.w = 1.0, 0.0  # turned over, looking ahead
    fixed.publish(TFMessage(transforms=[link]))
    bench.until(
        lambda: bench.maps and walls(bench.maps[-1]) > 100,
        meanwhile=lambda: bench.scan(near_on_its_left, frame='ann/hanging'),
    )
    drawn = occupancy_from_ros(bench.maps[-1])
    assert drawn.value_at([0.0, -2.05]) > 60
    assert drawn.value_at([0.0, 2.05]) < 20


@pytest.mark.parametrize(
    'bench',
    [{'odometry': 'true', 'start_pose': '[3.0, 1.0, 1.5708]', 'quiet': '2.0'}],
    indirect=True,
)
def test_poses_from_odometry_and_a_start(bench: Bench) -> None:
    def drive(x: float = 1.0) -> None:
        stamp = bench.node.get_clock().now().to_msg()
        message = Odometry(child_frame_id='ann/laser')
        message.header.frame_id, message.header.stamp = 'ann/odom', stamp
        message.pose.pose.position.x = x
        message.pose.pose.orientation.w = 1.0
        bench.odometry.publish(message)
        bench.scan(pose=False)

    bench.until(lambda: bench.maps and walls(bench.maps[-1]) > 100, meanwhile=drive)
    drawn = occupancy_from_ros(bench.maps[-1])
    assert drawn.value_at([3.0, 2.0]) < 20  # where the robot stands: 1 m ahead of its start
    assert drawn.value_at([5.05, 2.0]) > 60

    # no odometry, then such that is none, then sound again
    bench.until(
        lambda: 'no pose for 2 s on /ann/odom' in bench.status['message']
        and "scan dropped: no pose of 'ann/laser'" in bench.log.read_text(),
        meanwhile=lambda: bench.scan(pose=False),
    )
    bench.until(
        lambda: "pose of 'ann/laser' refused: position (nan, 0.0)" in bench.log.read_text(),
        meanwhile=lambda: drive(math.nan),
    )
    bench.until(lambda: 'expected less than' in bench.status['message'], lambda: drive(1e9))
    bench.until(lambda: bench.status['message'] == 'no neighbour for 2 s', meanwhile=drive)
    assert occupancy_from_ros(bench.maps[-1]).value_at([5.05, 2.0]) > 60


@pytest.mark.parametrize('bench', [{'autostart': 'false'}], indirect=True)
def test_a_manager_can_lead_it_through_its_life(bench: Bench) -> None:
    def state() -> int:
        return int(bench.call(GetState, 'get_state').current_state.id)

    def change(transition: int) -> bool:
        request = Transition(id=transition)
        return bool(bench.call(ChangeState, 'change_state', transition=request).success)

    assert state() == State.PRIMARY_STATE_UNCONFIGURED
    assert change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)
    assert state() == State.PRIMARY_STATE_ACTIVE
    bench.map_some()
    assert change(Transition.TRANSITION_DEACTIVATE)
    bench.maps.clear()
    end = time.monotonic() + 4 * PERIOD
    bench.until(lambda: time.monotonic() > end, meanwhile=bench.scan)
    assert bench.maps == []
    assert change(Transition.TRANSITION_ACTIVATE)
    bench.until(lambda: bench.maps)  # memory was kept
    assert walls(bench.maps[-1]) > 100
    assert change(Transition.TRANSITION_DEACTIVATE)
    assert change(Transition.TRANSITION_CLEANUP)
    assert state() == State.PRIMARY_STATE_UNCONFIGURED


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        (['-p', 'period:=-1.0'], 'period'),
        (['-p', 'encoding:=morse'], "encoding is 'morse', expected delta or float64"),
        (['-p', 'start_pose:=[1.0, 2.0]'], 'start_pose is [1.0, 2.0], expected x, y, yaw'),
        (['-p', 'checkpoint:=/no/such/file.npz'], '/no/such/file.npz'),
    ],
)
def test_wrong_parameters_are_named(
    ros_environment: dict[str, str], parameters: list[str], words: str
) -> None:
    command = [sys.executable, '-m', 'delama_ros.nodes.robot', '--ros-args', '-r', '__ns:=/ann']
    result = subprocess.run(
        [*command, *parameters], env=ros_environment, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 2
    assert words in result.stdout + result.stderr
    assert 'Traceback' not in result.stderr


def test_a_robot_without_a_name(ros_environment: dict[str, str]) -> None:
    result = subprocess.run(
        [sys.executable, '-m', 'delama_ros.nodes.robot'],
        env=ros_environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 2
    assert 'a robot needs a name' in result.stderr
