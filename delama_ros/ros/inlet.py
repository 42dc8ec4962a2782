"""Receives serialised messages together with the GID of their publisher, many at once.

rclpy passes no GID to callbacks, but rcl, which it is built on, does: a few of rcl's functions are
called here directly. Nothing of a message is unpacked, so that those of a flood cost microseconds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.type_support import check_is_valid_msg_type
from rclpy.waitable import NumberOfEntities, Waitable

BATCH = 1000  # messages taken before other work gets its turn
SHRINK = 1 << 20  # bytes above which the buffer is released again
OK = 0

_rcl = ctypes.CDLL('librcl.so')  # finds functions of the libraries that it uses, too


class _Allocator(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ('a', 'd', 'r', 'z', 'state'))


class _Bytes(ctypes.Structure):  # rcutils_uint8_array_t
    _fields_ = (
        ('buffer', ctypes.c_void_p), ('length', ctypes.c_size_t), ('capacity', ctypes.c_size_t),
        ('allocator', _Allocator),
    )


class _Gid(ctypes.Structure):  # rmw_gid_t of Jazzy
    _fields_ = (('implementation', ctypes.c_char_p), ('data', ctypes.c_uint8 * 16))


class _Info(ctypes.Structure):  # rmw_message_info_t of Jazzy
    _fields_ = (
        ('sent', ctypes.c_int64), ('received', ctypes.c_int64), ('number', ctypes.c_uint64),
        ('order', ctypes.c_uint64), ('publisher', _Gid), ('intra_process', ctypes.c_bool),
    )


_rcl.rcutils_get_default_allocator.restype = _Allocator
_rcl.rcutils_uint8_array_init.argtypes = [
    ctypes.POINTER(_Bytes), ctypes.c_size_t, ctypes.POINTER(_Allocator)
]
_rcl.rcutils_uint8_array_fini.argtypes = [ctypes.POINTER(_Bytes)]
_rcl.rcl_take_serialized_message.argtypes = [
    ctypes.c_void_p, ctypes.POINTER(_Bytes), ctypes.POINTER(_Info), ctypes.c_void_p
]
_rcl.rcl_publisher_get_rmw_handle.argtypes = [ctypes.c_void_p]
_rcl.rcl_publisher_get_rmw_handle.restype = ctypes.c_void_p
_rcl.rmw_get_gid_for_publisher.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Gid)]


def gid_of(publisher: Publisher) -> bytes:
    """Return the GID by which receivers know a publisher."""
    gid = _Gid()
    with publisher.handle:
        rmw = _rcl.rcl_publisher_get_rmw_handle(publisher.handle.pointer)
        if _rcl.rmw_get_gid_for_publisher(rmw, ctypes.byref(gid)) != OK:
            raise RuntimeError(f'{publisher.topic_name}: the publisher has no GID')
    return bytes(gid.data)


class Inlet(Waitable):
    """A subscription that passes on bytes and where they come from."""

    def __init__(
        self,
        node: Node,
        kind: Any,
        topic: str,
        qos: QoSProfile,
        callback: Callable[[bytes | int, bytes], None],
        *,
        longest: int,
    ) -> None:
        """Subscribe.

        Args:
            node: whose executor calls back.
            kind: type of the messages.
            topic: its full name.
            qos: of the subscription.
            callback: called with a serialised message, or with its size if that is larger than
                allowed, and the GID of its publisher.
            longest: most bytes that a message may have.
        """
        group: CallbackGroup = node.default_callback_group
        super().__init__(group)
        self._node, self._callback, self._longest = node, callback, longest
        check_is_valid_msg_type(kind)
        with node.handle:
            self._subscription = _rclpy.Subscription(
                node.handle, kind, topic, qos.get_c_qos_profile()
            )
        self._bytes, self._info, self._index = _Bytes(), _Info(), None
        self._allocate()
        node.add_waitable(self)

    def close(self) -> None:
        """Unsubscribe."""
        self._node.remove_waitable(self)
        self._subscription.destroy_when_not_in_use()
        _rcl.rcutils_uint8_array_fini(ctypes.byref(self._bytes))

    def _allocate(self) -> None:
        allocator = _rcl.rcutils_get_default_allocator()
        _rcl.rcutils_uint8_array_init(
            ctypes.byref(self._bytes), 4096, ctypes.byref(allocator)
        )

    # For the executor

    def __enter__(self) -> None:
        self._subscription.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._subscription.__exit__(*error)

    def get_num_entities(self) -> NumberOfEntities:
        """Return that this is one subscription."""
        return NumberOfEntities(1, 0, 0, 0, 0, 0)

    def add_to_wait_set(self, wait_set: Any) -> None:
        """Wait for messages."""
        self._index = wait_set.add_subscription(self._subscription)

    def is_ready(self, wait_set: Any) -> bool:
        """Return whether there are messages."""
        return bool(wait_set.is_ready('subscription', self._index))

    def take_data(self) -> list[tuple[bytes | int, bytes]]:
        """Take what there is."""
        taken: list[tuple[bytes | int, bytes]] = []
        while len(taken) < BATCH:
            result = _rcl.rcl_take_serialized_message(
                self._subscription.pointer, ctypes.byref(self._bytes), ctypes.byref(self._info),
                None,
            )
            if result != OK:
                _rcl.rcutils_reset_error()
                break
            size = self._bytes.length
            data = size if size > self._longest else ctypes.string_at(self._bytes.buffer, size)
            taken.append((data, bytes(self._info.publisher.data)))
        if self._bytes.capacity > SHRINK:
            _rcl.rcutils_uint8_array_fini(ctypes.byref(self._bytes))
            self._allocate()
        return taken

    async def execute(self, taken_data: list[tuple[bytes | int, bytes]]) -> None:
        """Pass on what was taken."""
        for data, publisher in taken_data:
            self._callback(data, publisher)
