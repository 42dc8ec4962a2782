import math
from pathlib import Path

import numpy as np
import pytest

from delama_ros.cli.main import main
from delama_ros.data.bag import read_bag
from delama_ros.data.log import Log, LogError
from delama_ros.data.read import read_log
from delama_ros.data.write import write_bag
from delama_ros.geometry.grid import OccupancyMap


def assert_equal(a: Log, b: Log) -> None:
    assert len(a.readings) == len(b.readings)
    for mine, theirs in zip(a.readings, b.readings, strict=True):
        assert mine.stamp == pytest.approx(theirs.stamp, abs=1e-6)
        assert mine.pose[:2] == pytest.approx(theirs.pose[:2], abs=1e-9)
        assert math.remainder(mine.pose[2] - theirs.pose[2], 2 * math.pi) == pytest.approx(0)
        np.testing.assert_array_equal(mine.scan.ranges, theirs.scan.ranges)
        for name in ('angle_min', 'angle_increment', 'range_min', 'range_max'):
            assert getattr(mine.scan, name) == pytest.approx(getattr(theirs.scan, name))


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_round_trip_carmen_to_rosbag2(storage: str, carmen_file: Path, tmp_path: Path) -> None:
    carmen = read_log(carmen_file)
    write_bag(carmen, tmp_path / 'bag', storage=storage)
    assert_equal(read_log(tmp_path / 'bag'), carmen)
    (file,) = (f for f in (tmp_path / 'bag').iterdir() if f.suffix in ('.db3', '.mcap'))
    assert_equal(read_log(file), carmen)


def test_true_map_travels_along(log: Log, tmp_path: Path) -> None:
    cells = np.arange(6, dtype=np.int8).reshape(2, 3)
    truth = OccupancyMap(cells, 0.5, (1.0, 2.0, 0.3))
    write_bag(Log('a', log.readings, truth), tmp_path / 'bag')
    read = read_log(tmp_path / 'bag').truth
    assert read is not None
    np.testing.assert_array_equal(read.cells, cells)
    assert read.origin == pytest.approx(truth.origin)


def test_topics_and_qos_are_those_of_ros(log: Log, tmp_path: Path) -> None:
    from rosbags.rosbag2 import Reader

    write_bag(log, tmp_path / 'bag')
    with Reader(tmp_path / 'bag') as reader:
        topics = {c.topic: c for c in reader.connections}
        offered = {name: c.ext.offered_qos_profiles[0] for name, c in topics.items()}
    assert {name: (c.msgtype, c.msgcount) for name, c in topics.items()} == {
        '/scan': ('sensor_msgs/msg/LaserScan', 40),
        '/odom': ('nav_msgs/msg/Odometry', 40),
        '/tf': ('tf2_msgs/msg/TFMessage', 40),
        '/tf_static': ('tf2_msgs/msg/TFMessage', 1),
    }
    durabilities = {name: qos.durability.name for name, qos in offered.items()}
    assert durabilities.pop('/tf_static') == 'TRANSIENT_LOCAL'
    assert set(durabilities.values()) == {'VOLATILE'}
    assert {qos.reliability.name for qos in offered.values()} == {'RELIABLE'}


def test_turtlebot4_bag(data_dir: Path) -> None:
    log = read_log(data_dir / 'ros_bags' / 'macfirst_floor_take_2')
    assert len(log.readings) == 357
    assert {reading.scan.ranges.size for reading in log.readings} == {720}
    assert log.notes == ()
    # At rest, odometry says (6.5396, -8.8584), quaternion z 0.75309: yaw 97.71 degrees. The laser
    # sits 4 mm ahead and is yawed by +90 degrees.
    x, y, yaw = log.readings[0].pose
    assert (x, y) == pytest.approx((6.53909, -8.85449), abs=1e-4)
    assert math.degrees(yaw) == pytest.approx(187.72 - 360.0, abs=0.02)
    ends = np.array([reading.pose[:2] for reading in log.readings])
    assert np.linalg.norm(np.diff(ends, axis=0), axis=1).sum() == pytest.approx(8.34, abs=0.05)


def test_pioneer_bag(data_dir: Path) -> None:
    path = data_dir / 'ros_bags' / 'pioneer' / 'trace0.bag'
    log = read_log(path)
    assert len(log.readings) == 958
    assert {reading.scan.ranges.size for reading in log.readings} == {726}
    assert log.notes == ()
    # In odom the laser is 0.135 m ahead of (14.941, -7.885), yaw 2 atan2(0.681998, 0.731354).
    odom = read_log(path, frame='odom').readings[0].pose
    yaw = 2 * math.atan2(0.681998, 0.731354)
    ahead = (14.941 + 0.135 * math.cos(yaw), -7.885 + 0.135 * math.sin(yaw))
    assert odom == pytest.approx((*ahead, yaw), abs=1e-3)
    assert log.readings[0].pose[:2] != pytest.approx(odom[:2], abs=1)  # in map by default


def test_scans_are_stamped_late_in_real_bags(data_dir: Path) -> None:
    log = read_log(data_dir / 'ros_bags' / 'pioneer' / 'trace0.bag', delay=None)
    (note,) = log.notes
    late = float(note.split()[-3])
    assert note.endswith('s late')
    assert 0.04 <= late <= 0.12


def test_wrong_frame_names_the_right_ones(data_dir: Path) -> None:
    words = r"'world' is not an ancestor of 'laser'.*'base_link', 'odom'"
    with pytest.raises(LogError, match=words):
        read_bag(data_dir / 'ros_bags' / 'pioneer' / 'trace0.bag', frame='world')


def test_wrong_bags_are_named(log: Log, tmp_path: Path) -> None:
    (tmp_path / 'empty').mkdir()
    (tmp_path / 'no.bag').write_bytes(b'#ROSBAG V2.0\n')
    (tmp_path / 'no.db3').write_bytes(b'not a database')
    (tmp_path / 'no.mcap').write_bytes(b'not an mcap file')
    for name in ('empty', 'no.bag', 'no.db3', 'no.mcap'):
        with pytest.raises(LogError, match='is not a complete bag') as error:
            read_log(tmp_path / name)
        assert str(tmp_path / name) in str(error.value)
    write_bag(log, tmp_path / 'bag')
    with pytest.raises(LogError, match='no laser scans on /front; available: /scan'):
        read_log(tmp_path / 'bag', topic='/front')
    with pytest.raises(LogError, match='already exists'):
        write_bag(log, tmp_path / 'bag')
    with pytest.raises(LogError, match='cannot be written: Not a directory'):
        write_bag(log, tmp_path / 'no.db3' / 'bag')


def test_convert_command(
    carmen_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'bag'
    assert main(['convert', str(carmen_file), str(out)]) == 0
    assert capsys.readouterr().out == f'{out}: 40 scans, 78.0 s\n'
    assert_equal(read_log(out), read_log(carmen_file))
    assert main(['convert', str(tmp_path / 'missing.log'), str(out)]) == 2
    assert 'missing.log: no such file' in capsys.readouterr().err
