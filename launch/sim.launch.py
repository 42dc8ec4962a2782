"""The simulator alone: `ros2 launch delama_ros sim.launch.py [robots:=3 plan:=generated:4 …]`."""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from delama_ros.robot.parameters import SIMULATOR
from delama_ros.swarm.launching import (
    CONFIG,
    SWARM,
    arguments,
    as_described,
    given,
    source_node,
    swarm_of,
)

CHANGES = as_described({name: SIMULATOR[name] for name in SIMULATOR if name not in SWARM})


def make(context: LaunchContext) -> list[Node]:
    """Return the node."""
    changes = given(context, SWARM)
    described = swarm_of(context, changes)
    simulator = {**described.simulator, **given(context, CHANGES)}
    return [source_node(swarm_of(context, {**changes, 'simulator': simulator}))]


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its node."""
    return LaunchDescription([*arguments(CONFIG, SWARM, CHANGES), OpaqueFunction(function=make)])
