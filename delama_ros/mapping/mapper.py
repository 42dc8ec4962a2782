"""A robot's mapping: scans in, messages to and from neighbours, a map out; no clock, no ROS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent import Agent
from delama_ros.core.messages import Message
from delama_ros.mapping.evidence import Keys, Marks, Scan, count_evidence, scan_evidence
from delama_ros.mapping.passed import CellMarks, hide_unreached
from delama_ros.mapping.tiles import TileModel, assemble
from delama_sim.grid import OccupancyMap, Pose

ROOM = 0.15  # m to each side that free space must have to be believed on a neighbour's word


class Mapper:
    """An agent whose data are laser scans and whose model is a map of tiles."""

    def __init__(self, agent: Agent, model: TileModel) -> None:
        self.agent = agent
        self.model = model
        self._evidence: list[tuple[Keys, Marks]] = []  # of the scans since the last step
        self._passed = CellMarks(model.cells)  # by own beams, or by robots

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
        if peers is not None and len(np.atleast_2d(peers)[0]):
            self._mark_free(np.atleast_2d(np.asarray(peers, np.float64)))

    def _mark_free(self, places: npt.NDArray[np.float64]) -> None:
        """Take note that robots stand at these places (P, 2): space there is free."""
        cells = np.floor(places / self.model.resolution).astype(np.int64)
        keys, inside = np.divmod(cells, self.model.cells)
        for key, (x, y) in zip(keys.astype(np.int32), inside, strict=True):
            mark = np.zeros((1, self.model.cells, self.model.cells), np.bool_)
            mark[0, y, x] = True
            self._passed.add(key[None], mark)

    def learn(self) -> None:
        """Hand the evidence of the scans since the last step to the agent."""
        if self._evidence:
            keys, counts = count_evidence(self._evidence)
            self._evidence = []
            self._passed.add(keys, counts[:, 0] > 0)
            self.agent.observe(keys, *self.model.statistics(counts))

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Learn from the scans taken so far and begin a time step; the first messages to send."""
        self.learn()
        return self.agent.begin(step, neighbours)

    def occupancy(self) -> OccupancyMap:
        """Draw the map as the robot knows it; what nothing speaks for is unknown."""
        keys, theta = self.agent.theta
        drawn = self.model.occupancy(keys, theta)
        margin = round(ROOM / self.model.resolution)
        passed = assemble(keys, self._passed.on(keys), False)
        return drawn.with_cells(hide_unreached(drawn.cells, passed, margin))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that must be kept to go on later, as arrays."""
        return {**self.agent.state(), **self._passed.state()}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned, if it fits; call between steps."""
        passed = CellMarks(self.model.cells)
        passed.restore(state)
        self.agent.restore(state)
        self._passed = passed
