"""A robot node in a process of its own, and everything around it played by a test."""

import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from tf2_msgs.msg import TFMessage

from delama_ros.ros.conversions import LATCHED

PERIOD = 0.5


class Bench:
    """The robot /ann and its sensors."""

    def __init__(self, environment: dict[str, str], folder: Path, **parameters: str) -> None:
        given = {'period': str(PERIOD), 'deadline': '0.2', **parameters}
        flags = [text for name, value in given.items() for text in ('-p', f'{name}:={value}')]
        self.log = folder / 'robot.log'
        command = [sys.executable, '-m', 'delama_ros.ros.robot', '--ros-args']
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
        self.probabilities: list[OccupancyGrid] = []
        self.node.create_subscription(
            OccupancyGrid, '/ann/map_probability', self.probabilities.append, LATCHED
        )
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
        assert self.process.wait(60) == 0, self.log.read_text()
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


def walls(grid: OccupancyGrid) -> int:
    return int((np.asarray(grid.data) >= 50).sum())
