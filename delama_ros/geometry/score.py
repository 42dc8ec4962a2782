"""How good a map is: F1 of the occupied class over the whole plan (paper, 6.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from delama_ros.geometry.grid import UNKNOWN, Bools, OccupancyMap, Pose
from delama_ros.geometry.pose_math import transform
from delama_ros.geometry.poses import as_pose, inverse
from delama_ros.geometry.truth import SurfaceTruth


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
    counts as 0), is at least 50. Between cell centres of the map it is interpolated, so that a map
    in a frame of its own is not punished for where its cells begin. frame: where the truth's origin
    is in the map.
    """
    rows, columns = np.indices(truth.occupied.shape)
    grid = OccupancyMap(np.zeros(truth.occupied.shape, np.int8), truth.resolution, truth.origin)
    centres = np.stack([columns + 0.5, rows + 0.5], -1)
    certain = np.clip(occupancy.cells, 0, None).astype(np.float64)
    corner = as_pose(inverse(occupancy.origin))
    total, known = np.zeros(truth.occupied.shape), np.zeros(truth.occupied.shape, np.bool_)
    for offset in ((-0.25, -0.25), (-0.25, 0.25), (0.25, -0.25), (0.25, 0.25)):
        points = transform(frame, grid.to_world(centres + offset))
        at = transform(corner, points) / occupancy.resolution - 0.5  # column, row
        total += ndimage.map_coordinates(certain, [at[..., 1], at[..., 0]], order=1)
        known |= occupancy.value_at(points) != UNKNOWN
    # Resolutions of maps on the air have 32 bits: centres are missed by some 1e-6 of a cell.
    return total / 4 >= 50.0 - 0.01, known
