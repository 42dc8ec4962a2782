"""A described swarm for `ros2 launch`: nodes, and launch arguments from parameter tables."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from delama_ros.resources import resource
from delama_ros.robot.parameters import ROBOT, Option
from delama_ros.robot.save_folder import save_folder
from delama_ros.swarm.description import Swarm, from_mapping, read
from delama_ros.swarm.ending import Ending, end_without
from delama_ros.swarm.rviz import rviz_config
from delama_ros.swarm.starts import with_starts

CONFIG = {'config': Option(str(resource('config/swarm.yaml')), 'swarm description, a YAML file')}
# What makes up a swarm, besides parameters of nodes; empty: as described.
SWARM = {
    'robots': Option('', 'number of robots (robot1, robot2, ...), or a list of names: [ann, bob]'),
    'plan': Option('', 'generated:SEED, rooms:N, a CubiCasa5k model.svg or a nav2 map.yaml'),
    'seed': Option('', 'seed of everything random in the simulation'),
}
SHOW = {
    'view': Option(False, 'serve a page that shows all robots; its address is in the log'),
    'rviz': Option(False, 'show all robots in RViz'),
}
# A swarm names its robots itself.
ROBOTS = {name: option for name, option in ROBOT.items() if name != 'robot'}


def arguments(*tables: Mapping[str, Option], required: tuple[str, ...] = ()) -> list[Any]:
    """Declare a launch argument for every parameter of the tables, with its default."""
    options = {name: option for table in tables for name, option in table.items()}
    return [
        DeclareLaunchArgument(
            name,
            default_value=None if name in required else _text(option.default),
            description=option.text,
        )
        for name, option in options.items()
    ]


def as_described(table: Mapping[str, Option]) -> dict[str, Option]:
    """Return the table with empty defaults: an argument that is not given changes nothing."""
    return {name: option._replace(default='') for name, option in table.items()}


def given(context: LaunchContext, *tables: Mapping[str, Option]) -> dict[str, Any]:
    """Return the arguments of the tables that are not empty, read as YAML."""
    names = [name for table in tables for name in table]
    texts = {name: LaunchConfiguration(name).perform(context) for name in names}
    return {name: yaml.safe_load(text) for name, text in texts.items() if text}


def swarm_of(context: LaunchContext, changes: Mapping[str, Any]) -> Swarm:
    """Read the description that the argument `config` names, and apply changes to its keys."""
    return read(LaunchConfiguration('config').perform(context), changes)


def nodes(swarm: Swarm, context: LaunchContext) -> list[Any]:
    """Return the source of the scans, one node per robot in its namespace, and the viewers.

    A simulated swarm ends with its last step, unless something shows it.
    """
    robots = {
        name: Node(
            package='delama_ros',
            executable='delama_robot',
            namespace=name,
            parameters=[parameters],
            remappings=swarm.remappings(name),
            output='screen',
        )
        for name, parameters in with_starts(swarm).items()
    }
    source = [source_node(swarm)] if swarm.source else []
    wanted = [name for name in SHOW if LaunchConfiguration(name).perform(context) == 'true']
    viewers = [_VIEWERS[name](swarm) for name in wanted]
    simulated = swarm.source == 'simulator'
    ending = Ending(robots, shown=bool(viewers)).actions() if simulated else []
    return [*ending, *source, *robots.values(), *viewers]


def source_node(swarm: Swarm) -> Node:
    """Return the simulator or the replay."""
    return Node(
        package='delama_ros',
        executable=f'delama_{swarm.source}',
        parameters=[swarm.source_parameters()],
        output='screen',
        on_exit=partial(end_without, swarm.source),
    )


def replayed(logs: list[str], values: Mapping[str, Any]) -> Swarm:
    """Describe a swarm that replays logs; values as in a description."""
    return from_mapping({**values, 'logs': logs})


def _text(default: Any) -> str:
    """Return a default as the text of a launch argument."""
    if isinstance(default, list):
        return f'[{", ".join(map(_text, default))}]'
    if isinstance(default, float) and math.isnan(default):
        return '.nan'
    return str(default).lower() if isinstance(default, bool) else str(default)


def _view(_: Swarm) -> Node:
    return Node(package='delama_ros', executable='delama_viewer', output='screen')


def _rviz(swarm: Swarm) -> Node:
    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError as error:  # before any process is started
        distro = os.environ.get('ROS_DISTRO', 'jazzy')
        raise RuntimeError(
            f'rviz2 is not installed: sudo apt-get install ros-{distro}-rviz2, or leave out '
            'rviz:=true (view:=true shows the swarm in a browser)'
        ) from error
    file = save_folder('', 'swarm') / 'swarm.rviz'
    file.parent.mkdir(parents=True, exist_ok=True)
    scans = {name: dict(swarm.remappings(name)).get('scan', 'scan') for name in swarm.robots}
    frame = swarm.robot_parameters(swarm.robots[0]).get('map_frame', ROBOT['map_frame'].default)
    file.write_text(rviz_config(swarm.robots, frame, scans))
    return Node(package='rviz2', executable='rviz2', arguments=['-d', str(file)])


_VIEWERS = {'view': _view, 'rviz': _rviz}
