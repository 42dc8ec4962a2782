"""Simulate a swarm: `ros2 launch delama_ros swarm.launch.py [robots:=3 plan:=generated:4 …]`."""

import tempfile
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from delama_ros.resources import resource
from delama_ros.swarm.description import Swarm, read
from delama_ros.swarm.rviz import rviz_config

# Arguments that win over the description file; empty: what the file says.
OVERRIDES = {
    'robots': (int, 'number of robots (robot1, robot2, ...)'),
    'plan': (str, 'generated:SEED, a CubiCasa5k model.svg or a nav2 map.yaml'),
    'seed': (int, 'of everything random in the simulation'),
    'steps': (int, 'time steps of DeLAMA'),
    'period': (float, 's of simulated time between steps'),
}


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Give the simulator and one node per robot, in the robot's namespace."""
    overrides: dict[str, Any] = {}
    for name, (kind, _) in OVERRIDES.items():
        text = LaunchConfiguration(name).perform(context)
        if text:
            overrides[name] = kind(text)
    swarm = read(LaunchConfiguration('config').perform(context), overrides)
    return [
        Node(
            package='delama_ros',
            executable='delama_simulator',
            parameters=[swarm.simulator_parameters()],
            output='screen',
        ),
        *(
            Node(
                package='delama_ros',
                executable='delama_robot',
                namespace=name,
                parameters=[swarm.robot_parameters(name)],
                output='screen',
            )
            for name in swarm.robots
        ),
        *(
            [Node(package='delama_ros', executable='delama_viewer', output='screen')]
            if LaunchConfiguration('view').perform(context) == 'true'
            else []
        ),
        *([show(swarm)] if LaunchConfiguration('rviz').perform(context) == 'true' else []),
    ]


def show(swarm: Swarm) -> Node:
    """Give RViz with a view of these robots."""
    file = Path(tempfile.mkdtemp(prefix='delama_')) / 'swarm.rviz'
    file.write_text(rviz_config(swarm.robots))
    return Node(package='rviz2', executable='rviz2', arguments=['-d', str(file)])


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its nodes."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'config',
                default_value=str(resource('config/swarm.yaml')),
                description='swarm description, a YAML file',
            ),
            *(
                DeclareLaunchArgument(name, default_value='', description=text)
                for name, (_, text) in OVERRIDES.items()
            ),
            DeclareLaunchArgument(
                'view',
                default_value='false',
                description='true: serve a page that shows all robots; its address is in the log',
            ),
            DeclareLaunchArgument(
                'rviz', default_value='false', description='true: show all robots in RViz'
            ),
            OpaqueFunction(function=nodes),
        ]
    )
