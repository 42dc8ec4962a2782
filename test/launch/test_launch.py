"""The launch files: their arguments, the nodes they give, and a swarm that they really start."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from delama_ros.robot.parameters import ROBOT, SIMULATOR

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip('launch_ros', reason='launch_ros is not on PyPI; it comes with a ROS 2 install')

SHARED = set(ROBOT) - {'robot'}  # parameters that apply to all robots of a swarm


def load(name: str) -> ModuleType:
    path = ROOT / 'launch' / f'{name}.launch.py'
    spec = importlib.util.spec_from_file_location(f'{name}_launch', path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nodes(name: str, **given: str) -> list[Any]:
    """Return the nodes that a launch file gives for these arguments."""
    from launch import LaunchContext

    module, context = load(name), LaunchContext()
    context.launch_configurations.update(given)
    for argument in module.generate_launch_description().get_launch_arguments():
        argument.visit(context)
    return [entity for entity in module.make(context) if hasattr(entity, 'node_executable')]


def programs(name: str, **given: str) -> list[str]:
    return [node.node_executable for node in nodes(name, **given)]


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('swarm', {'config', 'robots', 'plan', 'seed', *SHARED, 'view', 'rviz'}),
        ('sim', {'config', *SIMULATOR}),
        ('replay', {'logs', 'topics', 'robots', 'speed', *SHARED, 'rviz'}),
        ('robot', {'scan', 'odom', 'map', 'use_sim_time', *ROBOT}),
    ],
)
def test_every_argument_is_described(name: str, expected: set[str]) -> None:
    arguments = load(name).generate_launch_description().get_launch_arguments()
    assert expected <= {a.name for a in arguments}
    assert all(a.description and a.description != 'no description given' for a in arguments)


def index(prefix: Path, package: str) -> None:
    """Enter a package into the ament index of a prefix, as its installation does."""
    folder = prefix / 'share/ament_index/resource_index/packages'
    folder.mkdir(parents=True, exist_ok=True)
    (folder / package).touch()


def test_one_node_per_robot_and_what_gives_their_scans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(tmp_path, 'rviz2')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path), prepend=os.pathsep)
    assert programs('swarm', robots='3') == ['delama_simulator', *['delama_robot'] * 3]
    shown = programs('swarm', robots='[ann]', view='true', rviz='true')
    assert shown[-2:] == ['delama_viewer', 'rviz2']
    assert programs('sim', robots='2', scan_rate='2') == ['delama_simulator']
    replayed = programs('replay', logs='a.log,b.log', robots='[ann, bob]')
    assert replayed == ['delama_replay', 'delama_robot', 'delama_robot']


def test_real_robots_have_their_own_topics(tmp_path: Path) -> None:
    file = tmp_path / 'real.yaml'
    file.write_text('plan: ""\nrobots: {ann: {scan: front, start_pose: [1, 2, 0]}, bob: }\n')
    given = nodes('swarm', config=str(file))
    assert [node.node_executable for node in given] == ['delama_robot'] * 2
    assert programs('swarm', config='real.yaml') == ['delama_robot'] * 2  # of the package


def test_a_robot_is_one_node() -> None:
    entities = load('robot').generate_launch_description().entities
    assert [e.node_executable for e in entities if hasattr(e, 'node_executable')] == [
        'delama_robot'
    ]


START = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *given = sys.argv[1:]
included = IncludeLaunchDescription(
    PythonLaunchDescriptionSource(path), launch_arguments=[text.split(':=') for text in given]
)
service = LaunchService()
service.include_launch_description(LaunchDescription([included]))
sys.exit(service.run())
"""


class Launch:
    """A launch file that runs as with `ros2 launch`, with the programs of this environment."""

    def __init__(self, folder: Path, environment: dict[str, str], *arguments: str) -> None:
        index(folder, 'delama_ros')
        (folder / 'lib/delama_ros').mkdir(parents=True)
        for name in ('delama_robot', 'delama_simulator'):
            program = shutil.which(name, path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}')
            assert program is not None
            (folder / 'lib/delama_ros' / name).symlink_to(program)
        paths = f'{folder}:{os.environ.get("AMENT_PREFIX_PATH", sys.prefix)}'
        self._log = folder / 'log'
        with self._log.open('w') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-c', START, str(ROOT / 'launch/swarm.launch.py'), *arguments],
                env={**environment, 'AMENT_PREFIX_PATH': paths, 'ROS_LOG_DIR': str(folder)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_for(self, text: str, seconds: float = 240.0) -> None:
        """Wait until the launch has logged a text."""
        limit = time.monotonic() + seconds
        while text not in self.log:
            assert time.monotonic() < limit, f'{text!r} is missing:\n{self.log}'
            assert self.process.poll() is None, f'ended without {text!r}:\n{self.log}'
            time.sleep(0.1)

    @property
    def log(self) -> str:
        """What the launch and all its nodes have logged."""
        return self._log.read_text()

    def pid(self, program: str) -> int:
        """Process id of a node."""
        found = re.search(rf'\[{program}-\d+\]: process started with pid \[(\d+)\]', self.log)
        assert found is not None
        return int(found[1])

    def left(self) -> str:
        """Processes that the launch has started and that still run."""
        found = subprocess.run(
            ['pgrep', '-a', '-s', str(self.process.pid)], capture_output=True, text=True
        )
        return found.stdout


@pytest.fixture
def launch(tmp_path: Path, ros_environment: dict[str, str]) -> Iterator[Callable[..., Launch]]:
    started: list[Launch] = []

    def start(*arguments: str) -> Launch:
        started.append(Launch(tmp_path, ros_environment, *arguments))
        return started[-1]

    yield start
    for one in started:
        with suppress(ProcessLookupError):
            os.killpg(one.process.pid, signal.SIGKILL)


def test_a_swarm_says_how_it_goes_and_ends_with_its_last_step(
    launch: Callable[..., Launch]
) -> None:
    swarm = launch('robots:=[ann, bob]', 'steps:=3')
    assert swarm.process.wait(300) == 0, swarm.log
    for robot, other in (('ann', 'bob'), ('bob', 'ann')):
        said = re.findall(rf'\[{robot}\.delama\]: (.*)', swarm.log)
        assert {'first scan mapped', f'{other}: joined'} <= set(said), swarm.log
        assert any(line.startswith('step 1 of 3 done') for line in said), swarm.log
        assert any(line.startswith('all 3 steps done, 1 of 1 peers') for line in said), swarm.log
    assert 'the swarm is done: ann, bob' in swarm.log
    assert swarm.log.count('process has finished cleanly') == 3
    assert swarm.left() == ''


def test_a_swarm_ends_with_its_simulator(launch: Callable[..., Launch]) -> None:
    swarm = launch('robots:=[ann, bob]', 'steps:=1000')
    swarm.wait_for('first scan mapped')
    os.kill(swarm.pid('delama_simulator'), signal.SIGKILL)
    swarm.process.wait(60)
    assert 'the simulator has ended with code -9' in swarm.log
    assert swarm.log.count('process has finished cleanly') == 2
    assert swarm.left() == ''


def test_a_swarm_goes_on_without_a_robot(launch: Callable[..., Launch]) -> None:
    swarm = launch('robots:=[ann, bob]', 'steps:=6')
    swarm.wait_for('bob: joined')
    os.kill(swarm.pid('delama_robot'), signal.SIGKILL)  # the first one, ann
    assert swarm.process.wait(300) == 0
    assert 'ann has ended with code -9' in swarm.log
    assert re.search(r'\[bob\.delama\]: all 6 steps done', swarm.log)
    assert swarm.left() == ''


def test_without_rviz_nothing_is_started(launch: Callable[..., Launch]) -> None:
    swarm = launch('robots:=[ann]', 'rviz:=true')
    assert swarm.process.wait(120) != 0
    assert 'rviz2 is not installed: sudo apt-get install ros-' in swarm.log
    assert 'process started' not in swarm.log
    assert swarm.left() == ''
