"""Messages of a swarm as robots publish them, made of a real plan."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from delama_ros.geometry.grid import Pose
from delama_ros.msg import Collaboration, RobotStatus
from delama_ros.ros.conversions import occupancy_to_ros
from delama_ros.web.view.topics import GRID, OF_ROBOT, ROW, SCAN, SHARED
from delama_ros.web.view.topics import sources as sources_of
from delama_ros.web.view.watch import Watch
from delama_sim.plans import load

PERIOD = 2.0  # s between steps


class Fleet:
    """Robots by namespace; what each knows of the plan grows from left to right with its steps."""

    def __init__(self, *robots: str, steps: int = 10) -> None:
        self.robots = robots
        self.steps = steps
        self.plan = load('generated:4').map
        rows, columns = np.nonzero(self.plan.free)
        self._columns = columns.min(), columns.max()
        self._corner = self.plan.centre_of(rows.min(), columns.min())
        self.topics = {topic: kind for topic, (_, kind) in SHARED.items()} | {'/sim/truth': GRID}
        for robot in robots:
            self.topics |= {f'{robot}/collaboration': ROW, f'{robot}/map': GRID}
            self.topics |= {f'{robot}/scan': SCAN, f'{robot}/status': OF_ROBOT['status'][1]}

    @staticmethod
    def name(robot: str) -> str:
        return robot.rpartition('/')[2]

    @staticmethod
    def header(time: float, frame: str = 'map') -> Header:
        whole = math.floor(time)
        return Header(stamp=Time(sec=whole, nanosec=int((time - whole) * 1e9)), frame_id=frame)

    def truth(self) -> OccupancyGrid:
        grid = occupancy_to_ros(self.plan)
        grid.header = self.header(0.0)
        return grid

    def pose(self, robot: str, time: float) -> Pose:
        x, y = self._corner
        return float(x + 1.0 + 0.2 * time), float(y + 1.0 + 0.4 * self.robots.index(robot)), 0.0

    def map(self, robot: str, step: int) -> OccupancyGrid:
        cells = self.plan.cells.copy()
        first, last = self._columns
        cells[:, round(first + (last - first) * (0.3 + 0.7 * step / self.steps)) + 8 :] = -1
        cells[: self.robots.index(robot)] = -1  # no two maps are the same
        grid = occupancy_to_ros(self.plan.with_cells(cells))
        grid.header = self.header(step * PERIOD)
        return grid

    def row(self, robot: str, step: int) -> Collaboration:
        peers = [self.name(r) for r in self.robots if r != robot]
        return Collaboration(
            header=self.header(step * PERIOD),
            robot=self.name(robot),
            step=step,
            peers=peers,
            weights=[1.0 / len(self.robots)] * len(peers),
        )

    def tf(self, robot: str, time: float) -> TFMessage:
        frame = f'{self.name(robot)}/laser'
        link = TransformStamped(header=self.header(time), child_frame_id=frame)
        link.transform.translation.x, link.transform.translation.y, _ = self.pose(robot, time)
        return TFMessage(transforms=[link])

    def scan(self, robot: str, time: float) -> LaserScan:
        return LaserScan(
            header=self.header(time, f'{self.name(robot)}/laser'),
            angle_increment=math.pi / 180,
            range_max=12.0,
            ranges=np.full(360, 1.5, np.float32).tolist(),
        )

    def status(self, robot: str, step: int, *problems: str) -> RobotStatus:
        return RobotStatus(
            header=self.header(step * PERIOD),
            robot=self.name(robot),
            problems=problems,
            step=step,
            neighbours=len(self.robots) - 1,
            rounds_complete=5,
            rounds_incomplete=1,
            bytes_local=1000,
            bytes_update=234,
            bytes_total=1234 * step,
            refusals=['past step'],
            refused=[2],
        )

    def step(self, robot: str, step: int) -> Iterator[tuple[str, Any]]:
        """Yield what a robot publishes at the end of a step, by topic."""
        time = step * PERIOD
        yield f'{robot}/map', self.map(robot, step)
        yield f'{robot}/collaboration', self.row(robot, step)
        yield '/tf', self.tf(robot, time)
        yield f'{robot}/scan', self.scan(robot, time)
        yield f'{robot}/status', self.status(robot, step)

    def feed(self, watch: Watch, topic: str, message: Any, at: float) -> None:
        """Let a watch hear a message."""
        source = next(s for s in sources_of(self.topics) if s.topic == topic)
        watch.take(source, message, at)

    def run(self, watch: Watch, steps: int | None = None) -> None:
        """Let a watch hear a whole run."""
        self.feed(watch, '/sim/truth', self.truth(), 0.0)
        for step in range(1, (steps or self.steps) + 1):
            for robot in self.robots:
                for topic, message in self.step(robot, step):
                    self.feed(watch, topic, message, step * PERIOD)


@pytest.fixture(scope='session')
def make_fleet() -> type[Fleet]:
    """Robots that publish what robots do."""
    return Fleet
