"""Parameters of every node: the one table behind nodes, launch arguments, descriptions and docs.

Each table maps a name to its default, which also fixes the type, a description and a range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from delama_ros.geometry.grid import Pose
from delama_ros.transport.envelope import SwarmKey
from delama_ros.transport.port import Encoding

NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]{0,63}')  # robot names: those that ROS allows


class Option(NamedTuple):
    """A parameter; the default fixes its type."""

    default: Any
    text: str
    low: float = 0
    high: float = 1e9


_MAP_FRAME = Option('map', 'frame of the map, shared by all robots')
_NAMESPACED_TF = Option(
    False, 'use TF on tf and tf_static in the namespace of the robot, as nav2 does, not on /tf'
)
_SWARM = Option('/delama', 'namespace of the topics that all robots share')
_START_WAIT = Option(30.0, 's of wall time to wait until every scan topic has a subscriber')

SIMULATOR = {
    'plan': Option('generated:7', 'floor plan, or several separated by commas: one building each'),
    'thicken_walls': Option(0.0, 'm added to every side of each wall', 0, 1),
    'add_blocks': Option(0, 'furniture-like blocks added to each building', 0, 100),
    'robots': Option(['robot1'], 'names of the robots, assigned to the buildings in turn'),
    'waypoints': Option([''], 'waypoint files in the order of robots; empty: the robot explores'),
    'seed': Option(7, 'seed of everything random', 0, 2**31 - 1),
    'beams': Option(360, 'beams per scan', 1, 100_000),
    'field_of_view': Option(2 * math.pi, 'rad, centred straight ahead', 1e-3, 2 * math.pi),
    'range_min': Option(0.05, 'm; nearer surfaces are -Inf'),
    'range_max': Option(12.0, 'm; beams without a return up to here are +Inf', 1e-3, 1e4),
    'range_noise': Option(0.02, 'm, standard deviation', 0, 10),
    'angle_noise': Option(0.0, 'rad, standard deviation per beam', 0, 1),
    'dropout': Option(0.0, 'share of beams that return nothing', 0, 1),
    'dropout_streak': Option(1.0, 'mean number of adjacent beams that drop out together', 1, 1000),
    'range_bias': Option(0.0, 'm added to every range', -1, 1),
    'outliers': Option(0.0, 'share of returns in front of the surface', 0, 1),
    'sweep': Option(0.0, 's from the first beam to the last; 0: all at once', 0, 10),
    'laser_pose': Option([0.0, 0.0, 0.0], 'x, y (m), yaw (rad) of the laser on the base'),
    'intensities': Option(False, 'fill in intensities: cosine of the angle of incidence'),
    'peers_visible': Option(True, 'robots appear in scans as discs'),
    'scan_rate': Option(5.0, 'Hz of simulated time', 1e-3, 1000),
    'odometry_rate': Option(20.0, 'Hz of simulated time, and minimum rate of /clock', 1e-3, 1000),
    'robot_radius': Option(0.11, 'm', 0.01, 5),
    'robot_speed': Option(0.5, 'm/s', 1e-3, 100),
    'robot_turn_rate': Option(1.5, 'rad/s', 1e-3, 100),
    'odometry_preset': Option('exact', 'odometry errors: exact, good, turtlebot, pioneer, bad'),
    'odometry_slip': Option(0.0, 'additional slip, m/√m', 0, 10),
    'odometry_turn_slip': Option(
        0.0, 'additional heading noise, rad/√m and rad/√rad', 0, 10
    ),
    'odometry_scale': Option(
        0.0, 'additional standard deviation of the relative distance error', 0, 1
    ),
    'ground_truth_tf': Option(False, 'publish map → odom like a perfect localization node'),
    'radio_range': Option(0.0, 'm; 0 is unlimited'),
    'radio_wall': Option(0.0, 'm of range lost to each wall in between'),
    'radio_fading': Option(0.0, 'm, standard deviation of the slow variation of range'),
    'radio_loss': Option(0.0, 'probability that a link is down for one radio period', 0, 1),
    'radio_rate': Option(2.0, 'Hz at which links change', 1e-3, 1000),
    'radio_across_buildings': Option(True, 'robots in different buildings receive each other'),
    'radio_chain': Option(False, 'each robot receives only the ones before and after it in robots'),
    'swarm': _SWARM,
    'map_frame': _MAP_FRAME,
    'namespaced_tf': _NAMESPACED_TF,
    'start_wait': _START_WAIT,
    'paused': Option(False, 'start paused'),
    'speed': Option(1.0, 'simulated seconds per second; may change at run time', 1e-3, 1e4),
}

REPLAY = {
    'logs': Option(
        [''], 'bags or CARMEN logs in the order of robots; a single one is split in time'
    ),
    'topics': Option([''], 'scan topics in the order of logs, for bags with several'),
    'robots': Option(['robot1'], 'names of the robots'),
    'reach': Option(
        20.0, 'maximum range used, m; beams without a return are ignored', 0.1, 1e4
    ),
    'map_frame': _MAP_FRAME,
    'namespaced_tf': _NAMESPACED_TF,
    'start_wait': _START_WAIT,
    'speed': Option(1.0, 'seconds of the log per second; may change at run time', 1e-3, 1e4),
}

ROBOT = {
    'robot': Option('', 'name in the swarm; default: the namespace'),
    'autostart': Option(
        True, 'configure and activate at start; false: wait for a lifecycle manager'
    ),
    'period': Option(2.0, 's of ROS time between time steps; the same for all robots', 0.01),
    'deadline': Option(
        1.0,
        's of wall time the first round of a step waits for a neighbour; each further round waits '
        'a quarter longer',
        0.001,
    ),
    'steps': Option(0, 'time steps to take; 0: no limit'),
    'swarm': _SWARM,
    'encoding': Option(
        'delta', 'encoding of models in messages: delta (changes only, small) or float64 (exact)'
    ),
    'checkpoint': Option(
        '', 'learned features: a file, or mapping (default) or mapping_16 of the package'
    ),
    'retention': Option(
        1.0, 'share of the memory retained per time step, below 1 for a world that changes; the '
        'same for all robots', 0.01, 1.0
    ),
    'complete': Option(False, 'also publish map_completed, which predicts unobserved space'),
    'memory_file': Option('', 'file of the memory: loaded at the start, saved periodically'),
    'memory_period': Option(30.0, 's of wall time between saves of memory_file', 0.1),
    'save_folder': Option(
        '', 'the only folder that services write to and read from; default: ~/.ros/delama/ and the '
        'name of the robot'
    ),
    'reach': Option(20.0, 'maximum range used, m, even if range_max is larger', 0.5, 100.0),
    'map_frame': _MAP_FRAME,
    'peer_frame': Option('{robot}/base_link', 'TF frame of a peer, to mask its body in scans'),
    'localization': Option(
        'auto', 'slam (own scans and odometry), tf (map → odom of another node), odometry (topic '
        'odom), or auto: tf if another node publishes map → odom, else slam'
    ),
    'start_pose': Option(
        [math.nan] * 3, 'x, y (m), yaw (rad) of the base in the map at the first scan, with slam '
        'and odometry'
    ),
    'start_uncertainty': Option(
        [0.0, 0.0], 'standard deviations of start_pose, m and rad, with slam; if not 0, robots '
        'correct their starts against each other from the maps'
    ),
    'start_odometry': Option(
        [math.nan] * 3, 'x, y (m), yaw (rad) of the odometry at start_pose; default: that of the '
        'first scan received'
    ),
    'base_frame': Option('', 'TF frame of the base; default: the moving frame above the laser'),
    'transform_tolerance': Option(0.1, 's by which map → odom is post-dated, with slam', 0, 10),
    'join_wall': Option(
        0.0, 'm of wall that a match of two maps must have before robots join frames; raise to 36 '
        'where rooms are furnished alike', low=0.0, high=1000.0,
    ),
    'no_return': Option(
        'auto', 'meaning of beams without a return: free, unknown, or auto: decided from the data'
    ),
    'scan_delay': Option(0.0, 'stamp delay of scans, s', -1, 1),
    'sweep_order': Option(
        'auto', 'order in which beams are measured: forward, reversed (lasers that turn '
        'clockwise), none (all at once), or auto: with slam, found from the data'
    ),
    'quiet': Option(10.0, 's of wall time without scans, poses or peers before a warning', 0.1),
    'namespaced_tf': _NAMESPACED_TF,
    'simulated_radio': Option(
        False, 'let the simulator decide who receives whom (topic links); set by delama swarm'
    ),
    'swarm_key_file': Option(
        '', 'file of 16 bytes or more that is the same on all robots and readable by its owner '
        'only: messages without its seal are refused'
    ),
}

MOST = 100.0, math.pi  # m and rad that a start may be uncertain by

# Values of the robot parameters that are names.
CHOICES = {
    'encoding': ('delta', 'float64'),
    'localization': ('auto', 'slam', 'tf', 'odometry'),
    'no_return': ('auto', 'free', 'unknown'),
    'sweep_order': ('auto', 'forward', 'reversed', 'none'),
}

RECORDER = {
    'path': Option('', 'folder of the bag; it must not exist yet'),
    'robots': Option(['robot1'], 'names of the robots to record'),
    'swarm': _SWARM,
}

VIEWER = {
    'host': Option(
        '127.0.0.1', 'address to serve on; 0.0.0.0: also to other machines, with a join code'
    ),
    'port': Option(0, 'port of the page; 0: 8420, or any free one', 0, 65535),
}


def check(options: Mapping[str, Any]) -> None:
    """Raise ValueError for a value of the robot parameters that is not one of those allowed."""
    for name, allowed in CHOICES.items():
        if options.get(name, allowed[0]) not in allowed:
            raise ValueError(f'{name} is {options[name]!r}, expected {" or ".join(allowed)}')
    for name in ('start_pose', 'start_odometry'):
        pose_option({name: [math.nan] * 3, **options}, name)
    uncertainty_option({'start_uncertainty': [0.0, 0.0], **options})


def encoding(options: Mapping[str, Any]) -> Encoding:
    """Return the value of the parameter `encoding`."""
    return Encoding[options['encoding'].upper()]


def swarm_key(options: Mapping[str, Any]) -> SwarmKey | None:
    """Return the key in the file of the parameter `swarm_key_file`, None if it is empty.

    Raises:
        ValueError: if it holds no key, or others than its owner may read it.
        OSError: if it cannot be read.
    """
    file = options['swarm_key_file']
    return SwarmKey.read(Path(file).expanduser()) if file else None


def pose_option(options: Mapping[str, Any], name: str) -> Pose | None:
    """Return the value of a parameter that is a pose, None if it is not set."""
    values = [float(v) for v in options[name]]
    if len(values) != 3:
        raise ValueError(f'{name} is {values}, expected x, y, yaw')
    if all(math.isnan(v) for v in values):
        return None
    if not all(map(math.isfinite, values)):
        raise ValueError(f'{name} is {values}, expected finite x, y, yaw')
    return values[0], values[1], values[2]


def uncertainty_option(options: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the standard deviations of the start pose, m and rad; None if it is exact."""
    values = [float(v) for v in options['start_uncertainty']]
    if len(values) != 2 or not all(0 <= v <= high for v, high in zip(values, MOST, strict=True)):
        raise ValueError(
            f'start_uncertainty is {values}, expected 0 .. 100 m and 0 .. 3.14 rad'
        )
    return (values[0], values[1]) if any(values) else None
