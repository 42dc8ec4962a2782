"""Poses of scans in bags as robots record them: TF, odometry, namespaces, gaps."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from delama_ros.data.bag import ODOMETRY, SCAN, TF
from delama_ros.data.log import Log, LogError, Reading
from delama_ros.data.read import read_log
from delama_ros.data.timing import find_delay
from delama_ros.data.write import _Messages

TYPES = get_typestore(Stores.ROS2_JAZZY)
MAKE = _Messages(TYPES.types)
Said = list[tuple[str, str, float, Any]]  # topic, type, stamp, message


def link(stamp: float, parent: str, child: str, x: float, y: float, yaw: float) -> Any:
    return MAKE.tf([MAKE.transform(stamp, parent, child, (x, y, yaw))])


@pytest.fixture
def bag(tmp_path: Path) -> Callable[[Said], Path]:
    def write(said: Said) -> Path:
        path = tmp_path / 'bag'
        with Writer(path, version=8) as writer:
            kinds = {topic: kind for topic, kind, _, _ in said}
            connections = {
                topic: writer.add_connection(topic, kind, typestore=TYPES)
                for topic, kind in kinds.items()
            }
            for topic, kind, stamp, message in said:
                data = TYPES.serialize_cdr(message, kind)
                writer.write(connections[topic], round(stamp * 1e9), data)
        return path

    return write


def scans(log: Log, number: int, topic: str = '/scan') -> Said:
    """Scans at 10, 11, … s."""
    taken = [Reading(10.0 + i, log.readings[i].scan, (0, 0, 0)) for i in range(number)]
    return [(topic, SCAN, reading.stamp, MAKE.scan(reading)) for reading in taken]


def test_tf_is_interpolated_and_may_come_late(log: Log, bag: Callable[[Said], Path]) -> None:
    # The base moves 1 m/s along x, turned by 90 degrees; TF comes at half seconds, and after all
    # scans; the laser sits 0.2 m ahead and looks back.
    said = scans(log, 3)
    said += [
        ('/tf', TF, 99.0, link(9.5 + i, 'odom', 'base_link', i, 0, math.pi / 2)) for i in range(5)
    ]
    said.append(('/tf_static', TF, 99.5, link(0, 'base_link', 'laser', 0.2, 0, math.pi)))
    poses = [reading.pose for reading in read_log(bag(said)).readings]
    expected = [(0.5 + i, 0.2, -0.5 * math.pi) for i in range(3)]
    np.testing.assert_allclose(poses, expected, atol=1e-9)


def test_beams_of_a_hanging_laser_turn_the_other_way(
    log: Log, bag: Callable[[Said], Path]
) -> None:
    half = math.sqrt(0.5)
    mount = link(0, 'base_link', 'laser', 0.2, 0, 0)
    # Rolled by 180 degrees, then yawed by 90.
    rolled = TYPES.types['geometry_msgs/msg/Quaternion'](half, half, 0.0, 0.0)
    moved = TYPES.types['geometry_msgs/msg/Transform'](
        mount.transforms[0].transform.translation, rolled
    )
    stamped = TYPES.types['geometry_msgs/msg/TransformStamped'](
        mount.transforms[0].header, 'laser', moved
    )
    said = [*scans(log, 1), ('/tf_static', TF, 9.0, MAKE.tf([stamped]))]
    said += [('/tf', TF, t, link(t, 'odom', 'base_link', 0, 0, 0)) for t in (9.0, 11.0)]
    (reading,) = read_log(bag(said)).readings
    assert reading.pose == pytest.approx((0.2, 0.0, math.pi / 2))
    assert reading.scan.angle_min == pytest.approx(math.pi / 2)
    assert reading.scan.angle_increment == pytest.approx(-math.pi / 180)


def test_scans_without_pose_are_counted(log: Log, bag: Callable[[Said], Path]) -> None:
    said = scans(log, 10)
    said += [('/tf', TF, t, link(t, 'odom', 'laser', t, 0, 0)) for t in (12.1, 13.0, 16.9)]
    read = read_log(bag(said))
    assert [reading.stamp for reading in read.readings] == [12, 13, 14, 15, 16, 17]
    assert read.notes == ('4 of 10 scans have no pose and are skipped',)
    assert read.readings[0].pose[0] == pytest.approx(12.1)  # the first there is, 0.1 s later


def test_odometry_stands_in_for_tf(log: Log, bag: Callable[[Said], Path]) -> None:
    odometry = [Reading(9.0 + i, log.readings[0].scan, (i, 1.0, 0.5)) for i in range(5)]
    said = scans(log, 3) + [('/odom', ODOMETRY, r.stamp, MAKE.odometry(r)) for r in odometry]
    said.append(('/tf_static', TF, 9.0, link(0, 'base_link', 'laser', 0.1, 0, 0.25)))
    read = read_log(bag(said))
    assert read.notes == ()
    assert read.readings[0].pose == pytest.approx(
        (1 + 0.1 * math.cos(0.5), 1 + 0.1 * math.sin(0.5), 0.75)
    )


def test_laser_without_mount_is_put_at_the_base(log: Log, bag: Callable[[Said], Path]) -> None:
    odometry = [Reading(9.0 + i, log.readings[0].scan, (i, 1.0, 0.5)) for i in range(5)]
    said = scans(log, 3) + [('/odom', ODOMETRY, r.stamp, MAKE.odometry(r)) for r in odometry]
    read = read_log(bag(said))
    assert read.readings[0].pose == pytest.approx((1.0, 1.0, 0.5))
    assert "no transform from 'base_link' to 'laser'" in read.notes[0]


def test_no_poses_at_all(log: Log, bag: Callable[[Said], Path]) -> None:
    with pytest.raises(LogError, match='record /tf and /tf_static'):
        read_log(bag(scans(log, 3)))


def test_poses_of_another_time(log: Log, bag: Callable[[Said], Path]) -> None:
    said = [*scans(log, 3), ('/tf', TF, 5.0, link(5.0, 'odom', 'laser', 0, 0, 0))]
    with pytest.raises(LogError, match='/scan: none of 3 scans has a pose at its time'):
        read_log(bag(said))


def test_robots_of_one_bag_are_kept_apart(log: Log, bag: Callable[[Said], Path]) -> None:
    said: Said = []
    for name, x in (('a', 1.0), ('b', 2.0)):
        said += scans(log, 2, f'/{name}/scan')
        said += [(f'/{name}/tf', TF, t, link(t, 'odom', 'laser', x, 0, 0)) for t in (9.0, 12.0)]
    path = bag(said)
    with pytest.raises(LogError, match=r'several topics.*--topic.*/a/scan, /b/scan'):
        read_log(path)
    assert read_log(path, topic='/b/scan').readings[0].pose == (2.0, 0.0, 0.0)


def test_bag_without_scans_says_what_it_holds(bag: Callable[[Said], Path]) -> None:
    with pytest.raises(LogError, match=r'no topic with sensor_msgs/msg/LaserScan.*/tf \('):
        read_log(bag([('/tf', TF, 5.0, link(5.0, 'odom', 'laser', 0, 0, 0))]))


def test_delay_is_found_where_the_robot_turns(log: Log) -> None:
    def late(earlier: float) -> list[Reading]:
        # Stamps are 0.1 s late: poses of 0.1 s before them fit, at 1 rad/s.
        return [
            Reading(r.stamp, r.scan, (*r.pose[:2], r.pose[2] + 0.1 - earlier))
            for r in log.readings
        ]

    assert find_delay(late) == pytest.approx(0.1, abs=0.021)
    assert find_delay(lambda _: log.readings) == 0.0
