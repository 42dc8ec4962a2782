"""What to install when a module is missing that not everybody has."""

from __future__ import annotations

import re

EXTRAS = {
    'fastapi': 'web',
    'uvicorn': 'web',
    'websockets': 'web',
    'rosbags': 'logs',
    'matplotlib': 'train',
    'sklearn': 'train',
    'torch': 'train',
    'tqdm': 'train',
    'cvxpy': 'test',
    'hypothesis': 'test',
    'networkx': 'test',
    'selenium': 'test',
    'shapely': 'test',
}
ROS = re.compile(r'(rcl|rosidl|builtin_interfaces|\w+_(msgs|srvs)\b|delama_ros\.(msg|srv)\b)')


def cure(module: str) -> str:
    """Say in one line how to get a module; it works in a clone of the project.

    Args:
        module: name of what could not be imported, such as 'torch' or 'rclpy.node'.

    Returns:
        The line, or '' for a module that no extra and no ROS 2 brings.

    """
    root = module.partition('.')[0]
    if root in EXTRAS:
        return f"{module} is missing: pip install '.[{EXTRAS[root]}]' in the folder of delama_ros"
    if root == 'numba':  # the one requirement that a rosdep of Jazzy cannot install
        return (
            'numba is missing, Ubuntu 24.04 has no package of it: '
            'pip install -c requirements/noble.txt numba in the folder of delama_ros'
        )
    if ROS.match(module):
        return 'ROS 2 is missing: `make env` in the folder of delama_ros, or source a ROS 2 Jazzy'
    return ''
