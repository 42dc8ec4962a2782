"""Shows the swarm in a browser: listens to topics that robots publish anyway, serves the page."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from delama_ros.nodes.options import declare
from delama_ros.nodes.running import run
from delama_ros.swarm.options import Option
from delama_ros.web.view.serve import Server
from delama_ros.web.view.topics import Source, sources
from delama_ros.web.view.watch import Watch

OPTIONS = {
    'host': Option('127.0.0.1', 'address to serve on; 0.0.0.0: other machines too, with a code'),
    'port': Option(0, 'of the page; 0: 8420, or any that is free', 0, 65535),
}
DISCOVERY = 0.5  # s between looks for new robots
# Old lines and maps are wanted, of scans only the newest.
DEPTHS = {'scan': 1, 'log': 1000}
DEPTH = 100


class Viewer(Node):
    """Finds robots by their topics, whatever they are called, and listens to all of them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('delama_viewer', **kwargs)
        options = declare(self, OPTIONS)
        self.watch = Watch('live', live=True)
        self._listening: set[str] = set()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(DISCOVERY, self._discover, clock=steady)
        self.create_timer(1.0, self.watch.look_around, clock=steady)
        self.server = Server(self.watch, options['host'], options['port'] or None)
        # printed, not logged: the address may hold the join code, and logs are a topic
        print(f'the swarm can be seen at {self.server.address} (Ctrl-C ends)', flush=True)

    def _discover(self) -> None:
        topics = {name: kinds[0] for name, kinds in self.get_topic_names_and_types()}
        for source in sources(topics):
            if source.topic not in self._listening and self._wanted(source):
                self._listening.add(source.topic)
                self._listen(source)

    def _wanted(self, source: Source) -> bool:
        # Without a publisher there is nothing yet to which the QoS could be fitted.
        if not self.count_publishers(source.topic):
            return False
        # A simulator takes whoever listens to scans for the robot and lets time begin, so this is
        # left until the robot has done a step.
        robot = self.watch.robots.get(source.robot)
        return source.kind != 'scan' or (robot is not None and len(robot.rows) > 0)

    def _listen(self, source: Source) -> None:
        package, _, name = source.type.split('/')
        self.create_subscription(
            getattr(import_module(f'{package}.msg'), name),
            source.topic,
            partial(self.watch.take, source),
            QoSProfile(
                depth=DEPTHS.get(source.kind, DEPTH),
                # whatever the publishers offer: latched maps, best-effort scans, a bag's player
                reliability=ReliabilityPolicy.BEST_AVAILABLE,
                durability=DurabilityPolicy.BEST_AVAILABLE,
            ),
        )

    def close(self) -> None:
        """Stop serving."""
        self.server.stop()


def view(**kwargs: Any) -> int:
    """Show the swarm until interrupted; arguments are those of the node."""
    return run('delama_viewer', partial(Viewer, **kwargs), Viewer.close)


def main() -> int:
    """Run the node with its ROS parameters."""
    return view()


if __name__ == '__main__':
    sys.exit(main())
