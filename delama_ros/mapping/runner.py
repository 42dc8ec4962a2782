"""A swarm that maps in one process: real agents, real messages, one step after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from delama_ros.core.messages import Dual, Message, Phase
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.dataset import scan_of
from delama_ros.mapping.default import make_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.transport.delta import DeltaDecoder, DeltaEncoder
from delama_sim.grid import Floats
from delama_sim.protocol import MappingRun

SCALARS = 16  # bytes of a row (x, y) of a dual message, its name not counted


class Channel(Protocol):
    """How one robot's messages reach the others."""

    def carry(self, message: Message) -> tuple[int, Message]:
        """Return the bytes a message takes and the message as it is understood."""
        ...


class Exact:
    """Every block in every message, 8 bytes a number."""

    def carry(self, message: Message) -> tuple[int, Message]:
        """Return the message itself."""
        if isinstance(message, Dual):
            return dual_bytes(message), message
        return message.keys.nbytes + message.values.nbytes, message


class Deltas:
    """Only what changed, a byte a number or less; the two kinds of models are streams apart.

    Local models only serve to tell how alike two maps are, which needs less than averaging them.
    """

    def __init__(
        self, shape: tuple[int, int], threshold: float, local_threshold: float, levels: int
    ) -> None:
        limits = {int(Phase.LOCAL): local_threshold, int(Phase.UPDATE): threshold}
        self._streams = {
            phase: (DeltaEncoder(shape, limit, levels=levels), DeltaDecoder(shape))
            for phase, limit in limits.items()
        }

    def carry(self, message: Message) -> tuple[int, Message]:
        """Encode and decode the message."""
        if isinstance(message, Dual):
            return dual_bytes(message), message
        encoder, decoder = self._streams[message.phase]
        data = encoder.encode(message.keys, message.values)
        received = decoder.decode(data)
        return len(data), replace(message, keys=received.keys, values=received.values)


def dual_bytes(message: Dual) -> int:
    """Return the bytes of the rows of a dual message."""
    return sum(SCALARS + len(name) + 1 for name in message.names)


@dataclass(frozen=True)
class Step:
    """What one time step of a swarm of N robots came to."""

    mappers: Sequence[Mapper]
    bytes: Floats  # (N,), sent by each robot
    seconds: float  # of processor time per robot, for learning and all messages
    weights: Floats  # (N, N)


def run_swarm(
    run: MappingRun,
    checkpoint: Checkpoint,
    *,
    poses: Floats | None = None,
    links: npt.NDArray[np.bool_] | None = None,
    channel: Callable[[], Channel] = Exact,
    take: Callable[[Step, int], None],
    **changes: object,
) -> None:
    """Run all steps and hand each to `take`.

    poses: where the robots believe to be; links (N, N): who hears whom, default everybody;
    changes: of the checkpoint's settings.
    """
    steps, robots = run.poses.shape[:2]
    poses = run.poses if poses is None else poses
    hears = np.ones((robots, robots), np.bool_) if links is None else links
    names = [f'robot_{i}' for i in range(robots)]
    peers = [[names[j] for j in range(robots) if j != i and hears[i, j]] for i in range(robots)]
    mappers = [make_mapper(name, checkpoint, **changes) for name in names]
    channels = [channel() for _ in names]
    for t in range(steps):
        sent = np.zeros(robots)
        said: list[list[Message]] = []
        began = time.process_time()
        for i, mapper in enumerate(mappers):
            x, y, yaw = poses[t, i].tolist()
            mapper.add_scan(scan_of(run, t, i), (x, y, yaw))
            said.append(mapper.begin(t + 1, peers[i]))
        while any(said):
            _deliver(said, channels, mappers, peers, sent)
            said = [_advance(mapper) for mapper in mappers]
        seconds = (time.process_time() - began) / robots
        weights = np.array([
            [mapper.agent.weights.get(name, 0.0) for name in names] for mapper in mappers
        ])
        take(Step(mappers, sent, seconds, weights), t)


def _deliver(
    said: list[list[Message]],
    channels: list[Channel],
    mappers: list[Mapper],
    peers: list[list[str]],
    sent: Floats,
) -> None:
    for i, messages in enumerate(said):
        for message in messages:
            size, understood = channels[i].carry(message)
            sent[i] += size if peers[i] else 0
            for mapper, heard in zip(mappers, peers, strict=True):
                if message.robot in heard:
                    refusal = mapper.agent.receive(understood)
                    assert refusal is None, refusal


def _advance(mapper: Mapper) -> list[Message]:
    messages: list[Message] = []
    while mapper.agent.ready and not mapper.agent.done:
        messages += mapper.agent.advance()
    return messages
