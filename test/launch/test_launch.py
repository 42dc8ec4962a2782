"""The launch files: their arguments, the nodes they give, and a swarm that they really start."""

import importlib.util
import os
import shutil
import subprocess
import sys
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
    return list(module.make(context))


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


def test_one_node_per_robot_and_what_gives_their_scans() -> None:
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


def test_it_really_starts_a_swarm(tmp_path: Path, ros_environment: dict[str, str]) -> None:
    import rclpy
    from nav_msgs.msg import OccupancyGrid
    from rclpy.executors import SingleThreadedExecutor

    from delama_ros.ros.conversions import LATCHED

    # What an installed package has: its name in the index, its programs where launch looks.
    (tmp_path / 'share/ament_index/resource_index/packages').mkdir(parents=True)
    (tmp_path / 'share/ament_index/resource_index/packages/delama_ros').touch()
    (tmp_path / 'lib/delama_ros').mkdir(parents=True)
    for name in ('delama_robot', 'delama_simulator'):
        program = shutil.which(name, path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}')
        assert program is not None
        (tmp_path / 'lib/delama_ros' / name).symlink_to(program)
    paths = f'{tmp_path}:{os.environ.get("AMENT_PREFIX_PATH", sys.prefix)}'
    process = subprocess.Popen(
        [
            *(sys.executable, '-c', START, str(ROOT / 'launch/swarm.launch.py')),
            *('robots:=[ann, bob]', 'steps:=3'),
        ],
        env={**ros_environment, 'AMENT_PREFIX_PATH': paths, 'ROS_LOG_DIR': str(tmp_path)},
        start_new_session=True,
    )
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('watcher', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    maps: dict[str, OccupancyGrid] = {}
    for robot in ('ann', 'bob'):
        node.create_subscription(
            OccupancyGrid, f'/{robot}/map', lambda m, r=robot: maps.update({r: m}), LATCHED
        )
    try:
        for _ in range(1200):
            executor.spin_once(timeout_sec=0.1)
            if len(maps) == 2:
                break
        assert sorted(maps) == ['ann', 'bob']
        assert all(max(grid.data) > 60 for grid in maps.values())
    finally:
        os.killpg(process.pid, 2)  # Ctrl-C reaches all processes of a terminal
        process.wait(60)
        node.destroy_node()
        rclpy.try_shutdown(context=context)
