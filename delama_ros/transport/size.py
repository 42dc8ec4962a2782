"""Size of a message: the CDR form of ModelParams and DualVar, to the byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from delama_ros.core.agent.messages import BYTES, Label, ModelLabel
from delama_ros.transport.envelope import SEAL
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

    def value(self, value: object, size: int | None) -> None:
        """Count a field or a list of any length; size: bytes of a number, None for text."""
        if isinstance(value, tuple):
            self.texts(value) if size is None else self.numbers(size, len(value))
        elif size is None:
            self.text(str(value))
        else:
            self.number(size)


def wire_bytes(wire: Wire, frame: str = 'map', *, sealed: bool = False) -> int:
    """Return the bytes of the serialised ROS message, including its header with this frame.

    sealed: whether it carries a seal.
    """
    cdr = _Cdr()
    cdr.number(4, 2)  # stamp
    cdr.text(frame)
    for field in fields(ModelLabel if isinstance(wire, Packet) else Label):
        if field.name == 'fingerprint' and not isinstance(wire, Packet):
            cdr.number(BYTES['hop'])
        cdr.value(getattr(wire, field.name), BYTES.get(field.name))
    if isinstance(wire, Packet):
        cdr.value(wire.sources, None)
        cdr.value(wire.epochs, 4)
        cdr.value(wire.resync, None)
        cdr.value(wire.resync_from, 4)
        cdr.number(1)  # encoding
        cdr.number(2, 3)  # features, outputs, parts
        cdr.numbers(4, wire.keys.size)
        cdr.numbers(1, len(wire.data))
    else:
        cdr.texts(wire.names)
        cdr.numbers(8, len(wire.x))
        cdr.numbers(8, len(wire.y))
    return 4 + cdr.bytes + SEAL * sealed  # behind the encapsulation header
