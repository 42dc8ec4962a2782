"""A short swarm end to end: nodes in processes of their own over DDS, as `delama swarm` runs it."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from delama_ros.cli.main import main
from delama_ros.data.read import read_all
from delama_ros.experiments.mapping.log_episodes import log_episodes
from delama_ros.resources import resource


def start(folder: Path, *arguments: str) -> 'subprocess.Popen[str]':
    command = [sys.executable, '-m', 'delama_ros.cli.main', 'swarm', '--out', str(folder)]
    return subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def nodes_of(folder: Path) -> list[str]:
    """Processes that still use the parameter files of a run."""
    found = subprocess.run(['pgrep', '-f', str(folder)], capture_output=True, text=True)
    return found.stdout.split()


@pytest.fixture(scope='module')
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp('swarm') / 'run'
    process = start(
        *(folder, '--robots', '3', '--steps', '3', '--seed', '7'),
        *('--bag', '--json', str(folder) + '.json'),
    )
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    return folder, out


def test_the_table_has_every_step(finished: tuple[Path, str]) -> None:
    _, out = finished
    lines = out.splitlines()
    assert lines[1].split()[:4] == ['step', 'robot1', 'robot2', 'robot3']
    assert [line.split()[0] for line in lines[3:6]] == ['1', '2', '3']
    assert lines[-1].startswith('done in ')


def test_figures_are_a_real_maps(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    figures = json.loads(Path(str(folder) + '.json').read_text())
    delama = figures['methods']['fusion']
    assert figures['steps'] == [1, 2, 3]
    assert all(0.3 < f1 < 1.0 for f1 in delama['f1'])
    assert all(100 < sent < 200_000 for sent in delama['bytes'])
    assert json.loads((folder / 'figures.json').read_text()) == figures


def test_everything_needed_to_repeat_and_understand_is_kept(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    assert yaml.safe_load((folder / 'swarm.yaml').read_text())['robots'] == [
        'robot1',
        'robot2',
        'robot3',
    ]
    logs = {file.stem for file in (folder / 'log').iterdir()}
    assert logs == {'robot1', 'robot2', 'robot3', 'simulator', 'recorder'}
    for file in (folder / 'log').iterdir():
        assert 'Traceback' not in file.read_text()
    pixels = np.asarray(Image.open(folder / 'maps.png').convert('L'))
    assert (pixels < 60).mean() > 0.01  # walls were drawn


def test_robots_collaborate_and_agree(finished: tuple[Path, str]) -> None:
    _, out = finished
    rows = [line.split() for line in out.splitlines()[3:6]]
    assert max(float(row[-3]) for row in rows) == 2.0  # peers of each robot
    each = [float(cell) for cell in rows[-1][1:4]]
    assert max(each) - min(each) < 10.0


def test_the_bag_holds_what_was_seen_and_said(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    types = get_typestore(Stores.ROS2_JAZZY)
    for name in ('DualVar', 'ModelParams', 'Links', 'Collaboration'):
        text = resource(f'msg/{name}.msg').read_text()
        types.register(get_types_from_msg(text, f'delama_ros/msg/{name}'))
    with AnyReader([folder / 'bag'], default_typestore=types) as bag:
        counts = {c.topic: c.msgcount for c in bag.connections}
        assert counts['/robot1/scan'] >= 15  # 5 Hz for 6 s; some may be lost
        assert counts['/robot2/map'] >= 2
        assert counts['/sim/truth'] == counts['/delama/links'] == 1
        assert counts['/tf'] > 50
        said = [c for c in bag.connections if c.topic == '/delama/params']
        messages = [bag.deserialize(raw, c.msgtype) for c, _, raw in bag.messages(said)]
        assert {m.robot for m in messages} == {'robot1', 'robot2', 'robot3'}
        stamps = [stamp for _, stamp, _ in bag.messages()]
        assert stamps == sorted(stamps)
        assert stamps[-1] < 60e9  # simulated time


def test_the_bag_can_be_trained_on(finished: tuple[Path, str]) -> None:
    logs = read_all(finished[0] / 'bag')
    assert len(logs) == 3  # one per robot
    # three steps are too short for an episode each: all robots' scans make one
    readings = tuple(reading for log in logs for reading in log.readings)
    item, *_ = log_episodes(replace(logs[0], readings=readings))
    assert item.known is None  # supervised by the true map
    assert item.truth.any()


def test_the_bag_can_be_replayed(finished: tuple[Path, str], tmp_path: Path) -> None:
    bag, out = finished[0] / 'bag', tmp_path / 'again'
    assert main(['replay', str(bag), '--out', str(out), '--speed', '2.0']) == 0
    figures = json.loads((out / 'figures.json').read_text())
    assert sorted(figures['robots']) == ['robot1', 'robot2', 'robot3']
    assert figures['steps'][:3] == [1, 2, 3]
    assert figures['methods']['fusion']['f1'][-1] > 0.6  # against the true map in the bag
    rows = [w or {} for robot in figures['robots'].values() for w in robot['weights']]
    assert max(map(len, rows)) == 2


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['nowhere.bag'], 'nowhere.bag: no such file'),
        (['a.log', 'b.log', '--robots', '3'], 'logs: 2 for 3 robots'),
        (['a.log', '--speed', '0'], 'replay.speed: 0.0, expected'),
        (['a.log', '--robots', 'two words'], "'two words' is not a ROS name"),
    ],
)
def test_what_cannot_be_replayed_is_a_users_mistake(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['replay', *arguments]) == 2
    assert words in capsys.readouterr().err


def test_no_process_is_left(finished: tuple[Path, str]) -> None:
    assert nodes_of(finished[0]) == []


def interrupted(folder: Path, *arguments: str, after: int = 2) -> float:
    """Press Ctrl-C after so many steps; returns the seconds until all was over."""
    process = start(folder, '--steps', '1000', *arguments)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(f'{after} ') and 'robots' not in line:
            break
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=120)
    seconds = time.monotonic() - began
    assert process.returncode == 130, err
    assert nodes_of(folder) == []
    for file in (folder / 'log').iterdir():
        assert 'Traceback' not in file.read_text()
    assert (folder / 'maps.png').exists()
    print(f'ended in {seconds:.1f} s')
    return seconds


def test_ctrl_c_ends_all_and_keeps_the_results(tmp_path: Path) -> None:
    folder = tmp_path / 'run'
    assert interrupted(folder, '--robots', '2') < 10.0  # 1 on a machine that is not busy
    assert json.loads((folder / 'figures.json').read_text())['steps'][:2] == [1, 2]


def test_twenty_robots_and_ctrl_c(tmp_path: Path) -> None:
    folder = tmp_path / 'run'
    assert interrupted(folder, '--robots', '20', after=3) < 20.0  # 3 if the machine is not busy
    figures = json.loads((folder / 'figures.json').read_text())
    assert len(figures['robots']) == 20
    # Two cores may be too slow for all of them to meet every deadline, but not to meet at all.
    for robot in figures['robots'].values():
        assert len({peer for weights in robot['weights'] for peer in weights or {}}) >= 18
    assert figures['methods']['fusion']['f1'][2] > 0.9


def test_robots_that_start_anywhere_find_each_other(tmp_path: Path) -> None:
    process = start(
        *(tmp_path / 'run', '--starts', 'unknown', '--plan', 'generated:3', '--seed', '3'),
        *('--robots', '3', '--steps', '6', '--json', str(tmp_path / 'result.json')),
    )
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    result = json.loads((tmp_path / 'result.json').read_text())
    assert result['joined'][0] == 1  # everybody begins in a frame of its own
    assert result['joined'][-1] >= 2
    assert "joined robot1's frame" in out


def test_a_plan_that_is_not_there_is_a_users_mistake(tmp_path: Path) -> None:
    process = start(tmp_path / 'run', '--plan', 'no/such/map.yaml')
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert 'no/such/map.yaml' in err
    assert len(err.splitlines()) == 1
