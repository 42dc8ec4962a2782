"""One robot of the swarm: laser scans in, its own map of the whole building out."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_sensor_data,
)
from rclpy.serialization import serialize_message
from rclpy.time import Time
from sensor_msgs.msg import LaserScan
from tf2_msgs.msg import TFMessage

from delama_ros.core.messages import Message, Params
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.evidence import Scan
from delama_ros.mapping.mapper import Mapper
from delama_ros.msg import DualVar, Links, ModelParams
from delama_ros.nodes.frames import FrameError, Frames
from delama_ros.nodes.maps import LATCHED, occupancy_to_ros, yaw_of
from delama_ros.nodes.wire import dual_from_ros, dual_to_ros, params_from_ros, params_to_ros
from delama_ros.transport.codec import Encoding

# Deep enough for all rounds of a step from twenty neighbours.
EXCHANGE = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=500, reliability=ReliabilityPolicy.RELIABLE
)
PEER_AGE = 0.5  # s that a neighbour's pose may be old when its body is masked
HEARD_FOR = 3  # steps after which a neighbour that was not heard is no longer waited for


def described(text: str, low: float | None = None) -> ParameterDescriptor:
    """Describe a read-only parameter, with its smallest value if it is a number."""
    return ParameterDescriptor(
        description=text,
        read_only=True,
        floating_point_range=[FloatingPointRange(from_value=low, to_value=1e9)]
        if isinstance(low, float)
        else [],
        integer_range=[IntegerRange(from_value=low, to_value=2**31 - 1)]
        if isinstance(low, int)
        else [],
    )


class Robot(Node):
    """Feeds scans and neighbours' messages to the mapper, and sends what it answers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('delama', **kwargs)
        self.robot = self._parameter('robot', '', 'name in the swarm; default: the namespace')
        self.robot = self.robot or self.get_namespace().strip('/').replace('/', '_')
        if not self.robot:
            raise ValueError('a robot needs a name: set the parameter robot, or a namespace')
        self._steps = self._parameter('steps', 0, 'time steps to take; 0: no end', 0)
        self._period = self._parameter('period', 2.0, 's of ROS time between steps', 0.01)
        deadline = self._parameter('deadline', 1.0, 's a round waits for an answer', 0.001)
        swarm = self._parameter('swarm', '/delama', 'namespace of the topics robots share')
        encoding = self._parameter('encoding', 'int8', 'of models on the air: int8 or float64')
        self._map_frame = self._parameter('map_frame', 'map', 'frame all robots share')
        self._peer_frame = self._parameter(
            'peer_frame', '{robot}/base_link', 'TF frame of a neighbour, to mask its body in scans'
        )
        odometry = self._parameter(
            'odometry', False, 'take base poses from the topic odom instead of from TF'
        )
        if encoding.upper() not in Encoding.__members__:
            raise ValueError(f'encoding is {encoding!r}, expected int8 or float64')
        self._encoding = Encoding[encoding.upper()]

        self._mapper = default_mapper(self.robot)
        warm_up(default_mapper(self.robot))
        self._frames = Frames()
        self._scans: list[LaserScan] = []  # wait for their transforms
        self._step = 0  # the step in progress, or the last one done
        self._heard: dict[str, int] = {}  # neighbour → step in which it was last heard
        self._links: set[str] | None = None  # whom the simulator lets us hear; None: everybody
        self._bytes = 0
        self._refused: dict[str, int] = {}

        self._maps = self.create_publisher(OccupancyGrid, 'map', LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._duals = self.create_publisher(DualVar, f'{swarm}/dual', EXCHANGE)
        self._params = self.create_publisher(ModelParams, f'{swarm}/params', EXCHANGE)
        self.create_subscription(DualVar, f'{swarm}/dual', self._on_exchange, EXCHANGE)
        self.create_subscription(ModelParams, f'{swarm}/params', self._on_exchange, EXCHANGE)
        self.create_subscription(Links, f'{swarm}/links', self._on_links, LATCHED)
        tf_fixed = QoSProfile(
            depth=100,
            reliability=ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.TRANSIENT_LOCAL,
        )
        self.create_subscription(TFMessage, '/tf_static', self._on_tf_fixed, tf_fixed)
        if odometry:
            self.create_subscription(Odometry, 'odom', self._on_odometry, 50)
        else:
            self.create_subscription(TFMessage, '/tf', self._on_tf, 100)
        self.create_subscription(LaserScan, 'scan', self._on_scan, qos_profile_sensor_data)
        # Rounds wait in wall time: computing and radio do not run faster than the clock.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._deadline = self.create_timer(deadline, self._on_deadline, clock=steady)
        self._deadline.cancel()
        scan_topic = self.resolve_topic_name('scan')
        self.get_logger().info(f'{self.robot}: waiting for scans on {scan_topic}')

    def _parameter(self, name: str, value: Any, text: str, low: float | None = None) -> Any:
        return self.declare_parameter(name, value, described(text, low)).value

    # What comes in

    def _on_tf_fixed(self, message: TFMessage) -> None:
        for link in message.transforms:
            self._frames.set_fixed(
                link.header.frame_id,
                link.child_frame_id,
                _pose(link.transform.translation, link.transform.rotation),
            )

    def _on_tf(self, message: TFMessage) -> None:
        for link in message.transforms:
            pose = _pose(link.transform.translation, link.transform.rotation)
            self._frames.add(
                link.header.frame_id, link.child_frame_id, _seconds(link.header.stamp), pose
            )
        self._take_scans()

    def _on_odometry(self, message: Odometry) -> None:
        pose = _pose(message.pose.pose.position, message.pose.pose.orientation)
        stamp = _seconds(message.header.stamp)
        self._frames.add(message.header.frame_id, message.child_frame_id, stamp, pose)
        self._take_scans()

    def _on_links(self, message: Links) -> None:
        if self.robot in message.robots:
            row = message.robots.index(self.robot) * len(message.robots)
            self._links = {
                name
                for name, hears in zip(message.robots, message.hears[row:], strict=False)
                if hears and name != self.robot
            }

    def _on_scan(self, message: LaserScan) -> None:
        self._scans.append(message)
        self._take_scans()

    def _on_exchange(self, message: DualVar | ModelParams) -> None:
        sender = message.robot
        if sender == self.robot or (self._links is not None and sender not in self._links):
            return
        try:
            content = (
                dual_from_ros(message) if isinstance(message, DualVar) else params_from_ros(message)
            )
        except ValueError as error:
            self._refuse(sender, str(error))
            return
        refusal = self._mapper.agent.receive(content)
        if refusal:
            self._refuse(sender, refusal)
            return
        self._heard[sender] = max(self._heard.get(sender, 0), message.step)
        self._go_on()

    def _refuse(self, sender: str, reason: str) -> None:
        self._refused[sender] = self._refused.get(sender, 0) + 1
        self.get_logger().warning(
            f'message of {sender!r} refused: {reason}', throttle_duration_sec=5.0
        )

    # What follows from it

    def _take_scans(self) -> None:
        """Learn from the scans whose pose is known, in the order of their stamps."""
        while self._scans:
            message = self._scans[0]
            stamp = _seconds(message.header.stamp)
            try:
                pose = self._frames.lookup(self._map_frame, message.header.frame_id, stamp)
            except FrameError as error:
                if len(self._scans) > 50:
                    self.get_logger().warning(f'scan dropped: {error}', throttle_duration_sec=5.0)
                    self._scans.pop(0)
                    continue
                return
            self._scans.pop(0)
            # A scan after the end of a step closes it: all earlier ones have arrived.
            self._begin_steps(stamp)
            try:
                scan = Scan(
                    np.asarray(message.ranges, np.float64),
                    message.angle_min,
                    message.angle_increment,
                    message.range_min,
                    message.range_max,
                )
            except ValueError as error:
                self.get_logger().warning(f'scan refused: {error}', throttle_duration_sec=5.0)
                continue
            self._mapper.add_scan(scan, pose, self._peer_positions(stamp))

    def _peer_positions(self, stamp: float) -> list[tuple[float, float]]:
        """Where neighbours stand, so that they are not mapped as walls."""
        positions = []
        for name in self._neighbours():
            frame = self._peer_frame.format(robot=name)
            try:
                peer = self._frames.lookup_near(self._map_frame, frame, stamp, PEER_AGE)
            except FrameError:
                continue
            positions.append(peer[:2])
        return positions

    def _begin_steps(self, stamp: float) -> None:
        due = int(stamp / self._period - 1e-9)  # step t takes the scans up to t · period
        if due <= self._step or (self._steps and self._step >= self._steps):
            return
        if not self._mapper.agent.done:
            self.get_logger().warning(f'step {self._step} is cut short by step {due}')
            self._cut_short()
        self._step = min(due, self._steps) if self._steps else due
        self._bytes = 0
        self._send(self._mapper.begin(self._step, self._neighbours()))
        self._deadline.reset()
        self._go_on()

    def _cut_short(self) -> None:
        while not self._mapper.agent.done:
            self._send(self._mapper.agent.advance())
        self._finish()

    def _neighbours(self) -> set[str]:
        if self._links is not None:
            return self._links
        return {name for name, step in self._heard.items() if step > self._step - HEARD_FOR}

    def _on_deadline(self) -> None:
        if self._mapper.agent.done:
            self._deadline.cancel()
            return
        self._send(self._mapper.agent.advance())
        self._go_on()

    def _go_on(self) -> None:
        agent = self._mapper.agent
        if self._step == 0 or self._deadline.is_canceled():
            return
        while agent.ready and not agent.done:
            self._send(agent.advance())
            self._deadline.reset()
        if agent.done:
            self._finish()

    # What goes out

    def _send(self, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, Params):
                out, publisher = params_to_ros(message, self._encoding), self._params
            else:
                out, publisher = dual_to_ros(message), self._duals
            out.header.stamp = self.get_clock().now().to_msg()
            out.header.frame_id = self._map_frame
            self._bytes += len(serialize_message(out))
            publisher.publish(out)

    def _finish(self) -> None:
        """Publish what the step gave."""
        self._deadline.cancel()
        stamp = self.get_clock().now().to_msg()
        grid = occupancy_to_ros(self._mapper.occupancy())
        grid.header.stamp = stamp
        grid.header.frame_id = self._map_frame
        self._maps.publish(grid)
        agent = self._mapper.agent
        values = {
            'step': self._step,
            'peers': len(agent.weights),
            'bytes': self._bytes,
            'refused': sum(self._refused.values()),
            **{f'weight {peer}': f'{weight:.4f}' for peer, weight in agent.weights.items()},
        }
        status = DiagnosticStatus(
            level=DiagnosticStatus.OK,
            name=f'{self.robot}: DeLAMA',
            hardware_id=self.robot,
            message=f'step {self._step}',
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        report = DiagnosticArray(status=[status])
        report.header.stamp = stamp
        self._diagnostics.publish(report)


def warm_up(mapper: Mapper) -> None:
    """Compile what will be needed, on a mapper of its own, before the first scan arrives."""
    mapper.add_scan(Scan(np.ones(4), 0.0, np.pi / 2, 0.1, 2.0), (0.0, 0.0, 0.0))
    mapper.begin(1, [])
    while not mapper.agent.done:
        mapper.agent.advance()
    mapper.occupancy()


def _seconds(stamp: Any) -> float:
    return float(Time.from_msg(stamp).nanoseconds) * 1e-9


def _pose(position: Any, rotation: Any) -> tuple[float, float, float]:
    return position.x, position.y, yaw_of(rotation.x, rotation.y, rotation.z, rotation.w)


def main() -> int:
    """Run one robot until it is interrupted."""
    rclpy.init()
    try:
        node = Robot()
    except ValueError as error:
        print(f'delama_robot: error: {error}', file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
