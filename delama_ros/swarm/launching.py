"""A described swarm for `ros2 launch`: the nodes, and arguments that win over the description."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from delama_ros.resources import resource
from delama_ros.swarm.description import Swarm, from_mapping, read
from delama_ros.swarm.rviz import rviz_config

CONFIG = ('config', str(resource('config/swarm.yaml')), 'swarm description, a YAML file')
SHOW = (
    ('view', 'false', 'true: serve a page that shows all robots; its address is in the log'),
    ('rviz', 'false', 'true: show all robots in RViz'),
)


def arguments(*described: tuple[str, str | None, str]) -> list[DeclareLaunchArgument]:
    """Declare arguments, each with its name, its default (None: must be given) and a text."""
    return [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, default, text in described
    ]


def given(context: LaunchContext, *names: str) -> dict[str, Any]:
    """Return the values of arguments that are not empty, read as YAML."""
    texts = {name: LaunchConfiguration(name).perform(context) for name in names}
    return {name: yaml.safe_load(text) for name, text in texts.items() if text}


def swarm_of(context: LaunchContext, *names: str) -> Swarm:
    """Read the description that the argument `config` names; arguments of these names win."""
    return read(LaunchConfiguration('config').perform(context), given(context, *names))


def nodes(swarm: Swarm, context: LaunchContext) -> list[Node]:
    """Give what provides the scans, one node per robot in its namespace, and what shows them."""
    robots = [
        Node(
            package='delama_ros',
            executable='delama_robot',
            namespace=name,
            parameters=[swarm.robot_parameters(name)],
            remappings=swarm.remappings(name),
            output='screen',
        )
        for name in swarm.robots
    ]
    source = [source_node(swarm)] if swarm.source else []
    wanted = [name for name, _, _ in SHOW if LaunchConfiguration(name).perform(context) == 'true']
    return [*source, *robots, *(_SHOWN[name](swarm) for name in wanted)]


def source_node(swarm: Swarm) -> Node:
    """Give the simulator or the replay."""
    return Node(
        package='delama_ros',
        executable=f'delama_{swarm.source}',
        parameters=[swarm.source_parameters()],
        output='screen',
    )


def replayed(logs: list[str], values: Mapping[str, Any]) -> Swarm:
    """Describe a swarm that lives through logs; values as in a description."""
    return from_mapping({'steps': 0, **values, 'logs': logs})


def _view(_: Swarm) -> Node:
    return Node(package='delama_ros', executable='delama_viewer', output='screen')


def _rviz(swarm: Swarm) -> Node:
    file = Path(tempfile.mkdtemp(prefix='delama_')) / 'swarm.rviz'
    file.write_text(rviz_config(swarm.robots))
    return Node(package='rviz2', executable='rviz2', arguments=['-d', str(file)])


_SHOWN = {'view': _view, 'rviz': _rviz}
