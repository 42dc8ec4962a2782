"""How good a map is: F1 of the occupied class over the whole plan (paper, 6.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from delama_sim.grid import UNKNOWN, Bools, Floats, OccupancyMap, Pose
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
    return compare(*on_truth(occupancy, truth), truth)


def compare(claimed: Bools, known: Bools, truth: SurfaceTruth) -> Score:
    """Score which cells of the truth a map takes as occupied, and which it knows at all."""
    hits = float((claimed & truth.occupied).sum())
    total, wanted = float(claimed.sum()), float(truth.occupied.sum())
    return Score(
        f1=2.0 * hits / max(total + wanted, 1.0),
        precision=hits / max(total, 1.0),
        recall=hits / max(wanted, 1.0),
        coverage=float((known & truth.known).sum()) / max(float(truth.known.sum()), 1.0),
    )


def on_truth(
    occupancy: OccupancyMap, truth: SurfaceTruth, frame: Pose = (0.0, 0.0, 0.0)
) -> tuple[Bools, Bools]:
    """Return which cells of the truth a map takes as occupied, and which it knows at all.

    A cell is taken as occupied if the map's occupancy, averaged over four points in it (unknown
    counts as 0), is at least 50. frame: where the truth's origin is in the map.
    """
    rows, columns = np.indices(truth.occupied.shape)
    grid = OccupancyMap(np.zeros(truth.occupied.shape, np.int8), truth.resolution, truth.origin)
    centres = np.stack([columns + 0.5, rows + 0.5], -1)
    values = np.stack([
        occupancy.value_at(points_in_frame(grid.to_world(centres + offset), frame))
        for offset in ((-0.25, -0.25), (-0.25, 0.25), (0.25, -0.25), (0.25, 0.25))
    ]).astype(np.float64)  # (4, rows, columns)
    return np.clip(values, 0.0, None).mean(0) >= 50.0, (values != UNKNOWN).any(0)


def points_in_frame(points: Floats, frame: Pose) -> Floats:
    """Return points (..., 2) as seen in another frame; frame is where the old origin is in it."""
    x, y, turn = frame
    cos, sin = math.cos(turn), math.sin(turn)
    moved: Floats = points @ np.array([[cos, sin], [-sin, cos]]) + np.array([x, y])
    return moved
