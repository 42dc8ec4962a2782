"""The launch files: their arguments and the nodes they give."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip('launch_ros', reason='launch_ros is not on PyPI; it comes with a ROS 2 install')


def load(name: str) -> ModuleType:
    path = ROOT / 'launch' / f'{name}.launch.py'
    spec = importlib.util.spec_from_file_location('swarm_launch', path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('swarm', {'config', 'robots', 'plan', 'seed', 'steps', 'rviz', 'view'}),
        ('robot', {'robot', 'scan', 'period', 'map_frame', 'use_sim_time'}),
    ],
)
def test_every_argument_is_described(name: str, expected: set[str]) -> None:
    arguments = load(name).generate_launch_description().get_launch_arguments()
    assert expected <= {a.name for a in arguments}
    assert all(a.description and a.description != 'no description given' for a in arguments)


def test_one_node_per_robot_and_a_simulator() -> None:
    from launch import LaunchContext

    module = load('swarm')
    context = LaunchContext()
    for argument in module.generate_launch_description().get_launch_arguments():
        argument.visit(context)
    context.launch_configurations['robots'] = '3'
    nodes = module.nodes(context)
    programs = [node.node_executable for node in nodes]
    assert programs == ['delama_simulator', *['delama_robot'] * 3]
    context.launch_configurations['view'] = 'true'
    assert [node.node_executable for node in module.nodes(context)][-1] == 'delama_viewer'
    context.launch_configurations['rviz'] = 'true'
    assert [node.node_executable for node in module.nodes(context)][-1] == 'rviz2'


def test_a_robot_is_one_node() -> None:
    entities = load('robot').generate_launch_description().entities
    assert [e.node_executable for e in entities if hasattr(e, 'node_executable')] == [
        'delama_robot'
    ]
