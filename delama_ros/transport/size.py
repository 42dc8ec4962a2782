"""Bytes a message takes on the air: the CDR form of ModelParams and DualVar, to the byte."""

from __future__ import annotations

from collections.abc import Iterable

from delama_ros.transport.port import Packet, Wire


class _Cdr:
    """Counts bytes as CDR lays fields out: each aligned to its size."""

    def __init__(self) -> None:
        self.bytes = 0

    def number(self, size: int, count: int = 1) -> None:
        self.bytes += -self.bytes % size + count * size

    def text(self, value: str) -> None:
        self.number(4)
        self.bytes += len(value.encode()) + 1

    def texts(self, values: Iterable[str]) -> None:
        self.number(4)
        for value in values:
            self.text(value)

    def numbers(self, size: int, count: int) -> None:
        self.number(4)
        self.number(size, count)


def wire_bytes(wire: Wire, frame: str = 'map') -> int:
    """Bytes of the serialised ROS message, its header with this frame included."""
    cdr = _Cdr()
    cdr.number(4, 2)  # stamp
    cdr.text(frame)
    cdr.text(wire.robot)
    cdr.number(8)  # step
    cdr.number(1)  # phase
    cdr.number(2)  # round
    if isinstance(wire, Packet):
        cdr.number(8)  # fingerprint
        cdr.texts(wire.resync)
        cdr.number(1)  # encoding
        cdr.number(2, 3)  # features, outputs, parts
        cdr.numbers(4, wire.keys.size)
        cdr.numbers(1, len(wire.data))
    else:
        cdr.number(2)  # hop
        cdr.number(8)  # fingerprint
        cdr.texts(wire.names)
        cdr.numbers(8, len(wire.x))
        cdr.numbers(8, len(wire.y))
    return 4 + cdr.bytes  # behind the encapsulation header
