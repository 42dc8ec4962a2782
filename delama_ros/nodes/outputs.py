"""What a robot shows: its map, its row of the collaboration graph, pose, path and diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, PoseStamped
from nav_msgs.msg import OccupancyGrid, Path
from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from delama_ros.msg import Collaboration
from delama_ros.nodes.maps import LATCHED, occupancy_to_ros, pose_to_ros
from delama_ros.swarm.driver import Report
from delama_sim.grid import OccupancyMap, Pose

PATH_LENGTH = 1000  # poses, one a step; older ones are dropped
LINE_COLOUR = (0.0, 0.45, 0.7, 0.9)


class Outputs:
    """Publishers of one robot; everything of a step carries the same stamp."""

    def __init__(self, node: Node, robot: str, frame: str) -> None:
        self._node = node
        self._robot = robot
        self._frame = frame
        self._path = Path()
        self._completed: list[Any] = []  # a publisher, once there is something to say
        self._maps = node.create_publisher(OccupancyGrid, 'map', LATCHED)
        self._rows = node.create_publisher(Collaboration, 'collaboration', LATCHED)
        self._markers = node.create_publisher(MarkerArray, 'collaboration_markers', LATCHED)
        self._poses = node.create_publisher(PoseStamped, 'pose', 10)
        self._paths = node.create_publisher(Path, 'path', LATCHED)
        self._diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', 10)

    def close(self) -> None:
        """Take the topics away."""
        for publisher in (
            *(self._maps, self._rows, self._markers),
            *(self._poses, self._paths, self._diagnostics),
            *self._completed,
        ):
            self._node.destroy_publisher(publisher)

    def header(self) -> Header:
        """Now, in the map frame."""
        return Header(stamp=self._node.get_clock().now().to_msg(), frame_id=self._frame)

    def show_step(
        self,
        header: Header,
        report: Report,
        occupancy: OccupancyMap,
        pose: Pose | None,
        peers: Mapping[str, Pose],
    ) -> None:
        """Publish what a step gave; pose and peers as far as they are known."""
        grid = occupancy_to_ros(occupancy)
        grid.header = header
        self._maps.publish(grid)
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
        self._poses.publish(here)
        self._paths.publish(self._path)
        self._markers.publish(markers(header, self._robot, pose, peers, report.weights))

    def show_completed(self, header: Header, occupancy: OccupancyMap) -> None:
        """Publish the map with guesses."""
        grid = occupancy_to_ros(occupancy)
        grid.header = header
        if not self._completed:
            publisher = self._node.create_publisher(OccupancyGrid, 'map_completed', LATCHED)
            self._completed.append(publisher)
        self._completed[0].publish(grid)

    def diagnose(
        self, header: Header, problems: Iterable[str], values: Mapping[str, object]
    ) -> None:
        """Publish one status: OK, or WARN with what is wrong."""
        wrong = '; '.join(problems)
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if wrong else DiagnosticStatus.OK,
            name=f'{self._robot}: DeLAMA',
            hardware_id=self._robot,
            message=wrong or f'step {values["step"]}',
            values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
        )
        self._diagnostics.publish(DiagnosticArray(header=header, status=[status]))


def markers(
    header: Header, robot: str, own: Pose, peers: Mapping[str, Pose], weights: Mapping[str, float]
) -> MarkerArray:
    """Lines from the robot half-way to each peer, as wide as the weight.

    Each robot draws its half of a line, so that one sees both sides' weights.
    """
    lines = [Marker(header=header, ns=robot, action=Marker.DELETEALL)]
    for number, (peer, pose) in enumerate(sorted(peers.items()), start=1):
        line = Marker(header=header, ns=robot, id=number, type=Marker.LINE_LIST, action=Marker.ADD)
        line.pose.orientation.w = 1.0
        line.scale.x = 0.02 + 0.2 * weights.get(peer, 0.0)
        line.color.r, line.color.g, line.color.b, line.color.a = LINE_COLOUR
        middle = Point(x=(own[0] + pose[0]) / 2, y=(own[1] + pose[1]) / 2)
        line.points = [Point(x=own[0], y=own[1]), middle]
        lines.append(line)
    return MarkerArray(markers=lines)


def _text(value: object) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)
