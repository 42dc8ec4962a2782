"""Writes a log as a rosbag2 folder for ros2 bag, nav2 and RViz."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from delama_ros.data.log import Log, LogError, Reading
from delama_ros.extras import cure
from delama_ros.geometry.grid import OccupancyMap, Pose

if TYPE_CHECKING:
    from rosbags.interfaces import Qos

STORAGES = ('sqlite3', 'mcap')
VERSION = 8  # of rosbag2's metadata: the newest that releases before Jazzy can read
MAP, ODOM, BASE, LASER = 'map', 'odom', 'base_link', 'laser'  # frames, REP-105
HERE: Pose = (0.0, 0.0, 0.0)
# Topic → type, and whether late subscribers receive the last message.
TOPICS = {
    '/tf_static': ('tf2_msgs/msg/TFMessage', True),
    '/sim/truth': ('nav_msgs/msg/OccupancyGrid', True),
    '/tf': ('tf2_msgs/msg/TFMessage', False),
    '/odom': ('nav_msgs/msg/Odometry', False),
    '/scan': ('sensor_msgs/msg/LaserScan', False),
}


def write_bag(log: Log, folder: str | Path, *, storage: str = 'sqlite3') -> None:
    """Write scans, odometry, transforms and, if known, the true map.

    The sensor's pose goes from odom to base_link; map and odom, base_link and laser coincide.
    """
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise LogError(f'{folder}: {cure("rosbags")}') from None

    if storage not in STORAGES:
        raise LogError(f'storage is {storage!r}, expected one of {", ".join(STORAGES)}')
    path = Path(folder)
    if path.exists():
        raise LogError(f'{path}: already exists: remove it or choose another name')
    types = get_typestore(Stores.ROS2_JAZZY)
    messages = _Messages(types.types)
    first = log.readings[0].stamp
    entries: list[tuple[str, float, Any]] = [('/tf_static', first, messages.fixed(first))]
    if log.truth is not None:
        entries.append(('/sim/truth', first, messages.grid(first, log.truth)))
    for reading in log.readings:
        transform = messages.transform(reading.stamp, ODOM, BASE, reading.pose)
        entries += [
            ('/tf', reading.stamp, messages.tf([transform])),
            ('/odom', reading.stamp, messages.odometry(reading)),
            ('/scan', reading.stamp, messages.scan(reading)),
        ]
    try:
        plugin = StoragePlugin[storage.upper()]
        with Writer(path, version=VERSION, storage_plugin=plugin) as writer:
            used = {topic for topic, _, _ in entries}
            connections = {
                topic: writer.add_connection(
                    topic, kind, typestore=types, offered_qos_profiles=[offered_qos(latched)]
                )
                for topic, (kind, latched) in TOPICS.items()
                if topic in used
            }
            for topic, stamp, message in entries:
                data = types.serialize_cdr(message, TOPICS[topic][0])
                writer.write(connections[topic], round(stamp * 1e9), data)
    except OSError as error:
        raise LogError(f'{path}: cannot be written: {error.strerror}') from None


def offered_qos(latched: bool) -> Qos:
    """Return the QoS for playing the bag: reliable also serves best-effort subscribers."""
    from rosbags.interfaces import (
        Qos,
        QosDurability,
        QosHistory,
        QosLiveliness,
        QosReliability,
        QosTime,
    )

    forever = QosTime(9223372036, 854775807)  # as rosbag2 writes it
    return Qos(
        QosHistory.KEEP_LAST,
        1 if latched else 100,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        False,
    )


class _Messages:
    """Creates messages of the classes of a type store."""

    def __init__(self, types: Any) -> None:
        self._types = types

    def _make(self, kind: str, *fields: Any) -> Any:
        return self._types[kind](*fields)

    def _header(self, stamp: float, frame: str) -> Any:
        seconds, nanoseconds = divmod(round(stamp * 1e9), 10**9)
        time = self._make('builtin_interfaces/msg/Time', seconds, nanoseconds)
        return self._make('std_msgs/msg/Header', time, frame)

    def _rotation(self, yaw: float) -> Any:
        half = yaw / 2
        return self._make(
            'geometry_msgs/msg/Quaternion', 0.0, 0.0, math.sin(half), math.cos(half)
        )

    def _pose(self, pose: Pose) -> Any:
        position = self._make('geometry_msgs/msg/Point', pose[0], pose[1], 0.0)
        return self._make('geometry_msgs/msg/Pose', position, self._rotation(pose[2]))

    def transform(self, stamp: float, parent: str, child: str, pose: Pose) -> Any:
        shift = self._make('geometry_msgs/msg/Vector3', pose[0], pose[1], 0.0)
        moved = self._make('geometry_msgs/msg/Transform', shift, self._rotation(pose[2]))
        header = self._header(stamp, parent)
        return self._make('geometry_msgs/msg/TransformStamped', header, child, moved)

    def tf(self, transforms: list[Any]) -> Any:
        return self._make('tf2_msgs/msg/TFMessage', transforms)

    def fixed(self, stamp: float) -> Any:
        links = ((MAP, ODOM), (BASE, LASER))
        return self.tf([self.transform(stamp, a, b, HERE) for a, b in links])

    def odometry(self, reading: Reading) -> Any:
        unknown = np.zeros(36)
        zero = self._make('geometry_msgs/msg/Vector3', 0.0, 0.0, 0.0)
        still = self._make('geometry_msgs/msg/Twist', zero, zero)
        return self._make(
            'nav_msgs/msg/Odometry',
            self._header(reading.stamp, ODOM),
            BASE,
            self._make('geometry_msgs/msg/PoseWithCovariance', self._pose(reading.pose), unknown),
            self._make('geometry_msgs/msg/TwistWithCovariance', still, unknown),
        )

    def scan(self, reading: Reading) -> Any:
        scan = reading.scan
        last = scan.angle_min + scan.angle_increment * (scan.ranges.size - 1)
        return self._make(
            'sensor_msgs/msg/LaserScan',
            self._header(reading.stamp, LASER),
            scan.angle_min,
            last,
            scan.angle_increment,
            0.0,
            0.0,
            scan.range_min,
            scan.range_max,
            scan.ranges.astype(np.float32),
            np.zeros(0, np.float32),
        )

    def grid(self, stamp: float, truth: OccupancyMap) -> Any:
        header = self._header(stamp, MAP)
        rows, columns = truth.shape
        info = self._make(
            'nav_msgs/msg/MapMetaData',
            header.stamp,
            truth.resolution,
            columns,
            rows,
            self._pose(truth.origin),
        )
        return self._make('nav_msgs/msg/OccupancyGrid', header, info, truth.cells.ravel())
