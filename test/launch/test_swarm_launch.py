"""The launch file: its arguments and the nodes it gives."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip('launch_ros', reason='launch_ros is not on PyPI; it comes with a ROS 2 install')


def load() -> ModuleType:
    path = ROOT / 'launch' / 'swarm.launch.py'
    spec = importlib.util.spec_from_file_location('swarm_launch', path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_argument_is_described() -> None:
    arguments = load().generate_launch_description().get_launch_arguments()
    assert {'config', 'robots', 'plan', 'seed', 'steps'} <= {a.name for a in arguments}
    assert all(a.description and a.description != 'no description given' for a in arguments)


def test_one_node_per_robot_and_a_simulator() -> None:
    from launch import LaunchContext

    module = load()
    context = LaunchContext()
    for argument in module.generate_launch_description().get_launch_arguments():
        argument.visit(context)
    context.launch_configurations['robots'] = '3'
    nodes = module.nodes(context)
    programs = [node.node_executable for node in nodes]
    assert programs == ['delama_simulator', *['delama_robot'] * 3]
