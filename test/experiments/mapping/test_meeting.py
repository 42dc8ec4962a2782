"""Robots with unknown starts in recorded logs."""

import json
from pathlib import Path

import numpy as np
import pytest

from delama_ros.cli.main import main
from delama_ros.data.log import Log
from delama_ros.experiments.mapping.log_meeting import Meeting, most_common, score
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.geometry.poses import compose, relative


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        (['a.clf', '--starts', 'unknown'], 'needs --localization slam'),
        (['a.clf', 'b.clf', '--localization', 'slam'], '2 files'),
        (
            ['a.clf', '--starts', 'unknown', '--localization', 'slam', '--robots', '1'],
            'at least 2',
        ),
    ],
)
def test_options_that_do_not_fit(options, words, capsys) -> None:
    assert main(['eval', 'log', *options]) == 2
    assert words in capsys.readouterr().err


class Named:
    """A reading of which only its name matters."""

    def __init__(self, key: float) -> None:
        self.stamp = self.key = key


def test_relations_count_where_robots_share_a_frame() -> None:
    rng = np.random.default_rng(2)
    poses = [rng.normal(0, 3, (4, 3)) for _ in range(3)]
    parts = [[Named(10.0 * i + k) for k in range(4)] for i in range(3)]

    def relation(i: int, a: int, j: int, b: int, off: float) -> list[float]:
        x, y, yaw = compose(relative(poses[i][a], poses[j][b]), (off, 0.0, 0.0)).tolist()
        return [10.0 * i + a, 10.0 * j + b, x, y, 0.0, 0.0, 0.0, yaw]

    relations = np.array([
        relation(0, 1, 0, 2, 0.1), relation(0, 1, 1, 2, 0.3), relation(1, 3, 2, 0, 9.0),
        [77.0, 0.0, 0, 0, 0, 0, 0, 0],
    ])
    empty = OccupancyMap(np.zeros((1, 1), np.int8), 0.05, (0.0, 0.0, 0.0))
    meeting = Meeting([Log('x', ())], parts, poses, ['a', 'a', 'c'], empty, {})
    figures = score(meeting, relations)
    assert figures['relations'] == figures['cross_relations'] == figures['cross_unjoined'] == 1
    assert figures['translation_error_m'] == pytest.approx(0.1)
    assert figures['cross_translation_error_m'] == pytest.approx(0.3)
    assert meeting.common == most_common(['c', 'a', 'a']) == 'a'


def test_two_robots_in_a_cut_of_intel_find_each_other(data_dir: Path, tmp_path, capsys) -> None:
    folder = data_dir / 'slam_benchmark'
    if not folder.is_dir():
        pytest.skip(f'no SLAM benchmark logs in {data_dir}')
    assert main([
        'eval', 'log', str(folder / 'intel.clf.gz'), '--localization', 'slam', '--robots', '2',
        '--starts', 'unknown', '--limit', '3400', '--period', '40',
        '--relations', str(folder / 'intel.relations.gz'),
        '--out', str(tmp_path), '--json', str(tmp_path / 'a.json'),
    ]) == 0
    figures = json.loads((tmp_path / 'a.json').read_text())
    assert figures['joined'] == 2
    assert figures['cross_unjoined'] == 0
    assert figures['cross_relations'] > 50
    assert figures['cross_translation_error_m'] < 0.1
    assert figures['translation_error_m'] < 0.05
    assert (tmp_path / 'common.png').stat().st_size > 1000
    assert 'between robots' in capsys.readouterr().out
