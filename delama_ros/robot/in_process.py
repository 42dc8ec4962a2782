"""One robot without clock, radio or ROS: scans in, a mapper and a frame out.

Simulated swarms in one process and recorded logs run robots of this kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.rendezvous.frames import Move
from delama_ros.robot.localization import Localization, Located
from delama_ros.robot.parameters import ROBOT
from delama_ros.robot.rendezvous import Rendezvous
from delama_ros.robot.timed_scan import TimedScan

DEFAULTS = {name: option.default for name, option in ROBOT.items()}


class InProcessRobot:
    """Localization, mapper and, unless the start is exact, rendezvous of one robot."""

    def __init__(self, name: str, options: Mapping[str, Any], *, record: bool = False) -> None:
        """Load the checkpoint.

        Args:
            name: of the robot in the swarm.
            options: values of the parameters in `parameters.ROBOT`.
            record: keep the pose of every scan.
        """
        self.name = name
        checkpoint, retention = options['checkpoint'] or None, options['retention']
        self.mapper: Mapper = default_mapper(name, checkpoint, retention=retention)
        self.localization = Localization(options, record=record)
        self.rendezvous: Rendezvous | None = None
        self._wall = options['join_wall']

    def add(self, scan: TimedScan) -> Located:
        """Localize a scan and map what it changes; ValueError if it cannot be used."""
        located, edits = self.localization.add(scan)
        if self.rendezvous is None and self.localization.free:
            self.rendezvous = Rendezvous(
                self.name, self.mapper, wall=self._wall, spread=self.localization.spread
            )
        for edit in edits:
            edit(self.mapper)
        return located

    def find_frames(self, budget: float = math.inf) -> Move | None:
        """Compare models after a step, unless the robot knows exactly where it started."""
        if self.rendezvous is None:
            return None
        move = self.rendezvous.update(budget)
        if move is not None:
            self.localization.transform(move.transform)
        priors = self.rendezvous.priors()
        if priors is not None:
            for edit in self.localization.set_priors(priors):
                edit(self.mapper)
        return move
