"""A hostile program in the domain of a swarm: `python attacker.py ATTACK SECONDS VICTIM`.

It knows the shipped model and reads the current step from the victim's status. Every attack is a
generator of messages; they are published as fast as it yields, on publishers of this process.
"""

import os
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile

from delama_ros.core.agent.messages import Phase
from delama_ros.core.blocks import Shape
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.tiles import PARTS
from delama_ros.msg import Links, ModelParams, RobotStatus
from delama_ros.ros.conversions import LATCHED
from delama_ros.ros.wire import packet_to_ros
from delama_ros.transport.delta import HEADER
from delama_ros.transport.port import Encoding, Packet

NOBODY = np.zeros((0, 2), np.int32)
MANY = 2**16 - 1  # the most blocks that a header can announce


def packed(blocks: int, shape: Shape, sequence: int = 0, flags: int = 1, x: int = 0) -> bytes:
    """Return a delta message of flat blocks side by side, which compresses a thousandfold."""
    offsets = np.zeros((2, blocks), '<u2')
    offsets[0], offsets[1] = np.arange(blocks) % 800, np.arange(blocks) // 800
    scale = np.ones(blocks, '<f2')
    body = offsets.tobytes() + scale.tobytes() + bytes(blocks * (shape[2] + shape[0] * shape[1]))
    return HEADER.pack(sequence, flags, blocks, 0, *shape, x, 0) + zlib.compress(body, 9)


class Attacker:
    """Publishes what an attack yields."""

    def __init__(self, node: Node, victim: str) -> None:
        agent = default_mapper('attacker').agent
        self.fingerprint, self.shape = agent.fingerprint, Shape(
            agent.theta[1].shape[1], 1, PARTS**2
        )
        self.victim = victim
        self.step, self.sequence = 0, 1000
        self.node = node
        deep = QoSProfile(depth=2000)
        self.params = node.create_publisher(ModelParams, '/delama/params', deep)
        self.links_out = node.create_publisher(Links, '/delama/links', LATCHED)
        node.create_subscription(RobotStatus, f'/{victim}/status', self._on_status, LATCHED)

    def _on_status(self, message: RobotStatus) -> None:
        self.step = int(message.step) + 1

    def packet(self, robot: str, data: bytes | None = None, **changes: Any) -> Packet:
        """Return a local model of the step to come; by default an empty one, after a gap."""
        self.sequence += 2
        data = packed(0, self.shape, self.sequence, 0) if data is None else data
        packet = Packet(
            robot, self.step, int(Phase.LOCAL), 0, self.fingerprint, resync=(),
            encoding=int(Encoding.DELTA), shape=self.shape, keys=NOBODY, data=data,
        )
        return replace(packet, **changes)

    def send(self, packet: Packet) -> None:
        message = packet_to_ros(packet)
        message.header.stamp = self.node.get_clock().now().to_msg()
        self.params.publish(message)

    # Attacks: yield after each message or burst the seconds until the next.

    def links(self) -> Iterator[float]:
        """Say once that nobody hears anybody."""
        names = ['ann', 'bob', 'cid']
        self.links_out.publish(Links(robots=names, hears=[False] * 9))
        while True:
            yield 0.2

    def resync(self) -> Iterator[float]:
        """Send from 300 invented names, each with a gap."""
        while True:
            for i in range(300):
                self.send(self.packet(f'ghost{i}'))
                yield 0.002
            yield 1.0

    def impersonate(self) -> Iterator[float]:
        """Send empty maps in the name of bob, ahead of him, and more than he might send himself."""
        while True:
            for ahead in (0, 1, 0, 1):
                self.send(self.packet('bob', step=self.step + ahead))
            yield 0.05

    def lockout(self) -> Iterator[float]:
        """Send two empty packets in the name of eve, who is not there yet."""
        for _ in range(2):
            self.send(self.packet('eve'))
            yield 0.3
        while True:
            yield 0.2

    def heavy(self) -> Iterator[float]:
        """Send small packets of many blocks from twelve names."""
        data = packed(MANY, self.shape)
        while True:
            for i in range(12):
                self.send(self.packet(f'heavy{i}', data))
                yield 0.05
            yield 1.0

    def bomb(self) -> Iterator[float]:
        """Announce blocks of 1.2 GB, compressed to 2 MB."""
        shape = Shape(2**16 - 1, 1, 0)
        body = zlib.compress(bytes(1_200_000_000), 9)
        data = HEADER.pack(0, 1, 18_000, 0, *shape, 0, 0) + body
        while True:
            self.send(self.packet('bomb', data, shape=shape))
            yield 2.0

    def names(self) -> Iterator[float]:
        """Send from 2,000 names in every step."""
        empty = packed(0, self.shape)
        while True:
            for i in range(2000):
                self.send(self.packet(f'name{i}', empty))
                if not i % 10:
                    yield 0.005
            yield 0.0

    def flood(self) -> Iterator[float]:
        """Send 1,000 messages a second from one name: models of 6 kB, all different."""
        noise = np.random.default_rng(0)
        while True:
            data = HEADER.pack(self.sequence, 0, 100, 0, *self.shape, 0, 0) + noise.bytes(6000)
            for _ in range(10):
                self.send(self.packet('flood', data))
            yield 0.01

    def stall(self) -> Iterator[float]:
        """Begin every step and never finish one, from one name after another."""
        empty = packed(0, self.shape)
        number, before = 0, 0
        while True:
            if self.step != before:
                number, before = number + 1, self.step
            for name in (f'stall{number}', 'stall'):
                self.send(self.packet(name, empty))
            yield 0.2

    def rubbish(self) -> Iterator[float]:
        """Send bytes that are no message, and cut and changed ones."""
        noise = np.random.default_rng(0)
        from rclpy.serialization import serialize_message

        while True:
            data = bytearray(serialize_message(packet_to_ros(self.packet('rubbish'))))
            for at in noise.integers(4, len(data), 6):
                data[at] = noise.integers(256)
            self.params.publish(bytes(data[: noise.integers(4, len(data) + 1)]))
            self.params.publish(struct.pack('<I', 256) + noise.bytes(int(noise.integers(300))))
            yield 0.02


def main(attack: str, seconds: float, victim: str) -> None:
    """Attack for some seconds."""
    rclpy.init()
    node = rclpy.create_node(f'attacker_{os.getpid()}')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    attacker = Attacker(node, victim)
    while not attacker.step or not attacker.params.get_subscription_count():
        executor.spin_once(timeout_sec=0.1)
    time.sleep(0.5)  # robots discover the publishers
    print('attacking', flush=True)
    end = time.monotonic() + seconds
    for wait in getattr(attacker, attack)():
        until = time.monotonic() + wait
        while (left := until - time.monotonic()) > 0:
            executor.spin_once(timeout_sec=left)
        executor.spin_once(timeout_sec=0.0)
        if time.monotonic() > end:
            break
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
