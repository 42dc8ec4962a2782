"""Parameters of the robot node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from delama_ros.swarm.options import Option
from delama_ros.transport.port import Encoding
from delama_sim.grid import Pose

OPTIONS = {
    'robot': Option('', 'name in the swarm; default: the namespace'),
    'autostart': Option(True, 'configure and activate at once; false: wait for a manager'),
    'period': Option(2.0, 's of ROS time between time steps; the same for all robots', 0.01),
    'deadline': Option(1.0, 's of wall time a round waits for a neighbour', 0.001),
    'steps': Option(0, 'time steps to take; 0: no end'),
    'swarm': Option('/delama', 'namespace of the topics that robots share'),
    'encoding': Option('delta', 'of models on the air: delta or float64'),
    'checkpoint': Option('', 'file of the learned features; default: the one in the package'),
    'memory_file': Option('', 'where memory is kept: read at the start, written now and then'),
    'memory_period': Option(30.0, 's of wall time between writes of memory_file', 0.1),
    'reach': Option(20.0, 'm up to which beams are used, whatever range_max says', 0.5, 100.0),
    'map_frame': Option('map', 'frame that all robots share'),
    'peer_frame': Option('{robot}/base_link', 'TF frame of a neighbour, to mask it in scans'),
    'odometry': Option(False, 'take base poses from the topic odom instead of from TF'),
    'start_pose': Option(
        [math.nan] * 3, 'x, y (m), yaw (rad) in the map where odom begins, with odometry'
    ),
    'quiet': Option(10.0, 's of wall time without scans, poses or neighbours worth a warning', 0.1),
    'namespaced_tf': Option(False, 'TF on the topics tf and tf_static of the namespace'),
}


def encoding(options: Mapping[str, Any]) -> Encoding:
    """Return what the parameter of that name stands for."""
    name = options['encoding']
    if name.upper() not in Encoding.__members__:
        raise ValueError(f'encoding is {name!r}, expected delta or float64')
    return Encoding[name.upper()]


def start_pose(options: Mapping[str, Any]) -> Pose | None:
    """Pose of the parameter start_pose; None if it was not given."""
    values = [float(v) for v in options['start_pose']]
    if len(values) != 3:
        raise ValueError(f'start_pose is {values}, expected x, y, yaw')
    if all(math.isnan(v) for v in values):
        return None
    if not all(map(math.isfinite, values)):
        raise ValueError(f'start_pose is {values}, expected finite x, y, yaw')
    return values[0], values[1], values[2]
