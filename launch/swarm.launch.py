"""A swarm as described: `ros2 launch delama_ros swarm.launch.py [robots:=3 plan:=generated:4 …]`.

Of a description with neither plan nor logs only the robots' nodes are started: the robots are real.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from delama_ros.swarm.launching import CONFIG, SHOW, arguments, nodes, swarm_of

# These win over the description; empty: what it says.
OVERRIDES = {
    'robots': 'number of robots (robot1, robot2, ...), or a list of names: [ann, bob]',
    'plan': 'generated:SEED, a CubiCasa5k model.svg or a nav2 map.yaml',
    'seed': 'of everything random in the simulation',
    'steps': 'time steps of DeLAMA',
    'period': 's between steps',
}


def make(context: LaunchContext) -> list[Node]:
    """Give the nodes."""
    return nodes(swarm_of(context, *OVERRIDES), context)


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its nodes."""
    described = [(name, '', text) for name, text in OVERRIDES.items()]
    return LaunchDescription(
        [*arguments(CONFIG, *described, *SHOW), OpaqueFunction(function=make)]
    )
