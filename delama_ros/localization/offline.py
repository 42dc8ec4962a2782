"""Run a localizer over recorded scans: corrected trajectory, timings, and errors against truth."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from delama_ros.geometry.pose_math import transform
from delama_ros.geometry.poses import best_fit
from delama_ros.localization.estimate import Estimate
from delama_ros.localization.localizer import Localizer
from delama_ros.localization.se2 import Floats, relatives
from delama_ros.localization.settings import LocalizationSettings


@dataclass(frozen=True, eq=False)
class Run:
    """What a localizer made of a log of T scans."""

    stamps: Floats  # (T,) s
    poses: Floats  # (T, 3) of all scans, with all corrections
    online: Floats  # (T, 3) as estimated at once
    statuses: list[str]  # (T,)
    loops: int
    seconds: float  # wall clock
    timings: dict[str, Floats] = field(repr=False)  # s of CPU time, by stage, in order
    growth: Floats = field(repr=False)  # (n, 3) keyframes, s per keyframe, s per optimisation
    localizer: Localizer = field(repr=False)

    def summary(self) -> dict[str, float]:
        """Medians and 99th percentiles in ms, by stage."""
        out: dict[str, float] = {'seconds': self.seconds, 'loops': float(self.loops)}
        for stage, values in self.timings.items():
            out[f'{stage}_median_ms'] = 1e3 * float(np.median(values))
            out[f'{stage}_p99_ms'] = 1e3 * float(np.percentile(values, 99))
        return out


def run(
    scans: Iterable[tuple[float, Floats, Floats]],
    settings: LocalizationSettings | None = None,
) -> Run:
    """Localise all scans of a log.

    Args:
        scans: stamp (s), odometry (3,) and points (N, 2) in the base frame, in order of time.
        settings: parameters, the defaults if None.

    Returns:
        The trajectory and how long everything took.

    """
    localizer = Localizer(settings, record=True)
    estimates: list[Estimate] = []
    timings: dict[str, list[float]] = {}
    growth: list[tuple[float, float, float]] = []
    began = time.perf_counter()
    for stamp, odometry, points in scans:
        estimates.append(localizer.add(stamp, odometry, points))
        for stage, value in localizer.timings.items():
            timings.setdefault(stage, []).append(value)
        if 'keyframe' in localizer.timings:
            growth.append(
                (
                    float(len(localizer.own.keyframes)),
                    localizer.timings['keyframe'],
                    localizer.timings.get('optimise', np.nan),
                )
            )
    seconds = time.perf_counter() - began
    if not estimates or localizer.trajectory is None:
        raise ValueError('there are no scans to localise')
    stamps, poses = localizer.trajectory.poses(localizer.own.keyframes)
    return Run(
        stamps,
        poses,
        np.array([e.pose for e in estimates]),
        [e.status.value for e in estimates],
        sum(len(e.loops) for e in estimates),
        seconds,
        {stage: np.array(values) for stage, values in timings.items()},
        np.array(growth).reshape(-1, 3),
        localizer,
    )


@dataclass(frozen=True)
class RelationError:
    """Errors of relative poses; Kümmerle et al. 2009."""

    translation_error_m: float  # mean ...
    translation_std_m: float  # ... and standard deviation
    rotation_error_deg: float  # mean
    relations: int  # scored


def relation_error(keys: Floats, poses: Floats, relations: Floats) -> RelationError:
    """Compare a trajectory with known relations between its poses.

    Args:
        keys: (T,) by which the relations name poses (stamps), matched to a millisecond.
        poses: (T, 3).
        relations: (R, 8) key 1, key 2, x, y, z, roll, pitch, yaw of pose 2 seen from pose 1.

    Returns:
        The errors over the relations whose keys are both known.

    Raises:
        ValueError: if no relation can be scored.

    """
    rows = {round(float(key), 3): i for i, key in enumerate(keys)}
    pairs = [(rows.get(round(r[0], 3)), rows.get(round(r[1], 3))) for r in relations.tolist()]
    known = np.array([a is not None and b is not None for a, b in pairs], bool)
    if not known.any():
        raise ValueError(f'none of the {len(relations)} relations names two known poses')
    a, b = np.array([p for p, k in zip(pairs, known, strict=True) if k], np.int64).T
    off = relatives(relations[known][:, [2, 3, 7]], relatives(poses[a], poses[b]))
    translation = np.hypot(off[:, 0], off[:, 1])
    rotation = np.degrees(np.abs(off[:, 2]))
    return RelationError(
        float(translation.mean()),
        float(translation.std()),
        float(rotation.mean()),
        int(known.sum()),
    )


def trajectory_error(poses: Floats, truth: Floats) -> Floats:
    """Absolute trajectory error: distances (T,) from the truth after the best rigid alignment.

    Args:
        poses: (T, 2) or (T, 3), estimated.
        truth: (T, 2) or (T, 3), of the same scans.

    """
    p, q = poses[:, :2], truth[:, :2]
    off = transform(best_fit(p, q), p) - q
    return np.asarray(np.hypot(off[:, 0], off[:, 1]))
