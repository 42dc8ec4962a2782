"""Message types for reading and writing bags: those of ROS 2 Jazzy and our own."""

from __future__ import annotations

from typing import Any

from delama_ros.resources import resource

OWN = ('Collaboration', 'DualVar', 'Links', 'ModelParams', 'PeerStatus', 'RobotStatus')


def typestore() -> Any:
    """Return all types that our bags may contain."""
    # Imported here, so that the library is optional for everything but bags.
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    types = get_typestore(Stores.ROS2_JAZZY)
    for name in OWN:
        text = resource(f'msg/{name}.msg').read_text()
        types.register(get_types_from_msg(text, f'delama_ros/msg/{name}'))
    return types
