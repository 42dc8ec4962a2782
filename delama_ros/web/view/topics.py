"""Which topics show a swarm: robots are found by the type of one topic, the rest by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

GRID, TF = 'nav_msgs/msg/OccupancyGrid', 'tf2_msgs/msg/TFMessage'
ROW, SCAN = 'delama_ros/msg/Collaboration', 'sensor_msgs/msg/LaserScan'
# Of every robot, in its namespace: topic → (kind, type).
OF_ROBOT = {
    'map_probability': ('map', GRID),
    'map': ('map', GRID),  # of recordings without probabilities
    'pose': ('pose', 'geometry_msgs/msg/PoseStamped'),
    'path': ('path', 'nav_msgs/msg/Path'),
    'status': ('status', 'delama_ros/msg/RobotStatus'),
    'tf': ('tf', TF),
    'tf_static': ('fixed', TF),
}
# Of all robots together.
SHARED = {
    '/tf': ('tf', TF),
    '/tf_static': ('fixed', TF),
    '/rosout': ('log', 'rcl_interfaces/msg/Log'),
}
TRUTH = re.compile(r'(.*/)?sim/truth(_\d+)?')


class Source(NamedTuple):
    """A topic to subscribe to."""

    topic: str
    type: str
    kind: str  # row, map, scan, pose, path, status, tf, fixed, log, truth
    robot: str = ''  # namespace of the robot, '' for shared topics


def sources(topics: Mapping[str, str]) -> Iterator[Source]:
    """Choose among topics and their types; every row of the graph belongs to a robot."""
    for topic, (kind, expected) in SHARED.items():
        if topics.get(topic) == expected:
            yield Source(topic, expected, kind)
    for topic, found in sorted(topics.items()):
        if found == GRID and TRUTH.fullmatch(topic):
            yield Source(topic, GRID, 'truth')
        elif found == ROW:
            yield from _of_robot(topic, topics)


def _of_robot(row: str, topics: Mapping[str, str]) -> Iterator[Source]:
    namespace = row.rpartition('/')[0] or '/'
    prefix = namespace.rstrip('/') + '/'
    yield Source(row, ROW, 'row', namespace)
    for name, (kind, expected) in OF_ROBOT.items():
        found = topics.get(prefix + name) == expected and prefix + name not in SHARED
        if name == 'map' and topics.get(prefix + 'map_probability') == expected:
            continue
        if found:
            yield Source(prefix + name, expected, kind, namespace)
    # A laser may have any name; `scan` is preferred, and one per robot is shown.
    lasers = sorted(t for t, found in topics.items() if found == SCAN and t.startswith(prefix))
    for topic in ([prefix + 'scan'] if prefix + 'scan' in lasers else lasers)[:1]:
        yield Source(topic, SCAN, 'scan', namespace)
