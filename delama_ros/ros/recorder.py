"""Records a swarm as a rosbag2: sensors, messages between robots, maps, status, ground truth."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from delama_ros.errors import UserError
from delama_ros.extras import cure

try:
    from delama_ros.data.recording import Recording
except ImportError:
    sys.exit(f'delama_recorder: error: {cure("rosbags")}')

from delama_ros.data.types import typestore
from delama_ros.data.write import offered_qos
from delama_ros.robot.parameters import RECORDER
from delama_ros.ros.options import declare
from delama_ros.ros.running import run

FLUSH = 2.0  # s that a crash may cost
# topic → (type, latched); {robot} stands for each robot
TOPICS = {
    '/tf': ('tf2_msgs/msg/TFMessage', False),
    '/tf_static': ('tf2_msgs/msg/TFMessage', True),
    '/diagnostics': ('diagnostic_msgs/msg/DiagnosticArray', False),
    '/rosout': ('rcl_interfaces/msg/Log', True),
    '/sim/truth': ('nav_msgs/msg/OccupancyGrid', True),
    '{swarm}/params': ('delama_ros/msg/ModelParams', False),
    '{swarm}/dual': ('delama_ros/msg/DualVar', False),
    '{swarm}/links': ('delama_ros/msg/Links', True),
    '/{robot}/scan': ('sensor_msgs/msg/LaserScan', False),
    '/{robot}/odom': ('nav_msgs/msg/Odometry', False),
    '/{robot}/map': ('nav_msgs/msg/OccupancyGrid', True),
    '/{robot}/map_probability': ('nav_msgs/msg/OccupancyGrid', True),
    '/{robot}/collaboration': ('delama_ros/msg/Collaboration', True),
    '/{robot}/status': ('delama_ros/msg/RobotStatus', True),
}


class Recorder(Node):
    """Writes messages as received, without decoding them, stamped with the ROS clock."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('recorder', **kwargs)
        options = declare(self, RECORDER)
        path = Path(options['path']).expanduser()
        if not options['path'] or path.exists():
            raise ValueError(f'path is {options["path"]!r}, expected a folder that does not exist')
        self._types = typestore()
        try:
            self._bag = Recording(path)
        except UserError as error:
            raise ValueError(str(error)) from error
        for topic, (kind, latched) in TOPICS.items():
            for robot in options['robots'] if '{robot}' in topic else ['']:
                self._record(topic.format(robot=robot, swarm=options['swarm']), kind, latched)
        self._bag.flush()  # readable from now on
        self.create_timer(FLUSH, self._bag.flush, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _record(self, topic: str, kind: str, latched: bool) -> None:
        package, _, name = kind.split('/')
        connection = self._bag.add_connection(
            topic, kind, typestore=self._types, offered_qos_profiles=[offered_qos(latched)]
        )
        self.create_subscription(
            getattr(import_module(f'{package}.msg'), name),
            topic,
            partial(self._write, connection),
            QoSProfile(
                depth=1000,
                # scans are published best effort; everything else is worth retransmitting
                reliability=ReliabilityPolicy.BEST_EFFORT
                if topic.endswith('/scan')
                else ReliabilityPolicy.RELIABLE,
                durability=DurabilityPolicy.TRANSIENT_LOCAL
                if latched
                else DurabilityPolicy.VOLATILE,
            ),
            raw=True,
        )

    def _write(self, connection: Any, data: bytes) -> None:
        self._bag.write(connection, self.get_clock().now().nanoseconds, data)

    def close(self) -> None:
        """Close the bag, unless it could not be written."""
        if self._bag.storage is not None:
            self._bag.close()


def main() -> int:
    """Record until interrupted."""
    return run('delama_recorder', Recorder, Recorder.close)


if __name__ == '__main__':
    sys.exit(main())
