"""Watches a swarm over ROS topics alone and fills in the record of the run."""

from __future__ import annotations

from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import OccupancyGrid
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from delama_ros.msg import Collaboration
from delama_ros.nodes.maps import LATCHED, occupancy_from_ros
from delama_ros.swarm.record import Record, Rounds

# What comes while a map is being scored must not be lost.
OUTPUTS = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
Key = tuple[str, int, int]  # robot, and stamp of a step's outputs


class Observer(Node):
    """A node that subscribes to every robot's map and graph, diagnostics and the true map."""

    def __init__(self, record: Record, *, from_one: bool = False, **kwargs: Any) -> None:
        """Watch; from_one: the first step heard of is 1, whatever real robots' clocks make it."""
        super().__init__('delama_observer', **kwargs)
        self._record = record
        self._before: int | None = None if from_one else 0  # steps before the first
        # Map and row of the graph of a step carry the same stamp; either may arrive first.
        self._maps: dict[Key, OccupancyGrid] = {}
        self._rows: dict[Key, Collaboration] = {}
        for robot in record.robots:
            for kind, name, store in (
                (OccupancyGrid, 'map', self._maps),
                (Collaboration, 'collaboration', self._rows),
            ):
                callback = partial(self._on_output, robot, store)
                self.create_subscription(kind, f'/{robot}/{name}', callback, OUTPUTS)
        self.create_subscription(OccupancyGrid, '/sim/truth', self._on_truth, LATCHED)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 100)

    def _on_truth(self, message: OccupancyGrid) -> None:
        self._record.set_truth(occupancy_from_ros(message))

    def _on_output(self, robot: str, store: dict[Key, Any], message: Any) -> None:
        stamp = message.header.stamp
        key = (robot, stamp.sec, stamp.nanosec)
        store[key] = message
        if key in self._maps and key in self._rows:
            row, grid = self._rows.pop(key), self._maps.pop(key)
            weights = dict(zip(row.peers, row.weights, strict=True))
            step = self._count(row.step)
            self._record.add_weights(robot, step, weights)
            self._record.add_map(robot, step, occupancy_from_ros(grid))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.hardware_id not in self._record.robots or 'DeLAMA' not in status.name:
                continue
            values = {item.key: item.value for item in status.values}
            if int(values['step']) > 0:  # a step has been done
                step = self._count(int(values['step']))
                self._record.add_step(
                    status.hardware_id,
                    step,
                    int(values['bytes']),
                    Rounds(
                        int(values['rounds complete']),
                        int(values['rounds incomplete']),
                        float(values['step seconds']),
                        float(values['exchange seconds']),
                        float(values['computing seconds']),
                    ),
                )

    def _count(self, step: int) -> int:
        if self._before is None:
            self._before = step - 1
        return step - self._before
