"""One robot's network port: packs the agent's messages for sending and unpacks received ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np

from delama_ros.core.agent.messages import Dual, Message, ModelLabel, Params, Phase, label_of
from delama_ros.core.blocks import Keys, Model, Shape, decode, encode
from delama_ros.transport.delta import DeltaDecoder, DeltaEncoder

# Root mean square change from which a tile is sent again, and steps on each side of 0 in which its
# numbers are written: the coarsest that cost the packaged map model less than half a point of F1.
THRESHOLDS = {int(Phase.LOCAL): 1.0, int(Phase.UPDATE): 1.0}
LEVELS = 15
# Bytes of models that a robot sends in a step at most; what does not fit follows in later steps.
# With labels and dual rows a step stays below 8 KB, also when a loop closure has moved all tiles.
STEP_BYTES = 7_000
NO_KEYS = np.zeros((0, 2), np.int32)


class Encoding(IntEnum):
    """How a model is written; the values are those of ModelParams.msg."""

    FLOAT64 = 0
    DELTA = 1


@dataclass(frozen=True)
class Packet(ModelLabel):
    """A model as it is sent; the fields of ModelParams.msg."""

    resync: tuple[str, ...]  # robots of which the sender has missed messages
    encoding: int
    shape: Shape  # of a block
    keys: Keys  # (n, 2)
    data: bytes
    sources: tuple[str, ...] = ()  # robots whose data stand behind the model
    epochs: tuple[int, ...] = ()  # of each of them


Wire: TypeAlias = Packet | Dual


class Port:
    """Packs what the robot sends and unpacks what it receives, alike on every transport."""

    def __init__(self, robot: str, encoding: Encoding) -> None:
        self._robot = robot
        self._encoding = encoding
        self._encoders: dict[int, DeltaEncoder] = {}  # by phase
        self._decoders: dict[tuple[str, int], DeltaDecoder] = {}  # by sender and phase
        self._last: dict[tuple[str, int], tuple[int, int]] = {}  # step and round received
        self._send_all: set[int] = set()  # phases in which every block has to be sent again
        self._missed: set[str] = set()  # robots of which messages were missed
        self._neighbours: frozenset[str] = frozenset()
        self._frames: dict[int, str] = {}  # of the last message, by phase
        self._received_frames: dict[tuple[str, int], str] = {}  # by sender and phase
        self._step, self._spent = -1, 0  # bytes of models sent in a step

    def fresh(self) -> Port:
        """Return a port like this one that has sent and received nothing yet."""
        return Port(self._robot, self._encoding)

    def meet(self, neighbours: frozenset[str]) -> None:
        """Begin a step with these neighbours: newcomers need every block."""
        if neighbours - self._neighbours:
            self._send_all = set(self._encoders)
        self._neighbours = neighbours

    def pack(self, message: Message) -> Wire:
        """Pack a message for sending."""
        if isinstance(message, Dual):
            return message
        model = message.model
        features, outputs = model.theta.shape[1:]
        shape = Shape(features, outputs, model.evidence.shape[1])
        if self._encoding is Encoding.FLOAT64:
            keys = decode(model.codes)
            data = b''.join(n.astype('<f8').tobytes() for n in (model.theta, model.evidence))
        else:
            keys, data = NO_KEYS, self._delta(message, shape)
        # Empty for a local model that was never corrected, as most are.
        epochs = {} if model.epochs == {message.robot: 0} else model.epochs
        return Packet(
            **label_of(message, ModelLabel),
            sources=tuple(epochs),
            epochs=tuple(epochs.values()),
            resync=tuple(sorted(self._missed)),
            encoding=int(self._encoding),
            shape=shape,
            keys=keys,
            data=data,
        )

    def _delta(self, message: Params, shape: Shape) -> bytes:
        phase = message.phase
        if phase not in self._encoders:
            self._encoders[phase] = DeltaEncoder(shape, THRESHOLDS[phase], levels=LEVELS)
        # Blocks of another frame have nothing to do with those of the same keys before.
        restart = self._frames.setdefault(phase, message.frame) != message.frame
        self._frames[phase] = message.frame
        refresh = phase in self._send_all
        self._send_all.discard(phase)
        if message.step != self._step:
            self._step, self._spent = message.step, 0
        limit = max(STEP_BYTES - self._spent, 0)
        data = self._encoders[phase].encode(
            message.model, refresh=refresh, restart=restart, limit=limit
        )
        self._spent += len(data)
        return data

    def unpack(self, wire: Wire) -> Message:
        """Read a received message.

        Of a sender whose messages were missed, the model is returned as far as it is known, and
        the next packet asks for all of it.

        Raises:
            ValueError: if the content cannot be read.

        """
        if isinstance(wire, Dual):
            return wire
        if wire.encoding == Encoding.FLOAT64:
            model = _exact(wire)
        elif wire.encoding == Encoding.DELTA:
            model = self._changed(wire)
        else:
            raise ValueError(f'encoding is {wire.encoding}, expected 0 or 1')
        if self._robot in wire.resync:
            self._send_all = set(self._encoders)
        if len(wire.sources) != len(wire.epochs):
            raise ValueError(f'{len(wire.sources)} sources and {len(wire.epochs)} epochs')
        epochs = dict(zip(wire.sources, wire.epochs, strict=True)) or {wire.robot: 0}
        model = Model(model.codes, model.theta, model.evidence, epochs)
        return Params(**label_of(wire, ModelLabel), model=model)

    def _changed(self, wire: Packet) -> Model:
        stream, time = (wire.robot, wire.phase), (wire.step, wire.round)
        last = self._last.get(stream, (-1, -1))
        if time > last and self._received_frames.setdefault(stream, wire.frame) != wire.frame:
            # The message with which the sender changed its frame may have been lost: nothing that
            # is held of the old frame may pass for the new one.
            self._received_frames[stream] = wire.frame
            self._decoders.pop(stream, None)
        decoder = self._decoders.setdefault(stream, DeltaDecoder(wire.shape))
        # Overtaken or replayed: the model held is newer. A sender may restart its counter, but its
        # time steps only increase.
        received = decoder.decode(wire.data, late=time <= last)
        self._last[stream] = max(time, last)
        (self._missed.discard if received.complete else self._missed.add)(wire.robot)
        return received.model


def _exact(packet: Packet) -> Model:
    n, (features, outputs, parts) = len(packet.keys), packet.shape
    if packet.keys.shape != (n, 2):
        raise ValueError(f'keys have shape {packet.keys.shape}, expected (n, 2)')
    expected = 8 * n * (features * outputs + parts)
    if len(packet.data) != expected:
        raise ValueError(
            f'{len(packet.data)} bytes for {n} blocks of {features} x {outputs} numbers and '
            f'{parts} parts, expected {expected}'
        )
    numbers = np.frombuffer(packet.data, '<f8').astype(np.float64)
    theta, evidence = np.split(numbers, [n * features * outputs])
    return Model.of(
        encode(packet.keys), theta.reshape(n, features, outputs), evidence.reshape(n, parts)
    )
