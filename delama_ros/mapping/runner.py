"""A swarm that maps in one process: real agents, real messages, one step after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.core.messages import Message
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.dataset import scan_of
from delama_ros.mapping.default import make_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.transport.port import Encoding, Port
from delama_ros.transport.size import wire_bytes
from delama_sim.grid import Floats
from delama_sim.protocol import MappingRun


@dataclass(frozen=True)
class Step:
    """What one time step of a swarm of N robots came to."""

    mappers: Sequence[Mapper]
    bytes: Floats  # (N,), serialised messages sent by each robot
    seconds: float  # of processor time per robot, for learning and all messages
    weights: Floats  # (N, N)


def delta_port(robot: str) -> Port:
    """Return what robots use."""
    return Port(robot, Encoding.DELTA)


def exact_port(robot: str) -> Port:
    """Return a port that sends every tile with every digit."""
    return Port(robot, Encoding.FLOAT64)


def run_swarm(
    run: MappingRun,
    checkpoint: Checkpoint,
    *,
    poses: Floats | None = None,
    links: npt.NDArray[np.bool_] | None = None,
    scans: int = 1,
    port: Callable[[str], Port] = delta_port,
    take: Callable[[Step, int], None],
    **changes: object,
) -> None:
    """Run all steps and hand each to `take`.

    poses: where the robots believe to be; links (N, N): who hears whom, default everybody; scans:
    per step; changes: of the checkpoint's settings.
    """
    robots = run.poses.shape[1]
    poses = run.poses if poses is None else poses
    hears = np.ones((robots, robots), np.bool_) if links is None else links
    names = [f'robot_{i}' for i in range(robots)]
    peers = [[names[j] for j in range(robots) if j != i and hears[i, j]] for i in range(robots)]
    mappers = [make_mapper(name, checkpoint, **changes) for name in names]
    ports = [port(name) for name in names]
    for i, heard in enumerate(peers):
        ports[i].meet(frozenset(heard))
    for t in range(len(run.poses) // scans):
        sent = np.zeros(robots)
        said: list[list[Message]] = []
        began = time.process_time()
        for i, mapper in enumerate(mappers):
            for k in range(t * scans, (t + 1) * scans):
                x, y, yaw = poses[k, i].tolist()
                mapper.add_scan(scan_of(run, k, i), (x, y, yaw))
            said.append(mapper.begin(t + 1, peers[i]))
        while any(said):
            _deliver(said, ports, mappers, peers, sent)
            said = [_advance(mapper) for mapper in mappers]
        seconds = (time.process_time() - began) / robots
        weights = np.array([
            [mapper.agent.weights.get(name, 0.0) for name in names] for mapper in mappers
        ])
        take(Step(mappers, sent, seconds, weights), t)


def _deliver(
    said: list[list[Message]],
    ports: list[Port],
    mappers: list[Mapper],
    peers: list[list[str]],
    sent: Floats,
) -> None:
    for i, messages in enumerate(said):
        for message in messages:
            if not peers[i]:
                continue
            wire = ports[i].pack(message)
            sent[i] += wire_bytes(wire)
            for mapper, hearer, heard in zip(mappers, ports, peers, strict=True):
                if message.robot in heard:
                    refusal = mapper.agent.receive(hearer.unpack(wire))
                    assert refusal is None, refusal


def _advance(mapper: Mapper) -> list[Message]:
    messages: list[Message] = []
    while mapper.agent.ready and not mapper.agent.done:
        messages += mapper.agent.advance()
    return messages
