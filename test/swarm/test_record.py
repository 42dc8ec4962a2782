"""The record of a run as a table and as figures."""

from pathlib import Path

import numpy as np
from PIL import Image

from delama_ros.geometry.grid import OccupancyMap
from delama_ros.swarm.record import LARGEST, Record, Rounds


def filled(robots: int) -> Record:
    record = Record(tuple(f'robot{i}' for i in range(robots)), 1)
    for i, robot in enumerate(record.robots):
        record.f1.setdefault(1, {})[robot] = 0.5 + i / 100
        record.add_weights(robot, 1, {'x': 1.0})
        record.add_step(robot, 1, 1500, Rounds(4, int(i == 0), 0.02, 0.015, 0.01))
    return record


def test_a_few_robots_have_a_column_each() -> None:
    record = filled(3)
    assert record.header()[1:4] == ['robot0', 'robot1', 'robot2']
    assert record.row(1) == ['1', '50.0', '51.0', '52.0', '51.0', '1.50', '1.0', '12/13', '20']


def test_of_many_robots_the_worst_and_the_best_are_shown() -> None:
    record = filled(20)
    assert record.header()[1:3] == ['worst', 'best']
    assert record.row(1)[1:4] == ['50.0', '69.0', '59.5']
    assert len(record.figures()['robots']) == 20


def test_what_is_missing_is_a_dash() -> None:
    assert Record(('a',), 1).row(1) == ['1', *['-'] * 6]


def test_maps_far_from_each_other_make_no_huge_picture(tmp_path: Path) -> None:
    record = Record(('ann', 'bob'), 1)
    for robot, x in (('ann', 0.0), ('bob', 900.0)):
        record.maps[robot] = OccupancyMap(np.zeros((40, 40), np.int8), 0.05, (x, 0.0, 0.0))
    record.picture(tmp_path / 'maps.png')
    with Image.open(tmp_path / 'maps.png') as picture:
        assert picture.width < 2 * LARGEST + 100
        assert picture.height < 300
