"""How good a map is: F1 of the occupied class over the whole plan (paper, 6.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delama_sim.grid import UNKNOWN, Bools, OccupancyMap
from delama_sim.truth import SurfaceTruth


@dataclass(frozen=True)
class Score:
    """Shares 0 .. 1; cells the robot has not mapped count as not occupied."""

    f1: float
    precision: float
    recall: float
    coverage: float  # share of the known cells of the truth that the map knows too


def score(occupancy: OccupancyMap, truth: SurfaceTruth) -> Score:
    """Compare a map with the truth on the truth's cells."""
    mapped, seen = on_truth(occupancy, truth)
    hits = float((mapped & truth.occupied).sum())
    claimed, wanted = float(mapped.sum()), float(truth.occupied.sum())
    return Score(
        f1=2.0 * hits / max(claimed + wanted, 1.0),
        precision=hits / max(claimed, 1.0),
        recall=hits / max(wanted, 1.0),
        coverage=float((seen & truth.known).sum()) / max(float(truth.known.sum()), 1.0),
    )


def on_truth(occupancy: OccupancyMap, truth: SurfaceTruth) -> tuple[Bools, Bools]:
    """Return which cells of the truth a map takes as occupied, and which it knows at all.

    A cell is taken as occupied if the map's occupancy, averaged over four points in it (unknown
    counts as 0), is at least 50.
    """
    rows, columns = np.indices(truth.occupied.shape)
    frame = OccupancyMap(np.zeros(truth.occupied.shape, np.int8), truth.resolution, truth.origin)
    centres = np.stack([columns + 0.5, rows + 0.5], -1)
    corners = [
        occupancy.value_at(frame.to_world(centres + offset))
        for offset in ((-0.25, -0.25), (-0.25, 0.25), (0.25, -0.25), (0.25, 0.25))
    ]
    values = np.stack(corners).astype(np.float64)  # (4, rows, columns)
    return np.clip(values, 0.0, None).mean(0) >= 50.0, (values != UNKNOWN).any(0)
