"""A swarm as described: `ros2 launch delama_ros swarm.launch.py [robots:=3 plan:=generated:4 …]`.

Every parameter of the robot node is an argument, which then applies to all robots. Of a description
with neither plan nor logs only the nodes of the robots are started: the robots are real.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from delama_ros.swarm.launching import (
    CONFIG,
    ROBOTS,
    SHOW,
    SWARM,
    arguments,
    as_described,
    given,
    nodes,
    swarm_of,
)

CHANGES = as_described(ROBOTS)


def make(context: LaunchContext) -> list[Node]:
    """Return the nodes."""
    return nodes(swarm_of(context, given(context, SWARM, CHANGES)), context)


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its nodes."""
    return LaunchDescription(
        [*arguments(CONFIG, SWARM, CHANGES, SHOW), OpaqueFunction(function=make)]
    )
