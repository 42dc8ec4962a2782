"""The first bytes of messages as ROS serialises them, for tests without ROS."""

import struct

from delama_ros.core.agent.messages import Label


def serialised(label: Label, size: int = 100, stamp: float = 0.0) -> bytes:
    """Return a message that begins with this label and has this size."""
    name = label.robot.encode() + b'\0'
    data = struct.pack('<iI', int(stamp), round(1e9 * (stamp % 1)))
    data += struct.pack('<I4s', 4, b'map\0') + struct.pack('<I', len(name)) + name
    data += bytes(-len(data) % 8)
    data += struct.pack('<QBxH4xQ', label.step, label.phase, label.round, label.fingerprint)
    return (b'\0\1\0\0' + data).ljust(size, b'\0')
