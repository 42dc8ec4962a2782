"""The robot node over DDS: lifecycle, services, parameters."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from robot_bench import PERIOD, Bench, walls
from std_srvs.srv import SetBool, Trigger

from delama_ros.geometry.map_file import read_map
from delama_ros.ros.conversions import occupancy_from_ros
from delama_ros.srv import File


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, tmp_path: Path, ros_environment: dict[str, str]
) -> Iterator[Bench]:
    """A robot whose services may use a folder of the test."""
    given = getattr(request, 'param', {})
    bench = Bench(ros_environment, tmp_path, save_folder=str(tmp_path / 'saved'), **given)
    yield bench
    bench.close()
    assert 'Traceback' not in bench.log.read_text()


def test_services(bench: Bench, tmp_path: Path) -> None:
    saved = tmp_path / 'saved'
    bench.map_some()
    drawn = occupancy_from_ros(bench.maps[-1])
    assert drawn.value_at([0.0, 0.0]) < 20
    assert drawn.value_at([2.05, 0.0]) > 60
    assert set(bench.maps[-1].data) == {-1, 0, 100}
    assert not set(bench.probabilities[-1].data) <= {-1, 0, 100}
    assert bench.probabilities[-1].info.width == bench.maps[-1].info.width

    answer = bench.call(File, 'save_map', path='maps/room')
    assert answer.success, answer.message
    assert read_map(saved / 'maps' / 'room.yaml').value_at([2.05, 0.0]) == 100
    assert bench.call(File, 'save_map', path=str(saved / 'maps')).success  # a folder
    assert (read_map(saved / 'maps' / 'map.yaml').cells >= 0).any()
    assert bench.call(File, 'save_memory', path='memory.npz').success
    for service in ('save_map', 'save_memory', 'load_memory'):
        refuses(bench, service, saved)

    assert bench.call(Trigger, 'reset').success
    # Without scans the clock begins steps. The map of the step before may still be on its way.
    bench.until(lambda: walls(bench.maps[-1]) == 0)
    answer = bench.call(File, 'load_memory', path='memory.npz')
    assert answer.success, answer.message
    bench.maps.clear()
    bench.until(lambda: bench.maps)
    assert walls(bench.maps[-1]) > 100

    (saved / 'broken.npz').write_bytes(b'not a memory')
    answer = bench.call(File, 'load_memory', path='broken.npz')
    assert not answer.success
    assert 'broken.npz' in answer.message
    assert not bench.call(File, 'load_memory', path='missing.npz').success

    assert bench.call(SetBool, 'pause', data=True).success
    settled = time.monotonic() + 2 * PERIOD
    bench.until(lambda: time.monotonic() > settled)  # the last map may still be on its way
    bench.maps.clear()
    end = time.monotonic() + 4 * PERIOD
    bench.until(lambda: time.monotonic() > end, meanwhile=bench.scan)
    assert bench.maps == []
    assert bench.call(SetBool, 'pause', data=False).success
    bench.map_some()


def refuses(bench: Bench, service: str, saved: Path) -> None:
    """No path leads out of the folder, and what lies outside stays as it is."""
    outside = saved.parent / 'outside'
    outside.mkdir(exist_ok=True)
    victim = outside / 'victim.npz'
    victim.write_text('precious')
    (saved / 'folder').unlink(missing_ok=True)
    (saved / 'folder').symlink_to(outside)
    (saved / 'link.npz').unlink(missing_ok=True)
    (saved / 'link.npz').symlink_to(victim)
    (saved / 'loop').unlink(missing_ok=True)
    (saved / 'loop').symlink_to(saved / 'loop')
    for path in (
        str(victim), '../outside/victim.npz', 'a/../../outside/victim.npz', 'folder/victim.npz',
        'link.npz', '~/delama_victim.npz', '/etc/delama_victim.npz', '/proc/self/mem',
    ):
        answer = bench.call(File, service, path=path)
        assert not answer.success, path
        assert f'path {path!r} is outside {saved.resolve()}: give a path below' in answer.message
    for path in ('', 'loop/x', '~nobody_at_all/x'):
        answer = bench.call(File, service, path=path)
        assert not answer.success, path
        assert answer.message.startswith('path ')
    assert victim.read_text() == 'precious'
    assert [file.name for file in outside.iterdir()] == ['victim.npz']


@pytest.mark.parametrize('bench', [{'autostart': 'false'}], indirect=True)
def test_a_manager_can_lead_it_through_its_life(bench: Bench) -> None:
    def state() -> int:
        return int(bench.call(GetState, 'get_state').current_state.id)

    def change(transition: int) -> bool:
        request = Transition(id=transition)
        return bool(bench.call(ChangeState, 'change_state', transition=request).success)

    assert state() == State.PRIMARY_STATE_UNCONFIGURED
    assert change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)
    assert state() == State.PRIMARY_STATE_ACTIVE
    bench.map_some()
    assert change(Transition.TRANSITION_DEACTIVATE)
    settled = time.monotonic() + 2 * PERIOD
    bench.until(lambda: time.monotonic() > settled)  # the last map may still be on its way
    bench.maps.clear()
    end = time.monotonic() + 4 * PERIOD
    bench.until(lambda: time.monotonic() > end, meanwhile=bench.scan)
    assert bench.maps == []
    assert change(Transition.TRANSITION_ACTIVATE)
    bench.until(lambda: bench.maps)  # memory was kept
    assert walls(bench.maps[-1]) > 100
    assert change(Transition.TRANSITION_DEACTIVATE)
    assert change(Transition.TRANSITION_CLEANUP)
    assert state() == State.PRIMARY_STATE_UNCONFIGURED


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        (['-p', 'period:=-1.0'], 'period'),
        (['-p', 'encoding:=morse'], "encoding is 'morse', expected delta or float64"),
        (['-p', 'start_pose:=[1.0, 2.0]'], 'start_pose is [1.0, 2.0], expected x, y, yaw'),
        (['-p', 'checkpoint:=/no/such/file.npz'], '/no/such/file.npz'),
        (['-p', 'save_folder:=/dev/null'], "save_folder is '/dev/null', which is a file"),
    ],
)
def test_wrong_parameters_are_named(
    ros_environment: dict[str, str], parameters: list[str], words: str
) -> None:
    command = [sys.executable, '-m', 'delama_ros.ros.robot', '--ros-args', '-r', '__ns:=/ann']
    result = subprocess.run(
        [*command, *parameters], env=ros_environment, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 2
    assert words in result.stdout + result.stderr
    assert 'Traceback' not in result.stderr


def test_a_robot_without_a_name(ros_environment: dict[str, str]) -> None:
    result = subprocess.run(
        [sys.executable, '-m', 'delama_ros.ros.robot'],
        env=ros_environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 2
    assert 'a robot needs a name' in result.stderr
