"""Watches a swarm over ROS topics alone and fills in the record of the run."""

from __future__ import annotations

from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import OccupancyGrid
from rclpy.node import Node

from delama_ros.nodes.maps import LATCHED, occupancy_from_ros
from delama_ros.swarm.record import Record
from delama_sim.grid import OccupancyMap


class Observer(Node):
    """A node that subscribes to every robot's map, the diagnostics and the simulator's truth."""

    def __init__(self, record: Record, truth_topic: str = '/sim/truth', **kwargs: Any) -> None:
        super().__init__('delama_observer', **kwargs)
        self._record = record
        self._maps: dict[str, OccupancyMap] = {}
        for robot in record.robots:
            self.create_subscription(
                OccupancyGrid, f'/{robot}/map', partial(self._on_map, robot), LATCHED
            )
        self.create_subscription(OccupancyGrid, truth_topic, self._on_truth, LATCHED)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 100)
        self._steps: dict[tuple[str, int, int], int] = {}  # robot and stamp → step
        self._waiting: dict[tuple[str, int, int], OccupancyMap] = {}

    def _on_truth(self, message: OccupancyGrid) -> None:
        self._record.truth = occupancy_from_ros(message)

    # Map and report of a step carry the same stamp; either may arrive first.

    def _on_map(self, robot: str, message: OccupancyGrid) -> None:
        key = (robot, message.header.stamp.sec, message.header.stamp.nanosec)
        self._waiting[key] = occupancy_from_ros(message)
        self._match(key)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.hardware_id not in self._record.robots or 'DeLAMA' not in status.name:
                continue
            values = {item.key: item.value for item in status.values}
            robot, step = status.hardware_id, int(values['step'])
            weights = {
                key.removeprefix('weight '): float(value)
                for key, value in values.items()
                if key.startswith('weight ')
            }
            self._record.add_report(robot, step, int(values['bytes']), weights)
            key = (robot, message.header.stamp.sec, message.header.stamp.nanosec)
            self._steps[key] = step
            self._match(key)

    def _match(self, key: tuple[str, int, int]) -> None:
        if key in self._steps and key in self._waiting:
            self._record.add_map(key[0], self._steps.pop(key), self._waiting.pop(key))
