"""Follows a swarm over ROS topics alone and fills in the record of the run."""

from __future__ import annotations

from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import OccupancyGrid
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from delama_ros.geometry.anchors import Anchors
from delama_ros.msg import Collaboration, RobotStatus
from delama_ros.ros.conversions import LATCHED, occupancy_from_ros, pose_from_ros, seconds
from delama_ros.swarm.record import Record, Rounds

# Deep enough that nothing is lost while a map is being scored.
OUTPUTS = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
KINDS = 3  # messages of a step: map, row of the graph, status
Key = tuple[str, int, int]  # robot, and stamp of a step's outputs


class Observer(Node):
    """Subscribes to map_probability, collaboration and status of every robot, and to the true map.

    True poses, where there are any, serve to score maps in frames that robots chose themselves.
    """

    def __init__(self, record: Record, *, from_one: bool = False, **kwargs: Any) -> None:
        """Subscribe; from_one: number steps from 1, whatever the clocks of real robots say."""
        super().__init__('delama_observer', **kwargs)
        self._record = record
        self._before: int | None = None if from_one else 0  # steps before the first
        # What belongs to a step carries the same stamp, and may arrive in any order.
        self._steps: dict[Key, dict[type, Any]] = {}
        self.anchors = Anchors()
        for robot in record.robots:
            for kind, name, callback in (
                (OccupancyGrid, 'map_probability', partial(self._on_output, robot)),
                (Collaboration, 'collaboration', partial(self._on_output, robot)),
                (RobotStatus, 'status', partial(self._on_status, robot)),
            ):
                self.create_subscription(kind, f'/{robot}/{name}', callback, OUTPUTS)
            if record.free:
                add = partial(self._on_pose, robot)
                self.create_subscription(PoseWithCovarianceStamped, f'/{robot}/pose', add, 100)
                add = partial(self._on_true_pose, robot)
                self.create_subscription(PoseStamped, f'/{robot}/ground_truth', add, 100)
        self.create_subscription(OccupancyGrid, '/sim/truth', self._on_truth, LATCHED)

    def _on_truth(self, message: OccupancyGrid) -> None:
        self._record.set_truth(occupancy_from_ros(message))

    def _on_pose(self, robot: str, message: PoseWithCovarianceStamped) -> None:
        pose = pose_from_ros(message.pose.pose)
        self.anchors.add_pose(robot, seconds(message.header.stamp), pose)

    def _on_true_pose(self, robot: str, message: PoseStamped) -> None:
        pose = pose_from_ros(message.pose)
        self.anchors.add_true(robot, seconds(message.header.stamp), pose)

    def _on_output(self, robot: str, message: Any) -> None:
        key = (robot, message.header.stamp.sec, message.header.stamp.nanosec)
        parts = self._steps.setdefault(key, {})
        parts[type(message)] = message
        # Where the clock stands still, the status of the step before has the same stamp.
        if len(parts) == KINDS and parts[RobotStatus].step == parts[Collaboration].step:
            # One that lacks a part by now, as a status between steps, stays without.
            self._steps = {
                k: v for k, v in self._steps.items() if k[0] != robot or k[1:] > key[1:]
            }
            self._add(robot, parts[OccupancyGrid], parts[Collaboration], parts[RobotStatus])

    def _add(
        self, robot: str, grid: OccupancyGrid, row: Collaboration, status: RobotStatus
    ) -> None:
        step, record, occupancy = self._number(row.step), self._record, occupancy_from_ros(grid)
        record.add_weights(robot, step, dict(zip(row.peers, row.weights, strict=True)))
        self.anchors.begin(robot, status.frame)
        if record.free:
            # No error of the pose: the last one received may still be in the old frame.
            record.add_frame(robot, step, status.frame)
        placed = self.anchors.placed(occupancy, status.frame)
        if placed is None:
            record.maps[robot] = occupancy  # where it is in the building is not known
        else:
            record.add_map(robot, step, placed)

    def _on_status(self, robot: str, message: RobotStatus) -> None:
        if not message.step:  # none completed yet
            return
        self._on_output(robot, message)
        rounds = Rounds(
            message.rounds_complete,
            message.rounds_incomplete,
            message.step_seconds,
            message.exchange_seconds,
            message.computing_seconds,
        )
        sent = message.bytes_local + message.bytes_relation + message.bytes_update
        self._record.add_step(robot, self._number(message.step), sent, rounds)

    def _number(self, step: int) -> int:
        if self._before is None:
            self._before = step - 1
        return step - self._before
