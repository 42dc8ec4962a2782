"""Node parameters as tables: name → default, meaning and range; known without ROS."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Option(NamedTuple):
    """A parameter: its default also fixes its type."""

    default: Any
    text: str
    low: float = 0
    high: float = 1e9


# Of the simulator node; a swarm description may set any of them.
SIMULATOR = {
    'plan': Option('generated:7', 'plan, or several with commas between: one building each'),
    'thicken_walls': Option(0.0, 'm by which walls grow on every side', 0, 1),
    'add_blocks': Option(0, 'furniture-like blocks put into each building', 0, 100),
    'robots': Option(['robot1'], 'names, spread over the buildings in turn'),
    'waypoints': Option([''], 'waypoint files in the order of robots; empty: the robot explores'),
    'seed': Option(7, 'of everything random', 0, 2**31 - 1),
    'beams': Option(360, 'beams per scan', 1, 100_000),
    'field_of_view': Option(2 * math.pi, 'rad, centred ahead', 1e-3, 2 * math.pi),
    'range_min': Option(0.05, 'm; nearer returns are -Inf'),
    'range_max': Option(12.0, 'm; no return up to here is +Inf', 1e-3, 1e4),
    'range_noise': Option(0.02, 'm, standard deviation', 0, 10),
    'angle_noise': Option(0.0, 'rad, standard deviation of each beam', 0, 1),
    'dropout': Option(0.0, 'share of beams that return nothing', 0, 1),
    'intensities': Option(False, 'fill in intensities: cosine of incidence'),
    'peers_visible': Option(True, 'robots appear in scans as discs'),
    'scan_rate': Option(5.0, 'Hz of simulated time', 1e-3, 1000),
    'odometry_rate': Option(20.0, 'Hz of simulated time, and least rate of /clock', 1e-3, 1000),
    'robot_radius': Option(0.11, 'm', 0.01, 5),
    'robot_speed': Option(0.5, 'm/s', 1e-3, 100),
    'robot_turn_rate': Option(1.5, 'rad/s', 1e-3, 100),
    'odometry_slip': Option(0.0, 'm per square root of a metre driven', 0, 10),
    'odometry_turn_slip': Option(0.0, 'rad per square root of a metre driven or rad turned', 0, 10),
    'odometry_scale': Option(0.0, 'std. dev. of the share distances are misjudged by', 0, 1),
    'radio_range': Option(0.0, 'm; 0 is unlimited'),
    'radio_wall': Option(0.0, 'm of range each wall in between costs'),
    'radio_fading': Option(0.0, 'm, standard deviation of the slow change of range'),
    'radio_loss': Option(0.0, 'probability that a link is silent for one radio period', 0, 1),
    'radio_rate': Option(2.0, 'Hz at which links change', 1e-3, 1000),
    'radio_across_buildings': Option(True, 'robots in different buildings hear each other'),
    'radio_chain': Option(False, 'robots hear only those before and after them in robots'),
    'swarm': Option('/delama', 'namespace of the topics robots share: links'),
    'map_frame': Option('map', 'frame of the true map'),
    'namespaced_tf': Option(False, 'TF on ROBOT/tf with plain frames, as nav2 wants, not on /tf'),
    'start_wait': Option(30.0, 's of wall time to wait at most until every scan has a subscriber'),
    'paused': Option(False, 'start paused'),
    'speed': Option(1.0, 'simulated seconds per second; may be changed', 1e-3, 1e4),
}

# Of the replay node.
REPLAY = {
    'logs': Option([''], 'bags or CARMEN logs in the order of robots; one alone is cut up'),
    'topics': Option([''], 'scan topics in the order of logs, for bags with several'),
    'robots': Option(['robot1'], 'names'),
    'reach': Option(20.0, 'm up to which beams are used; no return says nothing', 0.1, 1e4),
    'map_frame': Option('map', 'frame in which all logs have their poses'),
    'namespaced_tf': Option(False, 'TF on ROBOT/tf with plain frames, as nav2 wants, not on /tf'),
    'start_wait': Option(30.0, 's of wall time to wait at most until every scan has a subscriber'),
    'speed': Option(1.0, 'seconds of the log per second; may be changed', 1e-3, 1e4),
}

# Of the robot node; a swarm description may set any of them for single robots.
ROBOT = {
    'robot': Option('', 'name in the swarm; default: the namespace'),
    'autostart': Option(True, 'configure and activate at once; false: wait for a manager'),
    'period': Option(2.0, 's of ROS time between time steps; the same for all robots', 0.01),
    'deadline': Option(1.0, 's of wall time a round waits for a neighbour', 0.001),
    'steps': Option(0, 'time steps to take; 0: no end'),
    'swarm': Option('/delama', 'namespace of the topics that robots share'),
    'encoding': Option('delta', 'of models on the air: delta or float64'),
    'checkpoint': Option(
        '', 'learned features: a file, or mapping (default) or mapping_16 of the package'
    ),
    'keep': Option(
        1.0, 'share of the memory kept from step to step, below 1 if the world changes; the same '
        'for all robots', 0.01, 1.0
    ),
    'complete': Option(False, 'publish map_completed too, with a guess at what nobody has seen'),
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
