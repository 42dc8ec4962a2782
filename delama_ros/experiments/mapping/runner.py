"""A swarm that maps in one process: real agents, real messages, one step after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent.messages import Message
from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.geometry.grid import Floats
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.default import make_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.transport.port import Encoding, Port
from delama_ros.transport.size import wire_bytes
from delama_sim.protocol import MappingRun


@dataclass(frozen=True)
class Step:
    """Result of one time step of a swarm of N robots."""

    mappers: Sequence[Mapper]
    bytes: Floats  # (N,), serialised messages sent by each robot
    seconds: float  # of processor time per robot, for learning and all messages
    weights: Floats  # (N, N)


def delta_port(robot: str) -> Port:
    """Return the port that robots use."""
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
    """Run all steps and pass each to `take`.

    Args:
        run: scans and true poses of the robots.
        checkpoint: the model that all robots share.
        poses: (T, N, 3) that the robots assume; the true ones by default.
        links: (N, N), which robots receive which; all by default.
        scans: per robot and step.
        port: makes the port of a robot, by name.
        take: called after every step with its result and number, from 0.
        changes: settings of the checkpoint to replace.
    """
    robots = run.poses.shape[1]
    poses = run.poses if poses is None else poses
    linked = np.ones((robots, robots), np.bool_) if links is None else links
    names = [f'robot_{i}' for i in range(robots)]
    peers = [[names[j] for j in range(robots) if j != i and linked[i, j]] for i in range(robots)]
    mappers = [make_mapper(name, checkpoint, **changes) for name in names]
    ports = [port(name) for name in names]
    for own, neighbours in zip(ports, peers, strict=True):
        own.meet(0, frozenset(neighbours))
    for t in range(len(run.poses) // scans):
        sent = np.zeros(robots)
        messages: list[list[Message]] = []
        began = time.process_time()
        for i, mapper in enumerate(mappers):
            for k in range(t * scans, (t + 1) * scans):
                x, y, yaw = poses[k, i].tolist()
                mapper.add_scan(scan_of(run, k, i), (x, y, yaw))
            messages.append(mapper.begin(t + 1, peers[i]))
        while any(messages):
            _deliver(messages, ports, mappers, peers, sent)
            messages = [_advance(mapper) for mapper in mappers]
        seconds = (time.process_time() - began) / robots
        weights = np.array([
            [mapper.agent.weights.get(name, 0.0) for name in names] for mapper in mappers
        ])
        take(Step(mappers, sent, seconds, weights), t)


def _deliver(
    messages: list[list[Message]],
    ports: list[Port],
    mappers: list[Mapper],
    peers: list[list[str]],
    sent: Floats,
) -> None:
    for i, own in enumerate(messages):
        for message in own:
            if not peers[i]:
                continue
            wire = ports[i].pack(message)
            sent[i] += wire_bytes(wire)
            for mapper, port, senders in zip(mappers, ports, peers, strict=True):
                if message.robot in senders:
                    refused = mapper.agent.receive(port.unpack(wire))
                    assert refused is None, refused


def _advance(mapper: Mapper) -> list[Message]:
    messages: list[Message] = []
    while mapper.agent.ready and not mapper.agent.done:
        messages += mapper.agent.advance()
    return messages
