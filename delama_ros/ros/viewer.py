"""Shows the swarm in a browser: subscribes to the topics robots publish and serves the page."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from delama_ros.robot.parameters import VIEWER
from delama_ros.ros.options import declare
from delama_ros.ros.running import run
from delama_ros.web.view.serve import Server
from delama_ros.web.view.topics import Source, sources
from delama_ros.web.view.watch import Watch

DISCOVERY = 0.5  # s between searches for new robots
# Queue depths: the whole log, but only the newest scan.
DEPTHS = {'scan': 1, 'log': 1000}
DEPTH = 100


class Viewer(Node):
    """Finds robots by the types of their topics, whatever their names, and follows all of them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('delama_viewer', **kwargs)
        options = declare(self, VIEWER)
        self.watch = Watch('live', live=True)
        self._subscribed: set[str] = set()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(DISCOVERY, self._discover, clock=steady)
        self.create_timer(1.0, self.watch.check_silence, clock=steady)
        self.server = Server(self.watch, options['host'], options['port'] or None)
        # printed, not logged: the address may contain the join code, and logs are a topic
        print(f'showing the swarm at {self.server.address} (Ctrl-C to stop)', flush=True)

    def _discover(self) -> None:
        topics = {name: kinds[0] for name, kinds in self.get_topic_names_and_types()}
        for source in sources(topics):
            if source.topic not in self._subscribed and self._wanted(source):
                self._subscribed.add(source.topic)
                self._subscribe(source)

    def _wanted(self, source: Source) -> bool:
        # The QoS adapts to the publishers, so there must be one.
        if not self.count_publishers(source.topic):
            return False
        # A simulator starts its clock when every scan has a subscriber. That must be the robot, so
        # the viewer subscribes only after the robot has completed a step.
        robot = self.watch.robots.get(source.robot)
        return source.kind != 'scan' or (robot is not None and len(robot.rows) > 0)

    def _subscribe(self, source: Source) -> None:
        package, _, name = source.type.split('/')
        self.create_subscription(
            getattr(import_module(f'{package}.msg'), name),
            source.topic,
            partial(self.watch.take, source),
            QoSProfile(
                depth=DEPTHS.get(source.kind, DEPTH),
                # match any publisher: latched maps, best-effort scans, a bag being played
                reliability=ReliabilityPolicy.BEST_AVAILABLE,
                durability=DurabilityPolicy.BEST_AVAILABLE,
            ),
        )

    def close(self) -> None:
        """Stop serving."""
        self.server.stop()


def view(**parameters: Any) -> int:
    """Show the swarm until interrupted; parameters of the node that are None have their default."""
    given = [Parameter(k, value=v) for k, v in parameters.items() if v is not None]
    make = partial(Viewer, parameter_overrides=given) if given else Viewer
    return run('delama_viewer', make, Viewer.close)


def main() -> int:
    """Run the node with its ROS parameters."""
    return view()


if __name__ == '__main__':
    sys.exit(main())
