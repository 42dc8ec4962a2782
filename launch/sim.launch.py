"""The simulator alone: `ros2 launch delama_ros sim.launch.py [robots:=3 plan:=generated:4 …]`."""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from delama_ros.swarm.launching import CONFIG, arguments, source_node, swarm_of

# These win over the description; empty: what it says.
OVERRIDES = {
    'robots': 'number of robots (robot1, robot2, ...), or a list of names: [ann, bob]',
    'plan': 'generated:SEED, a CubiCasa5k model.svg or a nav2 map.yaml',
    'seed': 'of everything random',
    'simulator': 'other parameters of the node: {scan_rate: 10.0, radio_range: 5.0}',
}


def make(context: LaunchContext) -> list[Node]:
    """Give the node."""
    return [source_node(swarm_of(context, *OVERRIDES))]


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its node."""
    described = [(name, '', text) for name, text in OVERRIDES.items()]
    return LaunchDescription([*arguments(CONFIG, *described), OpaqueFunction(function=make)])
