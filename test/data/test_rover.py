import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from delama_ros.data.log import LogError
from delama_ros.data.read import read_log


def line(microseconds: int, left: int, right: int, range_mm: int = 2000) -> str:
    head = [microseconds, 0, left, right, *[0] * 20]
    return ' '.join(map(str, [*head, *[range_mm] * 682, 0]))


def test_wheels_and_ranges_are_read(tmp_path: Path) -> None:
    path = tmp_path / 'run.dat.gz'
    turn = round(2000 * 0.33 * math.pi / 2 / (2 * math.pi * 0.077))  # a wheel for 90° on the spot
    # It stands still after each move: a scan is older than the encoder counts beside it.
    moves = [(5, 7), (2005, 2007), (2005, 2007), (2005, 2007 + turn), (2005, 2007 + turn)]
    lines = [line((k + 1) * 10**6, *wheels) for k, wheels in enumerate(moves)]
    path.write_bytes(gzip.compress('\n'.join(lines).encode()))
    log = read_log(path)
    assert log.name == 'run'
    assert [r.stamp for r in log.readings] == [1.0, 2.0, 3.0, 4.0, 5.0]
    (x0, y0, _), (x1, y1, yaw1), (_, _, yaw2) = (r.pose for r in log.readings[::2])
    assert x0 < log.readings[1].pose[0] < x1
    assert x1 - x0 == pytest.approx(2 * math.pi * 0.077)  # one turn of both wheels
    assert y0 == y1 == yaw1 == 0.0
    assert yaw2 == pytest.approx(math.pi / 2, abs=1e-3)
    ranges = log.readings[0].scan.ranges
    assert ranges.size == 682
    assert np.isnan(ranges[[0, -1]]).all()
    assert ranges[341] == 2.0


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / 'run.dat'
    path.write_text(line(0, 0, 0) + '\n1 2 3\n')
    with pytest.raises(LogError, match='line 2'):
        read_log(path)
