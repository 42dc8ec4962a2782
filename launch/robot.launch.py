"""One real robot: `ros2 launch delama_ros robot.launch.py robot:=alice [scan:=scan …]`.

Every parameter of the robot node is an argument.
"""

from launch import LaunchDescription
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from delama_ros.robot.parameters import ROBOT, Option
from delama_ros.swarm.launching import arguments

TOPICS = {
    'scan': Option('scan', 'topic of the laser, relative to the namespace'),
    'odom': Option('odom', 'topic of the odometry, relative to the namespace'),
    'map': Option('map', 'topic of the map that is published, relative to the namespace'),
}
PARAMETERS = {
    **ROBOT,
    'robot': Option('', 'name in the swarm, also the namespace'),
    'use_sim_time': Option(False, 'take the time from /clock'),
}


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its node."""
    parameters = {
        name: ParameterValue(
            LaunchConfiguration(name),
            value_type=list[float] if isinstance(option.default, list) else type(option.default),
        )
        for name, option in PARAMETERS.items()
    }
    return LaunchDescription(
        [
            *arguments(PARAMETERS, TOPICS, required=('robot',)),
            Node(
                package='delama_ros',
                executable='delama_robot',
                namespace=LaunchConfiguration('robot'),
                parameters=[parameters],
                remappings=[(topic, LaunchConfiguration(topic)) for topic in TOPICS],
                output='screen',
            ),
        ]
    )
