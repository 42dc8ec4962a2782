"""One robot's end of the air: the agent's messages as they are sent, and back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np

from delama_ros.core.blocks import Floats, Keys, Model, Shape, decode
from delama_ros.core.messages import Dual, Message, Params, Phase
from delama_ros.transport.delta import DeltaDecoder, DeltaEncoder

# How far a tile's numbers must have moved (root mean square) for it to be sent again, and in how
# many steps on each side of 0 they are written: the coarsest that cost the packaged map model less
# than half a point of F1. Local models only tell how alike two maps are and may be coarser still.
THRESHOLDS = {int(Phase.LOCAL): 1.0, int(Phase.UPDATE): 1.0}
LEVELS = 15
NO_KEYS = np.zeros((0, 2), np.int32)


class Encoding(IntEnum):
    """How a model is written; the values are those of ModelParams.msg."""

    FLOAT64 = 0
    DELTA = 1


@dataclass(frozen=True)
class Packet:
    """A model as it is sent; the fields of ModelParams.msg."""

    robot: str
    step: int
    phase: int
    round: int
    fingerprint: int
    resync: tuple[str, ...]  # robots whose stream the sender has lost
    encoding: int
    shape: Shape  # of a block
    keys: Keys  # (n, 2)
    data: bytes


Wire: TypeAlias = Packet | Dual


class Port:
    """Packs what the robot says and unpacks what it hears, the same on every transport."""

    def __init__(self, robot: str, encoding: Encoding) -> None:
        self._robot = robot
        self._encoding = encoding
        self._encoders: dict[int, DeltaEncoder] = {}  # by phase
        self._decoders: dict[tuple[str, int], DeltaDecoder] = {}  # by sender and phase
        self._last: dict[tuple[str, int], tuple[int, int]] = {}  # step and round heard
        self._send_all: set[int] = set()  # phases whose next message holds every block
        self._lost: set[str] = set()  # robots of which messages were missed
        self._neighbours: frozenset[str] = frozenset()

    def fresh(self) -> Port:
        """Return a port like this one that has sent and heard nothing yet."""
        return Port(self._robot, self._encoding)

    def meet(self, neighbours: frozenset[str]) -> None:
        """Begin a step with these neighbours: newcomers need everything."""
        if neighbours - self._neighbours:
            self._send_all = set(self._encoders)
        self._neighbours = neighbours

    def pack(self, message: Message) -> Wire:
        """Write a message for the air."""
        if isinstance(message, Dual):
            return message
        _, features, outputs = message.values.shape
        shape = Shape(features, outputs, message.evidence.shape[1])
        if self._encoding is Encoding.FLOAT64:
            keys = message.keys
            data = b''.join(n.astype('<f8').tobytes() for n in (message.values, message.evidence))
        else:
            phase = message.phase
            if phase not in self._encoders:
                self._encoders[phase] = DeltaEncoder(shape, THRESHOLDS[phase], levels=LEVELS)
            encoder = self._encoders[phase]
            full = phase in self._send_all
            keys, data = NO_KEYS, encoder.encode(message.model, full=full)
            self._send_all.discard(phase)
        return Packet(
            message.robot,
            message.step,
            message.phase,
            message.round,
            message.fingerprint,
            tuple(sorted(self._lost)),
            int(self._encoding),
            shape,
            keys,
            data,
        )

    def unpack(self, wire: Wire) -> Message:
        """Read what came over the air; ValueError says why it cannot be read.

        A model of which messages were missed is given as far as it is known, and asked for.
        """
        if isinstance(wire, Dual):
            return wire
        if wire.encoding == Encoding.FLOAT64:
            keys, (values, evidence) = wire.keys, _exact(wire)
        elif wire.encoding == Encoding.DELTA:
            model = self._changed(wire)
            keys, values = decode(model.codes), model.theta.values
            evidence = model.evidence.values
        else:
            raise ValueError(f'encoding {wire.encoding} is not known, expected 0 or 1')
        if self._robot in wire.resync:
            self._send_all = set(self._encoders)
        return Params(
            wire.robot, wire.step, wire.phase, wire.round, wire.fingerprint, keys, values, evidence
        )

    def _changed(self, wire: Packet) -> Model:
        stream, time = (wire.robot, wire.phase), (wire.step, wire.round)
        last = self._last.get(stream, (-1, -1))
        decoder = self._decoders.setdefault(stream, DeltaDecoder(wire.shape))
        # Overtaken or replayed: what is held is newer. A sender may count anew, time does not.
        received = decoder.decode(wire.data, late=time <= last)
        self._last[stream] = max(time, last)
        (self._lost.discard if received.complete else self._lost.add)(wire.robot)
        return received.model


def _exact(packet: Packet) -> tuple[Floats, Floats]:
    n, (features, outputs, parts) = len(packet.keys), packet.shape
    expected = 8 * n * (features * outputs + parts)
    if len(packet.data) != expected:
        raise ValueError(
            f'{len(packet.data)} bytes for {n} blocks of {features} x {outputs} numbers and '
            f'{parts} parts, expected {expected}'
        )
    numbers = np.frombuffer(packet.data, '<f8').astype(np.float64)
    values, evidence = np.split(numbers, [n * features * outputs])
    return values.reshape(n, features, outputs), evidence.reshape(n, parts)
