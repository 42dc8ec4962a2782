"""What a robot publishes: map, row of the collaboration graph, pose, path, status, diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import OccupancyGrid, Path
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from delama_ros.geometry.frame_id import maker_of
from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose, compose
from delama_ros.msg import Collaboration, RobotStatus
from delama_ros.robot.driver import Report
from delama_ros.robot.localization import Located
from delama_ros.robot.status import Status
from delama_ros.ros.conversions import (
    LATCHED,
    occupancy_to_ros,
    pose_from_ros,
    pose_to_ros,
    status_to_ros,
)

PATH_LENGTH = 1000  # poses, one per step; older ones are dropped
# Deeper than one message, so that a supervisor does not miss the status of a step.
STATUS = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
PLANAR = (0, 1, 5)  # rows of x, y, yaw in the covariance of a pose
# Colours of groups: robots that share a frame. All eyes can tell them apart (Okabe and Ito).
GROUP_COLOURS = (
    (0.0, 0.45, 0.7), (0.84, 0.37, 0.0), (0.0, 0.62, 0.45), (0.8, 0.47, 0.65),
    (0.9, 0.62, 0.0), (0.34, 0.71, 0.91), (0.54, 0.48, 0.0),
)
ALPHA = 0.9


class Outputs:
    """Publishers of one robot; all messages of a step carry the same stamp."""

    def __init__(self, node: Node, robot: str, frame: str) -> None:
        self._node = node
        self._robot = robot
        self._frame = frame
        self._path = Path()
        self._publishers: list[Publisher] = []
        self._probabilities = self._publisher(OccupancyGrid, 'map_probability')
        self._maps = self._publisher(OccupancyGrid, 'map')
        self._rows = self._publisher(Collaboration, 'collaboration')
        self._markers = self._publisher(MarkerArray, 'collaboration_markers')
        self._paths = self._publisher(Path, 'path')
        self._status = self._publisher(RobotStatus, 'status', STATUS)
        self._poses = self._publisher(PoseWithCovarianceStamped, 'pose', 10)
        self._diagnostics = self._publisher(DiagnosticArray, '/diagnostics', 10)
        self._completed: Publisher | None = None  # exists once there is something to publish

    def close(self) -> None:
        """Remove the topics."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)

    def header(self) -> Header:
        """Return a header with the current time and the map frame."""
        return Header(stamp=self._node.get_clock().now().to_msg(), frame_id=self._frame)

    def show_step(
        self,
        header: Header,
        report: Report,
        occupancy: OccupancyMap,
        pose: Pose | None,
        peers: Mapping[str, Pose],
        colour: tuple[float, float, float] = GROUP_COLOURS[0],
    ) -> None:
        """Publish the results of a step; pose and peers as far as they are known."""
        self._probabilities.publish(_grid(header, occupancy))
        self._maps.publish(_grid(header, occupancy.trinary()))
        self._rows.publish(
            Collaboration(
                header=header,
                robot=self._robot,
                step=report.step,
                peers=list(report.weights),
                weights=list(report.weights.values()),
            )
        )
        if pose is None:
            return
        here = PoseStamped(header=header, pose=pose_to_ros(pose))
        self._path.header = header
        self._path.poses = [*self._path.poses[1 - PATH_LENGTH :], here]
        self._paths.publish(self._path)
        self._markers.publish(markers(header, self._robot, pose, peers, report.weights, colour))

    def move(self, shift: Pose) -> None:
        """Re-express the path in another frame, in which the present one is at `shift`."""
        for stamped in self._path.poses:
            stamped.pose = pose_to_ros(as_pose(compose(shift, pose_from_ros(stamped.pose))))

    def show_pose(self, located: Located) -> None:
        """Publish the pose of the base at a scan, with the stamp of the scan."""
        message = PoseWithCovarianceStamped()
        message.header.stamp = Time(nanoseconds=round(located.stamp * 1e9)).to_msg()
        message.header.frame_id = self._frame
        message.pose.pose = pose_to_ros(located.pose)
        if located.covariance is not None:
            full = np.zeros((6, 6))  # x, y, z, roll, pitch, yaw
            full[np.ix_(PLANAR, PLANAR)] = located.covariance
            message.pose.covariance = full.ravel()
        self._poses.publish(message)

    def show_completed(self, header: Header, occupancy: OccupancyMap) -> None:
        """Publish the map with predictions."""
        if self._completed is None:
            self._completed = self._publisher(OccupancyGrid, 'map_completed')
        self._completed.publish(_grid(header, occupancy))

    def show_status(self, header: Header, status: Status) -> None:
        """Publish the status, and diagnostics made from it: OK, or WARN with the problems."""
        self._status.publish(status_to_ros(status, header))
        diagnostics = DiagnosticStatus(
            level=DiagnosticStatus.WARN if status.problems else DiagnosticStatus.OK,
            name=f'{self._robot}: DeLAMA',
            hardware_id=self._robot,
            message=status.summary,
            values=[
                KeyValue(key=key, value=f'{value:.4g}' if isinstance(value, float) else str(value))
                for key, value in status.diagnostics().items()
            ],
        )
        self._diagnostics.publish(DiagnosticArray(header=header, status=[diagnostics]))

    def _publisher(self, kind: type, topic: str, qos: QoSProfile | int = LATCHED) -> Publisher:
        publisher = self._node.create_publisher(kind, topic, qos)
        self._publishers.append(publisher)
        return publisher


def group_colour(frame: str, robots: Iterable[str]) -> tuple[float, float, float]:
    """Return the colour of the robots in a frame: that of its maker among all robots by name."""
    maker = maker_of(frame)
    names = sorted({*robots, maker})
    return GROUP_COLOURS[names.index(maker) % len(GROUP_COLOURS)] if maker else GROUP_COLOURS[0]


def markers(
    header: Header,
    robot: str,
    own: Pose,
    peers: Mapping[str, Pose],
    weights: Mapping[str, float],
    colour: tuple[float, float, float] = GROUP_COLOURS[0],
) -> MarkerArray:
    """Return the robot's name, and lines half-way to each peer, as wide as the weight.

    Each robot draws its half of a line, so that the weights of both sides are visible. All of it
    has the colour of the robot's group.
    """
    name = Marker(header=header, ns=robot, type=Marker.TEXT_VIEW_FACING, action=Marker.ADD)
    name.text, name.scale.z = robot, 0.3
    name.pose = pose_to_ros(own)
    name.pose.position.z = 0.4
    lines = [Marker(header=header, ns=robot, action=Marker.DELETEALL), name]
    for number, (peer, pose) in enumerate(sorted(peers.items()), start=1):
        line = Marker(header=header, ns=robot, id=number, type=Marker.LINE_LIST, action=Marker.ADD)
        line.pose.orientation.w = 1.0
        line.scale.x = 0.02 + 0.2 * weights.get(peer, 0.0)
        middle = Point(x=(own[0] + pose[0]) / 2, y=(own[1] + pose[1]) / 2)
        line.points = [Point(x=own[0], y=own[1]), middle]
        lines.append(line)
    for marker in lines[1:]:
        marker.color.r, marker.color.g, marker.color.b = colour
        marker.color.a = ALPHA
    return MarkerArray(markers=lines)


def _grid(header: Header, occupancy: OccupancyMap) -> OccupancyGrid:
    grid = occupancy_to_ros(occupancy)
    grid.header = header
    return grid
