import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from delama_ros.cli.eval_log import add_log_parser
from delama_ros.data.log import Log, LogError
from delama_ros.data.prepare import limited, split, thinned
from delama_ros.data.read import read_log
from delama_ros.errors import UserError
from delama_ros.experiments.mapping.log_agreement import Agreement, HeldOut, agreement
from delama_ros.experiments.mapping.log_run import Protocol, evaluate
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.geometry.map_file import read_map
from delama_ros.mapping.scan import Scan


def test_scans_too_close_to_each_other_are_skipped(log: Log) -> None:
    assert len(thinned(log.readings)) == 40  # 0.31 m and 0.16 rad apart
    assert len(thinned(log.readings, distance=0.6, turn=9)) == 20
    assert len(thinned(log.readings, distance=9, turn=0.3)) == 20


def test_reach_cuts_beams_and_no_return_says_nothing() -> None:
    ranges = np.array([1.0, 30.0, math.inf, math.nan, 50.0, 60.0])
    cut = limited(Scan(ranges, 0.0, 0.1, 0.0, 50.0), 20.0)
    assert cut.range_max == 20.0
    np.testing.assert_array_equal(
        cut.ranges, [1.0, math.inf, math.nan, math.nan, math.nan, 60.0]
    )
    assert limited(Scan(ranges, 0.0, 0.1, 0.0, 5.0), 20.0).range_max == 5.0


def test_stretches_are_contiguous_and_complete(log: Log) -> None:
    parts = split(log.readings, 3)
    assert [len(part) for part in parts] == [13, 14, 13]
    assert [r for part in parts for r in part] == list(log.readings)


def test_agreement_counts_occupied_cells_either_map_knows() -> None:
    cells = np.zeros((24, 24), np.int8)
    cells[:, :8] = 100
    one = OccupancyMap(cells, 0.05, (1.2, -1.2, 0.0))
    assert agreement(one, one) == Agreement(1.0, 1.0)
    # The other knows a tile more, half of it wall: 48 of its 144 + 48 wall cells are shared.
    more = np.concatenate([np.full((24, 24), 100, np.int8), cells], 1)
    other = OccupancyMap(more, 0.05, (0.0, -1.2, 0.0))
    found = agreement(one, other)
    assert found.coverage == 0.5
    assert found.f1 == pytest.approx(2 * 48 / (48 + 144 + 48))


def test_held_out_scans_tell_a_good_map_from_a_bad_one(log: Log) -> None:
    result = evaluate(log, Protocol(robots=2))
    held = HeldOut([(limited(r.scan, 20.0), r.pose) for r in log.readings[::7]])
    walls = result.central
    shifted = OccupancyMap(walls.cells, 0.05, (walls.origin[0] + 0.6, walls.origin[1], 0.0))
    assert held.f1(walls) > 0.7
    assert held.f1(shifted) < 0.5


def test_a_robot_alone_is_the_centralised_learner(log: Log) -> None:
    result = evaluate(log, Protocol(robots=1))
    methods = result.figures['methods']
    assert methods['fusion']['agreement_f1'] == [100.0]
    assert methods['alone']['held_out_f1'] == methods['centralised']['held_out_f1']


def test_maps_are_scored_against_a_true_map(log: Log) -> None:
    cells = np.full((150, 150), 100, np.int8)
    cells[15:135, 15:135] = 0  # the room of 6 m in walls of 0.75 m
    truth = OccupancyMap(cells, 0.05, (-3.75, -3.75, 0.0))
    figures = evaluate(Log('room', log.readings, truth), Protocol(robots=2)).figures
    for method in figures['methods'].values():  # measured: 84 to 86
        assert min(method['truth_f1']) > 80


def test_steps_follow_the_period(log: Log) -> None:
    # 36 scans are learned from, 18 a robot: 40 s; every tenth of 40 is held out.
    result = evaluate(log, Protocol(robots=2, period=10.0))
    assert result.figures['scans_learned'] == 36
    assert result.figures['steps'] == len(result.bytes) == 4
    assert evaluate(log, Protocol(robots=2)).figures['steps'] == 12


def test_too_many_robots(log: Log) -> None:
    with pytest.raises(LogError, match='room: 5 scans far enough apart for 6 robots'):
        evaluate(log, Protocol(robots=6, limit=5))


def test_a_real_log_delama_is_close_to_centralised(data_dir: Path) -> None:
    # Measured: agreement 95.6 to 96.3 (alone 74 to 77), coverage 95.4 to 97.6 (alone 71 to 74),
    # held-out F1 71.0, centralised 71.7.
    log = read_log(data_dir / 'lidar_carmen' / 'intel-corrected.log.gz')
    methods = evaluate(log, Protocol(robots=3, limit=200)).figures['methods']
    delama, alone = methods['fusion'], methods['alone']
    assert min(delama['agreement_f1']) > 91
    assert max(alone['agreement_f1']) < 85
    assert min(delama['coverage']) > 90
    assert np.mean(delama['held_out_f1']) > methods['centralised']['held_out_f1'][0] - 3


def test_command_prints_and_writes(
    carmen_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = parse(str(carmen_file), '--robots', '2', '--out', str(tmp_path / 'run'), '--json',
                 str(tmp_path / 'figures.json'))
    assert args.run(args) == 0
    text = capsys.readouterr().out
    assert 'runs as' in text
    assert 'room: 40 scans, 36 learned from, 12 steps' in text
    assert all(word in text for word in ('robot2', 'centralised', 'held-out'))
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert len(figures['methods']['fusion']['bytes']) == 12
    written = {p.name for p in (tmp_path / 'run').iterdir()}
    assert written == {'robot1.png', 'robot2.png', 'maps'}
    assert read_map(tmp_path / 'run' / 'maps' / 'robot1.yaml').solid.any()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['missing.bag'], 'missing.bag: no such file'),
        (['x.log', '--robots', '0'], '--robots 0, expected more than 0'),
        (['x.log', '--period', '-1'], '--period -1, expected more than 0'),
    ],
)
def test_a_users_mistake_is_named(arguments: list[str], words: str) -> None:
    args = parse(*arguments)
    with pytest.raises(UserError, match=words):
        args.run(args)


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_log_parser(parser.add_subparsers())
    return parser.parse_args(['log', *arguments])


def test_reading_needs_no_ros_and_no_torch() -> None:
    code = (
        'import sys, delama_ros.data.read, delama_ros.data.write\n'
        'import delama_ros.experiments.mapping.log_run\n'
        'print([m for m in ("torch", "rclpy", "rosbags", "matplotlib") if m in sys.modules])'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'
