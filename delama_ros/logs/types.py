"""Message types for reading and writing bags: those of ROS 2 Jazzy and our own."""

from __future__ import annotations

from typing import Any

from delama_ros.resources import resource

OWN = ('Collaboration', 'DualVar', 'Links', 'ModelParams')


def typestore() -> Any:
    """Return all types that our bags may hold."""
    # Here, not above: those who do without bags need not have the library.
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    types = get_typestore(Stores.ROS2_JAZZY)
    for name in OWN:
        text = resource(f'msg/{name}.msg').read_text()
        types.register(get_types_from_msg(text, f'delama_ros/msg/{name}'))
    return types
