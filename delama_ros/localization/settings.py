"""All parameters of the localisation with their units; one set serves every robot and log."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class LocalizationSettings:
    """Parameters of one robot's SLAM; lengths in metres, angles in radians unless said."""

    # Surfels
    reach: float = 30.0  # m, farther points are not used
    spacing: float = 0.1  # m between surfels along a surface
    # Matching
    window: float = 0.15  # m, correlative search around the prediction
    window_per_metre: float = 0.3  # m more per metre driven since the last scan
    window_yaw: float = math.radians(6.0)
    window_yaw_per_metre: float = math.radians(7.0)  # more per metre driven
    window_yaw_per_turn: float = 0.3  # more per radian turned
    kernel: float = 0.04  # m, Cauchy kernel of the point-to-line residual
    cutoff: float = 0.2  # m, farther surfels are no partners
    prior: float = 0.02  # m, standard deviation of the odometry prior ...
    prior_per_metre: float = 0.1  # ... and its growth per metre
    prior_yaw: float = math.radians(1.0)
    prior_yaw_per_turn: float = 0.1
    weak: float = 0.02  # share of the constraints below which a direction is weak
    # Tracking
    inliers: float = 0.5  # share of points that must find a partner
    residual: float = 0.03  # m, largest acceptable mean residual
    contradiction: float = 0.2  # share of points in known free space from which on a match is wrong
    lost_after: int = 5  # failed matches in a row
    # Keyframes
    keyframe_distance: float = 0.4  # m
    keyframe_turn: float = math.radians(20.0)
    local_radius: float = 6.0  # m, keyframes within it make the local map
    local_keyframes: int = 40  # at most
    certain: float = 0.2  # m, relative uncertainty up to which a keyframe is in the local map
    place_radius: float = 0.5  # m and ...
    place_turn: float = math.radians(45.0)  # ... rad that make up one place
    place_keyframes: int = 4  # keyframes kept per place
    # Edges of the pose graph: floor of the standard deviation of one scan match
    edge: float = 0.005  # m
    edge_yaw: float = math.radians(0.1)
    edge_kernel: float = 3.0  # Cauchy kernel of a loop edge, in standard deviations
    # Loops
    loop_sigmas: float = 3.0  # half width of the search window in standard deviations
    loop_window: float = 50.0  # m, largest half width
    loop_inliers: float = 0.65
    loop_residual: float = 0.025  # m
    loop_share: float = 0.03  # of all constraints that the weakest direction must have
    loop_score: float = 0.55  # correlative score from which on a candidate is refined
    # Reports
    report: float = 0.005  # m and ...
    report_yaw: float = math.radians(0.1)  # ... rad by which a keyframe moves before it is reported

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f'localization {field.name} is {value}, expected more than 0')
