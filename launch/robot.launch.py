"""One real robot: `ros2 launch delama_ros robot.launch.py robot:=alice [scan:=scan …]`."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# name → (type, default, description); all but the topics are parameters of the node
TOPICS = ('scan', 'odom', 'map')
ARGUMENTS = {
    'robot': (str, None, 'name in the swarm, also the namespace'),
    'scan': (str, 'scan', 'topic of the laser, relative to the namespace'),
    'odom': (str, 'odom', 'topic of the odometry, relative to the namespace'),
    'map': (str, 'map', 'topic of the map that is drawn, relative to the namespace'),
    'odometry': (bool, 'false', 'take base poses from odom instead of from TF'),
    'start_pose': (list[float], '[.nan, .nan, .nan]', 'x, y, yaw where odom begins in map_frame'),
    'autostart': (bool, 'true', 'configure and activate at once; false: wait for a manager'),
    'reach': (float, '20.0', 'm up to which beams are used'),
    'period': (float, '2.0', 's between time steps; the same for all robots'),
    'deadline': (float, '1.0', 's that a round waits for a neighbour that does not answer'),
    'map_frame': (str, 'map', 'frame that all robots share'),
    'memory_file': (str, '', 'file that keeps what was learned over restarts'),
    'namespaced_tf': (bool, 'false', 'TF on tf and tf_static of the namespace, as nav2 has it'),
    'use_sim_time': (bool, 'false', 'take time from /clock'),
}


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its node."""
    parameters = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, (kind, _, _) in ARGUMENTS.items()
        if name not in TOPICS
    }
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=text)
                for name, (_, default, text) in ARGUMENTS.items()
            ),
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
