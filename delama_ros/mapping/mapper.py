"""A robot's mapping: scans in, messages to and from neighbours, a map out; no clock, no ROS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from delama_ros.core.agent import Agent
from delama_ros.core.messages import Message
from delama_ros.mapping.completion import Decoder, view
from delama_ros.mapping.evidence import Keys, Marks, Scan, count_evidence, scan_evidence
from delama_ros.mapping.fusion import Fusion
from delama_ros.mapping.tiles import TileModel
from delama_sim.grid import UNKNOWN, Cells, OccupancyMap, Pose

ROOM = 7  # cells along the edge of free space that is more than a sliver


def without_slivers(cells: Cells) -> Cells:
    """Return the grid with UNKNOWN for free slivers: what shows behind walls, by parts of a tile.

    Free space counts where a square of ROOM fits, and next to it.
    """
    free = (cells >= 0) & (cells < 50)
    roomy = ndimage.minimum_filter(free.view(np.uint8), ROOM, mode='constant')
    open_space = ndimage.maximum_filter(roomy, ROOM, mode='constant') > 0
    believed = ndimage.binary_dilation(open_space, iterations=ROOM // 2, mask=free)
    return np.where(free & ~believed, UNKNOWN, cells).astype(np.int8)


class Mapper:
    """An agent whose data are laser scans and whose model is a map of tiles."""

    def __init__(self, agent: Agent, fusion: Fusion, model: TileModel) -> None:
        """Join an agent, how it refines its model, and what the model means."""
        self.agent = agent
        self.model = model
        self._fusion = fusion
        self._evidence: list[tuple[Keys, Marks]] = []  # of the scans since the last step

    def add_scan(self, scan: Scan, pose: Pose, peers: npt.ArrayLike | None = None) -> None:
        """Take a scan from a sensor pose (x, y, yaw) in the frame that all robots share.

        peers: positions (P, 2) of other robots then, whose bodies are no walls.
        """
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
        """Draw the map as the robot knows it; what nobody has looked at is unknown."""
        keys, theta = self.agent.theta
        drawn = self.model.occupancy(keys, theta, self._fusion.evidence.values)
        return drawn.with_cells(without_slivers(drawn.cells))

    def completed(self, decoder: Decoder) -> OccupancyMap:
        """Draw the map with a guess at what nobody has seen."""
        keys, theta = self.agent.theta
        seen = view(self.model, keys, theta, self._fusion.evidence.values)
        return decoder.complete(seen, self.model.resolution)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that must be kept to go on later, as arrays."""
        return self.agent.state()

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned, if it fits; call between steps."""
        self.agent.restore(state)
