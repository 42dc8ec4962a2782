"""A robot's mapping: scans in, messages to and from neighbours, a map out; no clock, no ROS."""

from __future__ import annotations

from collections.abc import Iterable

import numpy.typing as npt

from delama_ros.core.agent import Agent
from delama_ros.core.messages import Message
from delama_ros.mapping.evidence import Keys, Marks, Scan, count_evidence, scan_evidence
from delama_ros.mapping.tiles import TileModel
from delama_sim.grid import OccupancyMap, Pose


class Mapper:
    """An agent whose data are laser scans and whose model is a map of tiles."""

    def __init__(self, agent: Agent, model: TileModel) -> None:
        self.agent = agent
        self.model = model
        self._evidence: list[tuple[Keys, Marks]] = []  # of the scans since the last step

    def add_scan(self, scan: Scan, pose: Pose, peers: npt.ArrayLike | None = None) -> None:
        """Take a scan from a sensor pose (x, y, yaw) in the frame that all robots share."""
        self._evidence.append(
            scan_evidence(
                scan,
                pose,
                resolution=self.model.resolution,
                tile_cells=self.model.cells,
                peers=peers,
            )
        )

    def learn(self) -> None:
        """Hand the evidence of the scans since the last step to the agent."""
        if self._evidence:
            keys, counts = count_evidence(self._evidence)
            self._evidence = []
            self.agent.observe(keys, *self.model.statistics(counts))

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Learn from the scans taken so far and begin a time step; the first messages to send."""
        self.learn()
        return self.agent.begin(step, neighbours)

    def occupancy(self) -> OccupancyMap:
        """Draw the map as the robot knows it."""
        return self.model.occupancy(*self.agent.theta)
