"""Recordings as robots: `ros2 launch delama_ros replay.launch.py logs:=intel.log.gz robots:=3`."""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from delama_ros.robot.parameters import REPLAY, Option
from delama_ros.swarm.launching import (
    ROBOTS,
    SHOW,
    SWARM,
    arguments,
    as_described,
    given,
    nodes,
    replayed,
)

LOGS = {
    'logs': Option('', 'bags or CARMEN logs separated by commas, in the order of robots, or one'),
    'topics': Option('', 'scan topics separated by commas, in the order of logs'),
}
NAMES = {'robots': SWARM['robots']._replace(default='1')}
PLAYER = as_described({name: REPLAY[name] for name in ('speed', 'reach', 'start_wait')})
CHANGES = as_described({name: ROBOTS[name] for name in ROBOTS if name not in PLAYER})


def make(context: LaunchContext) -> list[Node]:
    """Return the nodes."""
    logs, topics = (
        [part for part in LaunchConfiguration(name).perform(context).split(',') if part]
        for name in LOGS
    )
    replay = given(context, PLAYER) | ({'topics': topics} if topics else {})
    return nodes(replayed(logs, {**given(context, NAMES, CHANGES), 'replay': replay}), context)


def generate_launch_description() -> LaunchDescription:
    """Describe the launch: its arguments and its nodes."""
    declared = arguments(LOGS, NAMES, PLAYER, CHANGES, SHOW, required=('logs',))
    return LaunchDescription([*declared, OpaqueFunction(function=make)])
