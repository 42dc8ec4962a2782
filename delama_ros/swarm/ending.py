"""How a launched swarm ends: all robots have taken their steps, or what gives the scans is gone."""

from __future__ import annotations

from functools import partial
from typing import Any

from launch import LaunchContext
from launch.actions import OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown as ShutdownEvent
from launch.events.process import ProcessExited
from launch.logging import get_logger
from launch_ros.actions import Node
from launch_ros.ros_adapters import get_ros_node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from delama_ros.msg import RobotStatus

LATCHED = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class Ending:
    """Ends the launch once every robot has taken all its steps or has ended."""

    def __init__(self, robots: dict[str, Node], *, shown: bool) -> None:
        """Create it.

        Args:
            robots: their nodes, by name.
            shown: whether a page or RViz shows the swarm, which then stays until Ctrl-C.
        """
        self._waits_for = set(robots)
        self._robots, self._shown = robots, shown
        self._subscriptions: list[Any] = []

    def actions(self) -> list[Any]:
        """Return what the launch has to run for it."""
        watches = [
            RegisterEventHandler(
                OnProcessExit(target_action=node, on_exit=partial(self._on_exit, name))
            )
            for name, node in self._robots.items()
        ]
        return [OpaqueFunction(function=self._subscribe), *watches]

    def _subscribe(self, context: LaunchContext) -> None:
        node = get_ros_node(context)
        for name in self._robots:
            self._subscriptions.append(
                node.create_subscription(
                    RobotStatus, f'/{name}/status', partial(self._on_status, context, name), LATCHED
                )
            )

    def _on_status(self, context: LaunchContext, name: str, status: RobotStatus) -> None:
        if 0 < status.steps_limit <= status.steps:  # in the thread of ROS
            context.asyncio_loop.call_soon_threadsafe(self._done, context, name)

    def _on_exit(self, name: str, event: ProcessExited, context: LaunchContext) -> None:
        if not context.is_shutdown:
            get_logger('delama').error(f'{name} has ended with code {event.returncode}')
            self._done(context, name)

    def _done(self, context: LaunchContext, name: str) -> None:
        if name not in self._waits_for:
            return
        self._waits_for.discard(name)
        if self._waits_for:
            return
        text = f'the swarm is done: {", ".join(self._robots)}'
        if self._shown:
            get_logger('delama').info(f'{text}; Ctrl-C ends what shows it')
        elif not context.is_shutdown:
            get_logger('delama').info(text)
            context.emit_event_sync(ShutdownEvent(reason='all steps are done'))


def end_without(source: str, event: ProcessExited, context: LaunchContext) -> list[Any]:
    """End the launch, as the node that gives the scans has ended."""
    if context.is_shutdown:
        return []
    get_logger('delama').error(f'the {source} has ended with code {event.returncode}')
    return [Shutdown(reason=f'no scans without the {source}')]
