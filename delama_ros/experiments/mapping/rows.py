"""Figures of one method on one run, step by step, and what a run is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from delama_ros.experiments.mapping.references import Seen
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.geometry.score import Score, compare, on_truth
from delama_sim.protocol import MappingRun

FIGURES = ('f1', 'precision', 'recall', 'coverage', 'bytes', 'ms')


@dataclass(frozen=True)
class Protocol:
    """What a run is made of."""

    robots: int = 5
    steps: int = 12
    seed: int = 0
    noise: float = 0.0  # m, standard deviation of positions; headings in proportion
    links: str = 'full'  # or 'line': robot i receives i - 1 and i + 1 only
    scans: int = 1  # per step
    turn: float = 0.0  # degrees by which the building is turned in the map frame
    decoder: str = ''  # file of the network that completes maps; '': the packaged one

    @property
    def frame(self) -> tuple[float, float, float]:
        """Where the plan's origin is in the map frame."""
        return (0.0, 0.0, math.radians(self.turn))

    def scans_of(self, t: int) -> range:
        """Return the scans of a step, counted from the start of the run."""
        return range(t * self.scans, (t + 1) * self.scans)


@dataclass
class Rows:
    """Figures of one method on one plan at each step."""

    run: MappingRun
    protocol: Protocol
    values: list[list[float]] = field(default_factory=list)  # (T, FIGURES)
    # Cells claimed, claimed rightly and truly occupied in each of the zones of `Seen`, (T, 3, 3).
    zones: list[list[list[float]]] = field(default_factory=list)

    def add(self, maps: Sequence[OccupancyMap], size: float, seconds: float) -> None:
        """Take in all robots' maps after a step."""
        frame, truth = self.protocol.frame, self.run.truth
        drawn = [on_truth(occupancy, truth, frame) for occupancy in maps]
        self.add_scores([compare(claimed, known, truth) for claimed, known in drawn], size, seconds)
        if not hasattr(self, '_seen'):
            self._seen = Seen(truth)
        for k in self.protocol.scans_of(len(self.values) - 1):
            self._seen.add(self.run, k)
        row = []
        for zone in self._seen.zones().values():
            claims = [(claimed & zone).sum() for claimed, _ in drawn]
            right = [(claimed & zone & truth.occupied).sum() for claimed, _ in drawn]
            wanted = float((zone & truth.occupied).sum())
            row.append([float(np.mean(claims)), float(np.mean(right)), wanted])
        self.zones.append(row)

    def add_scores(self, scores: Sequence[Score], size: float, seconds: float) -> None:
        """Take in scores alone."""
        parts = [[s.f1, s.precision, s.recall, s.coverage] for s in scores]
        shares = [100 * value for value in np.mean(parts, 0)]
        self.values.append([*shares, size, 1000 * seconds])
