"""A robot's mapping: scans in, messages to and from neighbours, a map out; no clock, no ROS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent import Agent
from delama_ros.core.messages import Message
from delama_ros.mapping.evidence import Keys, Marks, Scan, count_evidence, scan_evidence
from delama_ros.mapping.seen import Seen, hide_unseen
from delama_ros.mapping.tiles import TileModel, assemble
from delama_sim.grid import OccupancyMap, Pose


class Mapper:
    """An agent whose data are laser scans and whose model is a map of tiles."""

    def __init__(self, agent: Agent, model: TileModel) -> None:
        self.agent = agent
        self.model = model
        self._evidence: list[tuple[Keys, Marks]] = []  # of the scans since the last step
        self._seen = Seen(model.cells)

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
            self._seen.add(keys, counts.any(1).astype(np.uint8))
            self.agent.observe(keys, *self.model.statistics(counts))

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Learn from the scans taken so far and begin a time step; the first messages to send."""
        self.learn()
        return self.agent.begin(step, neighbours)

    def occupancy(self) -> OccupancyMap:
        """Draw the map as the robot knows it; what nothing speaks for is unknown."""
        keys, theta = self.agent.theta
        drawn = self.model.occupancy(keys, theta)
        own, seen = self._seen.on(keys)
        everywhere = np.ones_like(seen) & own[:, None, None]
        masks = (assemble(keys, everywhere, False), assemble(keys, seen, False))
        return drawn.with_cells(hide_unseen(drawn.cells, *masks))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that must be kept to go on later, as arrays."""
        return {**self.agent.state(), **self._seen.state()}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned; call between steps."""
        self.agent.restore(state)
        self._seen.restore(state)
