"""One robot's network port: packs the agent's messages for sending and unpacks received ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import (
    MAX_SOURCES,
    Dual,
    Message,
    ModelLabel,
    Params,
    Phase,
    label_of,
)
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.core.blocks import Keys, Model, Shape, decode, encode
from delama_ros.transport.delta import HELD, DeltaDecoder, DeltaEncoder

# Root mean square change from which a tile is sent again, and steps on each side of 0 in which its
# numbers are written: the coarsest that cost the packaged map model less than half a point of F1.
THRESHOLDS = {int(Phase.LOCAL): 1.0, int(Phase.UPDATE): 1.0}
LEVELS = 15
# Bytes of models that a robot sends in a step at most; what does not fit follows in later steps.
# With labels and dual rows a step stays below 8 KB, also when a loop closure has moved all tiles.
STEP_BYTES = 7_000
NOTHING = 2**32 - 1  # in place of the number of a message: none is missing
# Share of neighbours whose local models are received in a step, of late. Below POOR everything is
# sent in every step. Below GOOD bytes are limited further, by phase: repairs of what robots have
# seen themselves come first.
GOOD, POOR = 0.95, 0.35
LOSSY_BYTES = {int(Phase.LOCAL): 1_000, int(Phase.UPDATE): 50}
MEMORY = 0.2  # weight of the last step
ASKED = 64  # robots that are asked at once for what was missed
STRANGERS = 4096  # blocks held of all robots together whose models are not in use
NO_KEYS = np.zeros((0, 2), np.int32)


class Encoding(IntEnum):
    """How a model is written; the values are those of ModelParams.msg."""

    FLOAT64 = 0
    DELTA = 1


@dataclass(frozen=True)
class Packet(ModelLabel):
    """A model as it is sent; the fields of ModelParams.msg."""

    # Robots of which the sender has missed messages, and for each the number of the first LOCAL and
    # the first UPDATE message that it lacks, NOTHING for none.
    resync: tuple[str, ...]
    encoding: int
    shape: Shape  # of a block
    keys: Keys  # (n, 2)
    data: bytes
    sources: tuple[str, ...] = ()  # robots whose data stand behind the model
    epochs: tuple[int, ...] = ()  # of each of them
    resync_from: tuple[int, ...] = ()


Wire: TypeAlias = Packet | Dual


class Port:
    """Packs what the robot sends and unpacks what it receives, alike on every transport."""

    def __init__(self, robot: str, encoding: Encoding) -> None:
        self._robot = robot
        self._encoding = encoding
        self._encoders: dict[int, DeltaEncoder] = {}  # by phase
        self._decoders: dict[tuple[str, int], DeltaDecoder] = {}  # by sender and phase
        self._last: dict[tuple[str, int], tuple[int, int]] = {}  # step and round received
        self._repair: dict[int, int] = {}  # by phase: first message whose content is sent again
        self._repaired: dict[int, tuple[int, int, int]] = {}  # when that was done last, by phase
        self._met = -1  # step that began last
        self._heard: dict[str, int] = {}  # step of the last local model received, by sender
        self._unheard: frozenset[str] = frozenset()  # neighbours of which none was received
        self._success = 1.0  # share of neighbours whose local models were received, of late
        self._neighbours: frozenset[str] = frozenset()
        self._frames: dict[int, str] = {}  # of the last message, by phase
        self._received_frames: dict[tuple[str, int], str] = {}  # by sender and phase
        self._step = -1  # of the last model sent, and bytes of models sent in it, by phase
        self._spent = dict.fromkeys(THRESHOLDS, 0)
        self._trusted: frozenset[str] = frozenset()
        self._named: dict[str, set[str]] = {}  # robots that a sender has named as sources

    def fresh(self) -> Port:
        """Return a port like this one that has sent and received nothing yet."""
        return Port(self._robot, self._encoding)

    def meet(self, step: int, neighbours: frozenset[str]) -> None:
        """Begin a step with these neighbours: newcomers need every block."""
        before = self._neighbours
        if before:
            share = sum(self._heard.get(r, -1) >= self._met for r in before) / len(before)
            self._success += MEMORY * (share - self._success)
        # Where little arrives, questions do not arrive either.
        if neighbours - before or self._success < POOR:
            self._repair = dict.fromkeys(self._encoders, 0)
        self._unheard = (neighbours & before) - self._heard.keys()
        self._met, self._neighbours = step, neighbours

    def trust(self, robots: frozenset[str]) -> None:
        """Hold what these robots send; all others share what is set aside for them."""
        self._trusted = robots

    def forget(self, robot: str) -> None:
        """Drop all that is held of a sender."""
        for phase in Phase:
            for held in (self._decoders, self._last, self._received_frames):
                held.pop((robot, int(phase)), None)
        self._heard.pop(robot, None)
        self._named.pop(robot, None)

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
        gaps = {robot for (robot, _), held in self._decoders.items() if held.missing is not None}
        # Once in a phase is enough, also where many rounds follow.
        asked = tuple(sorted(gaps | self._unheard)[:ASKED]) if message.round <= 1 else ()
        return Packet(
            **label_of(message, ModelLabel),
            sources=tuple(epochs),
            epochs=tuple(epochs.values()),
            resync=asked,
            resync_from=tuple(n for robot in asked for n in self._lacking(robot)),
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
        repair = self._repair.pop(phase, None)
        if repair is not None:
            self._repaired[phase] = message.step, phase, message.round
        if message.step != self._step:
            self._step, self._spent = message.step, dict.fromkeys(THRESHOLDS, 0)
        limit = STEP_BYTES - sum(self._spent.values())
        if POOR <= self._success < GOOD:
            limit = min(limit, LOSSY_BYTES[phase] - self._spent[phase])
        data = self._encoders[phase].encode(
            message.model, repair=repair, restart=restart, limit=max(limit, 0)
        )
        self._spent[phase] += len(data)
        return data

    def deliver(self, wire: Wire, agent: Agent) -> Refused | None:
        """Pass a received message on to the agent; returns why it was refused, or None."""
        refused = agent.unwanted(wire)  # before it is unpacked, so that it changes nothing
        if refused is not None:
            return refused
        if isinstance(wire, Packet):
            rounds = agent.settings.update_rounds
            if wire.phase not in THRESHOLDS:
                return Refused(Refusal.UNKNOWN_PHASE, f'{wire.phase} for parameters')
            if not 0 <= wire.round < rounds:
                return Refused(Refusal.UNKNOWN_ROUND, f'{wire.round}, expected below {rounds}')
            if wire.shape != agent.shape:
                return Refused(
                    Refusal.WRONG_SHAPE, f'{tuple(wire.shape)}, expected {tuple(agent.shape)}'
                )
        try:
            return agent.receive(self.unpack(wire))
        except ValueError as error:
            return Refused(Refusal.UNREADABLE, str(error))

    def unpack(self, wire: Wire) -> Message:
        """Read a received message.

        Of a sender whose messages were missed, the model is returned as far as it is known, and
        the next packet asks for what is missing.

        Raises:
            ValueError: if the content cannot be read.

        """
        if isinstance(wire, Dual):
            return wire
        if len(wire.resync_from) != len(THRESHOLDS) * len(wire.resync):
            raise ValueError(f'{len(wire.resync)} robots and {len(wire.resync_from)} messages')
        if len(wire.sources) != len(wire.epochs):
            raise ValueError(f'{len(wire.sources)} sources and {len(wire.epochs)} epochs')
        named = self._named.setdefault(wire.robot, set())
        if len(named.union(wire.sources)) > MAX_SOURCES:
            raise ValueError(f'it has named more than {MAX_SOURCES} robots as sources')
        named.update(wire.sources)
        if wire.encoding == Encoding.FLOAT64:
            model = _exact(wire)
        elif wire.encoding == Encoding.DELTA:
            model = self._changed(wire)
        else:
            raise ValueError(f'encoding is {wire.encoding}, expected 0 or 1')
        if wire.phase == Phase.LOCAL:
            self._heard[wire.robot] = max(wire.step, self._heard.get(wire.robot, -1))
        self._answer(wire)
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
        received = decoder.decode(wire.data, late=time <= last, room=self._room(stream))
        self._last[stream] = max(time, last)
        return received.model

    def _answer(self, wire: Packet) -> None:
        """Send again what the sender of a packet lacks."""
        if self._robot not in wire.resync:
            return
        at = 2 * wire.resync.index(self._robot)
        for phase, first in zip(THRESHOLDS, wire.resync_from[at : at + 2], strict=True):
            # What was asked before an answer could arrive is not answered twice.
            asked = wire.step, wire.phase, wire.round
            if (
                first != NOTHING and phase in self._encoders
                and asked > self._repaired.get(phase, (-1, 0, 0))
            ):
                self._repair[phase] = min(first, self._repair.get(phase, first))

    def _lacking(self, robot: str) -> tuple[int, ...]:
        """Return the first message that is missing of a robot, in each phase."""
        if robot in self._unheard:
            return (0,) * len(THRESHOLDS)
        held = (self._decoders.get((robot, phase)) for phase in THRESHOLDS)
        firsts = (None if one is None else one.missing for one in held)
        return tuple(NOTHING if first is None else first for first in firsts)

    def _room(self, stream: tuple[str, int]) -> int:
        """Return how many blocks may be held of a sender after its next message."""
        if stream[0] in self._trusted:
            return HELD
        strangers = {s: d.held for s, d in self._decoders.items() if s[0] not in self._trusted}
        # Whoever takes most makes room for others.
        largest = max(strangers, key=strangers.__getitem__)
        if sum(strangers.values()) > STRANGERS and largest[0] != stream[0]:
            self.forget(largest[0])
        return STRANGERS


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
