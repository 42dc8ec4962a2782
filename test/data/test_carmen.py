import gzip
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from delama_ros.data.log import Log, LogError
from delama_ros.data.read import read_log


def edited(path: Path, line: int, change: Callable[[str], str]) -> Path:
    lines = path.read_text().splitlines()
    lines[line - 1] = change(lines[line - 1])
    path.write_text('\n'.join(lines) + '\n')
    return path


def test_scans_poses_and_stamps_are_read(log: Log, carmen_file: Path) -> None:
    read = read_log(carmen_file)
    assert read.name == 'room'
    assert read.notes == ()
    assert len(read.readings) == len(log.readings) == 40
    for mine, theirs in zip(read.readings, log.readings, strict=True):
        assert mine.stamp == theirs.stamp
        assert mine.pose == theirs.pose
        np.testing.assert_array_equal(mine.scan.ranges, theirs.scan.ranges)
    assert read.duration == 78.0


def test_gzip_reads_the_same(carmen_file: Path, tmp_path: Path) -> None:
    packed = tmp_path / 'packed.log.gz'
    packed.write_bytes(gzip.compress(carmen_file.read_bytes()))
    assert [r.pose for r in read_log(packed).readings] == [
        r.pose for r in read_log(carmen_file).readings
    ]


@pytest.mark.parametrize(
    ('beams', 'last'), [(180, 89.0), (181, 90.0), (360, 89.5), (361, 90.0)]
)
def test_beams_spread_over_half_a_circle(beams: int, last: float, tmp_path: Path) -> None:
    path = tmp_path / 'a.log'
    path.write_text(f'FLASER {beams} {"1 " * beams}0 0 0 0 0 0 5 host 5\n')
    scan = read_log(path).readings[0].scan
    assert math.degrees(scan.angle_min) == pytest.approx(-90)
    end = scan.angle_min + scan.angle_increment * (beams - 1)
    assert math.degrees(end) == pytest.approx(last, abs=1e-4)


def test_readings_the_scanner_could_not_take_are_no_returns(carmen_file: Path) -> None:
    path = edited(carmen_file, 3, lambda line: ' '.join(['FLASER 181 81.83', *line.split()[3:]]))
    first = read_log(path).readings[0].scan
    assert np.isposinf(first.ranges[0])
    assert first.range_max == 50.0


def test_useless_stamps_give_way_to_the_index(carmen_file: Path) -> None:
    lines = [' '.join([*line.split()[:-3], '1e9 host 1e9']) for line in
             carmen_file.read_text().splitlines()]
    carmen_file.write_text('\n'.join(lines))
    log = read_log(carmen_file)
    assert [r.stamp for r in log.readings] == [float(i) for i in range(40)]
    assert 'do not increase' in log.notes[0]


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda line: line[:200], ['line 5', 'fields for 181 beams', 'remove it']),
        (lambda line: 'FLASER', ['line 5', 'no beams']),
        (lambda line: 'FLASER 99 1 2', ['line 5', '99 beams', '361']),
        (lambda line: line.replace(' host', ' x host'), ['line 5', 'expected 192']),
        (lambda line: ' '.join(['FLASER 181 nan', *line.split()[3:]]), ['line 5', "'nan'"]),
        (lambda line: ' '.join(['FLASER 181 1,5', *line.split()[3:]]), ['line 5', "'1,5'"]),
    ],
)
def test_broken_lines_are_named(
    change: Callable[[str], str], words: list[str], carmen_file: Path
) -> None:
    with pytest.raises(LogError) as error:
        read_log(edited(carmen_file, 5, change))
    assert str(carmen_file) in str(error.value)
    assert all(word in str(error.value) for word in words)


def test_wrong_files_are_named(carmen_file: Path, tmp_path: Path) -> None:
    packed = gzip.compress(carmen_file.read_bytes())
    cases = {
        'missing.log': (None, 'no such file'),
        'notes.txt': (b'hello', 'expected a rosbag2 folder'),
        'empty.log': (b'', 'no FLASER line'),
        'plain.log.gz': (b'FLASER', 'is not gzip'),
        'cut.log.gz': (packed[:-200], 'is truncated'),
        'picture.log': (b'\xff\xd8\xff', 'is not text'),
    }
    for name, (content, word) in cases.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(LogError, match=word) as error:
            read_log(tmp_path / name)
        assert name in str(error.value)


def test_bag_arguments_are_refused(carmen_file: Path) -> None:
    with pytest.raises(LogError, match='CARMEN log'):
        read_log(carmen_file, topic='/scan')


@pytest.mark.parametrize(
    ('name', 'scans', 'beams', 'indexed'),
    [
        ('intel', 910, 180, False),
        ('csail', 406, 361, True),
        ('fhw', 488, 180, False),
        ('belgioioso', 395, 361, True),
        ('edmonton', 340, 180, False),
        ('infinite-corridor', 1941, 180, True),
    ],
)
def test_real_logs(name: str, scans: int, beams: int, indexed: bool, data_dir: Path) -> None:
    log = read_log(data_dir / 'lidar_carmen' / f'{name}-corrected.log.gz')
    assert len(log.readings) == scans
    assert {reading.scan.ranges.size for reading in log.readings} == {beams}
    assert bool(log.notes) == indexed
    steps = np.diff([reading.pose[:2] for reading in log.readings], axis=0)
    assert np.median(np.linalg.norm(steps, axis=1)) < 1.2
