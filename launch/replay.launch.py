"""Recordings as robots: `ros2 launch delama_ros replay.launch.py logs:=intel.log.gz robots:=3`."""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from delama_ros.swarm.launching import SHOW, arguments, given, nodes, replayed

ARGUMENTS = (
    ('logs', None, 'bags or CARMEN logs, with commas between, in the order of robots, or one'),
    ('topics', '', 'scan topics in the order of logs, with commas between, for bags with several'),
    ('robots', '1', 'number of robots (robot1, robot2, ...), or a list of names: [ann, bob]'),
    ('speed', '1.0', 'seconds of the log per second'),
    ('reach', '20.0', 'm up to which beams are used'),
    ('period', '2.0', 's of the log between time steps of DeLAMA'),
    *SHOW,
)


def make(context: LaunchContext) -> list[Node]:
    """Give the nodes."""
    logs, topics = (
        [part for part in LaunchConfiguration(name).perform(context).split(',') if part]
        for name in ('logs', 'topics')
    )
    replay = given(context, 'speed', 'reach') | ({'topics': topics} if topics else {})
    values = given(context, 'robots', 'period') | {'replay': replay}
    return nodes(replayed(logs, values), context)


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its nodes."""
    return LaunchDescription([*arguments(*ARGUMENTS), OpaqueFunction(function=make)])
