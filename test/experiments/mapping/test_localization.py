"""Localization offline: raw logs in, trajectories and errors out; maps with drifting odometry."""

import json
from dataclasses import replace

import numpy as np
import pytest

from delama_ros.bench import localization as bench
from delama_ros.cli.main import main
from delama_ros.data.read import read_log
from delama_ros.experiments.mapping import log_slam
from delama_ros.experiments.mapping.log_attacks import ATTACKS
from delama_ros.geometry.poses import relative
from delama_sim.lidar import Lidar
from delama_sim.plans.generator import generate
from delama_sim.protocol import drive

HALF = Lidar(beams=180, field_of_view=np.pi * 179 / 180, range_max=30.0)


@pytest.fixture(scope='module')
def drive_through():
    (measured,) = drive(generate(3, 'office', frame=12.0), 3, robots=1, steps=14, lidar=HALF)
    return measured


@pytest.fixture(scope='module')
def files(drive_through, tmp_path_factory):
    """A raw CARMEN log with stamps out of order, and relations between some of its true poses."""
    folder = tmp_path_factory.mktemp('log')
    keys = [1000.0 + (k ^ 1) for k in range(len(drive_through))]
    lines = []
    for key, m in zip(keys, drive_through, strict=True):
        ranges = ' '.join(f'{r if np.isfinite(r) else 81.83:.3f}' for r in m.scan)
        pose = ' '.join(f'{v:.6f}' for v in m.odom_pose)
        lines.append(f'FLASER 180 {ranges} {pose} {pose} {key:.6f} x {m.stamp:.6f}\n')
    (folder / 'drive.clf').write_text(''.join(lines))
    rows = []
    for a, b in ((0, 40), (20, 90), (0, len(keys) - 1)):
        x, y, yaw = relative(drive_through[a].true_pose, drive_through[b].true_pose)
        rows.append(f'{keys[a]} {keys[b]} {x} {y} 0 0 0 {yaw}\n')
    (folder / 'drive.relations').write_text(''.join(rows))
    poses = [(k, *m.true_pose) for k, m in zip(keys, drive_through, strict=True)]
    np.savetxt(folder / 'truth.txt', poses[::5], '%.6f')
    return folder


def test_a_raw_log_keeps_the_order_of_lines(files, drive_through) -> None:
    log = read_log(files / 'drive.clf', raw=True)
    assert [r.stamp for r in log.readings] == pytest.approx([m.stamp for m in drive_through])
    assert [r.key for r in log.readings[:4]] == [1001.0, 1000.0, 1003.0, 1002.0]
    assert log.readings[-1].pose == pytest.approx(drive_through[-1].odom_pose, abs=1e-5)


def test_slam_is_scored_by_relations(files, drive_through, tmp_path, capsys) -> None:
    arguments = [
        'eval', 'log', str(files / 'drive.clf'), '--localization', 'slam', '--relations',
        str(files / 'drive.relations'), '--json', str(tmp_path / 'a.json'), '--trajectory',
        str(tmp_path / 'poses.txt'), '--out', str(tmp_path / 'out'), '--robots', '2',
    ]
    assert main(arguments) == 0
    figures = json.loads((tmp_path / 'a.json').read_text())
    assert figures['relations'] == figures['relations_given'] == 3
    assert figures['translation_error_m'] < 0.05 < figures['odometry_translation_error_m']
    assert figures['rotation_error_deg'] < 1
    assert {'translation_std_m', 'seconds', 'methods'} <= set(figures)
    assert figures['cells_hit']['slam'] < figures['cells_hit']['odometry']
    poses = np.loadtxt(tmp_path / 'poses.txt')
    assert poses.shape == (len(drive_through), 4)
    assert poses[1, 0] == 1000.0
    assert '3 of 3 relations' in capsys.readouterr().out
    names = {path.name for path in (tmp_path / 'out').iterdir()}
    assert {'localization.png', 'robot1.png', 'maps', 'cells'} <= names
    # The log is localised once.
    began = {path: path.stat().st_mtime_ns for path in (tmp_path / 'out/cells').iterdir()}
    assert main(arguments) == 0
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / 'out/cells').iterdir()} == began


def test_without_relations_the_trajectory_is_scored(files, tmp_path) -> None:
    common = [
        'eval', 'log', str(files / 'drive.clf'), '--localization', 'slam', '--robots', '0',
        '--out', str(tmp_path), '--json', str(tmp_path / 'a.json'),
    ]
    errors = {}
    for against, more in (('log', []), ('reference', ['--reference', str(files / 'truth.txt')])):
        assert main([*common, *more]) == 0
        figures = json.loads((tmp_path / 'a.json').read_text())
        assert figures['ate_against'] == against
        errors[against] = figures['ate_m']
    # The log has raw odometry, which is far off.
    assert errors['reference'] < 0.05 < errors['log']


@pytest.mark.parametrize(
    ('text', 'words'),
    [('1 2 3\n', 'line 1: expected 8 numbers'), ('# nothing\n', 'has no relations')],
)
def test_bad_relations_are_named_before_the_log_is_localised(
    files, tmp_path, capsys, text, words
) -> None:
    (tmp_path / 'bad').write_text(text)
    assert main([
        'eval', 'log', str(files / 'drive.clf'), '--localization', 'slam', '--relations',
        str(tmp_path / 'bad'), '--out', str(tmp_path),
    ]) == 2
    assert words in capsys.readouterr().err


def test_relations_need_slam(files, capsys) -> None:
    assert main(['eval', 'log', str(files / 'drive.clf'), '--relations', 'x']) == 2
    assert '--relations needs --localization slam' in capsys.readouterr().err


def test_blurred_walls_take_more_cells(files) -> None:
    log = read_log(files / 'drive.clf', raw=True)
    still = log.readings[:1] * 3
    assert log_slam.cells_hit(still) == log_slam.cells_hit(still[:1]) < 181
    assert log_slam.cells_hit(log.readings[:20]) > log_slam.cells_hit(log.readings[:1])


def test_drift_rows(tmp_path, capsys) -> None:
    arguments = [
        'eval', 'mapping', '--plans', 'generated:9000-9001', '--robots', '2', '--steps', '5',
        '--methods', 'fusion', '--out', str(tmp_path), '--json', str(tmp_path / 'a.json'),
    ]
    assert main([*arguments, '--drift', 'bad']) == 0
    methods = json.loads((tmp_path / 'a.json').read_text())['methods']
    assert list(methods) == ['fusion', 'exact_poses', 'odometry', 'slam']
    f1 = {name: values['f1'][-1] for name, values in methods.items()}
    assert f1['odometry'] + 10 < f1['slam']
    assert abs(f1['slam'] - f1['exact_poses']) < 2
    errors = {name: methods[name]['position_error_m'][-1] for name in ('odometry', 'slam')}
    assert errors['slam'] < 0.05 < errors['odometry']
    assert 'final position error' in capsys.readouterr().out
    assert main([*arguments, '--drift', 'terrible']) == 2
    assert "'terrible'" in capsys.readouterr().err


def test_bench_has_all_figures() -> None:
    figures = bench.run(steps=25)
    assert figures['path_m'] > 20
    assert figures['position_error_m'] < 0.05
    assert {'scan_ms', 'keyframe_ms', 'scan_late_over_early', 'times_real_time'} <= set(figures)


@pytest.mark.parametrize('attack', sorted(ATTACKS))
def test_attacks_change_what_they_say(files, attack) -> None:
    log = read_log(files / 'drive.clf', raw=True)
    harder = ATTACKS[attack](log, 3)
    again = ATTACKS[attack](log, 3)
    before, after = (np.array([r.pose for r in x.readings]) for x in (log, harder))
    assert np.array_equal(after, [r.pose for r in again.readings])
    if attack == 'drop':
        assert len(after) == pytest.approx(0.7 * len(before), rel=0.2)
        assert set(map(tuple, after)) <= set(map(tuple, before))
        return
    assert [r.key for r in harder.readings] == [r.key for r in log.readings]
    if attack == 'inf':
        assert np.array_equal(after, before)
        gone = np.mean([np.isinf(r.scan.ranges).mean() for r in harder.readings])
        assert gone > 0.2
        return
    steps = relative(relative(before[:-1], before[1:]), relative(after[:-1], after[1:]))
    changed = (np.abs(steps) > 1e-6).any(1)
    if attack.startswith('drift'):
        assert changed.mean() > 0.9
    else:  # once every 60 m, on a drive of 17 m: at most once
        assert changed.sum() <= (30 if attack == 'stall' else 1)


def test_jumps_and_stops_come_every_60_metres(files) -> None:
    log = read_log(files / 'drive.clf', raw=True)
    reading = log.readings[0]
    way = [replace(reading, stamp=float(k), pose=(0.5 * k, 0.0, 0.0)) for k in range(480)]
    straight = replace(log, readings=tuple(way))
    for attack, jumps, length in (('jump', 4, 0.5), ('jump_sideways', 4, 0.5), ('stall', 16, -0.5)):
        poses = np.array([r.pose for r in ATTACKS[attack](straight, 1).readings])
        off = relative(poses[:-1], poses[1:]) - [0.5, 0.0, 0.0]
        odd = np.abs(off).max(1) > 1e-9
        assert odd.sum() in (jumps - 1, jumps)
        assert off[odd][0, 1 if attack == 'jump_sideways' else 0] == pytest.approx(length)


def test_attacked_logs_are_scored_against_the_log_itself(files, tmp_path, capsys) -> None:
    exact = tmp_path / 'exact.clf'
    truth = {round(k, 3): p for k, *p in np.loadtxt(files / 'truth.txt').tolist()}
    lines = []
    for line in (files / 'drive.clf').read_text().splitlines()[::5]:
        words = line.split()
        pose = [f'{v:.6f}' for v in truth[round(float(words[-3]), 3)]]
        lines.append(' '.join([*words[:182], *pose, *pose, *words[-3:]]))
    exact.write_text('\n'.join(lines) + '\n')
    command = ['eval', 'log', str(exact), '--localization', 'slam', '--attack', 'drift_turtlebot']
    more = ['--seeds', '0', '1', '--out', str(tmp_path), '--json', str(tmp_path / 'a.json')]
    assert main([*command, '--robots', '0', *more]) == 0
    runs = json.loads((tmp_path / 'a.json').read_text())['runs']
    assert set(runs) == {'0', '1'}
    for figures in runs.values():
        assert figures['ate_m'] < 0.1
        assert figures['cells_hit']['slam'] < figures['cells_hit']['odometry']
    assert '2 seeds: mean' in capsys.readouterr().out
    assert main([*command]) == 2
    assert '--robots 0' in capsys.readouterr().err
    assert main([*command[:-1], 'fog', '--robots', '0']) == 2
    assert "attack is 'fog'" in capsys.readouterr().err


def test_lost_robots_are_found_only_where_the_map_knows_them(tmp_path, capsys) -> None:
    """There and, backwards, back again through one plan; another plan is another building."""
    names = []
    for seed in (3, 5):
        (m,) = drive(generate(seed, 'office', frame=12.0), seed, robots=1, steps=14, lidar=HALF)
        lines = []
        for k, one in enumerate([*m, *m[::-1]]):
            ranges = ' '.join(f'{r if np.isfinite(r) else 81.83:.3f}' for r in one.scan)
            pose = ' '.join(f'{v:.6f}' for v in one.true_pose)
            lines.append(f'FLASER 180 {ranges} {pose} {pose} {k} x {k}\n')
        names.append(str(tmp_path / f'{seed}.clf'))
        (tmp_path / f'{seed}.clf').write_text(''.join(lines))
    json_file = tmp_path / 'a.json'
    common = ['--starts', '2', '--scans', '80', '--json', str(json_file)]
    assert main(['eval', 'lost', names[0], *common]) == 0
    known = json.loads(json_file.read_text())['places']['known']
    assert known['robots'] == 2
    assert known['found'] >= 1
    assert known['wrongly'] == 0
    assert main(['eval', 'lost', names[0], '--in', names[1], *common]) == 0
    elsewhere = json.loads(json_file.read_text())['places']['elsewhere']
    assert elsewhere['found'] == elsewhere['wrongly'] == 0
    assert elsewhere['not_found'] == 2
    assert main(['eval', 'lost', names[0], '--starts', '0']) == 2
    assert '--starts is 0' in capsys.readouterr().err
