"""Lost robots in recorded buildings: who is found, who stays lost, who believes a wrong place.

The first half of a log is the map. A robot that has it wakes up at a random scan of the second,
or of a log of another building, drives on as recorded, and searches. Where it really is says the
whole log, localized: relative to the nearest keyframe, since maps bend.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from delama_ros.data.log import Log
from delama_ros.experiments.mapping.log_slam import prepared_points
from delama_ros.experiments.runner import Figures, Progress
from delama_ros.geometry.grid import Floats
from delama_ros.localization import Localizer, Status, restore, save
from delama_ros.localization.se2 import compose, relative
from delama_ros.localization.state import Arrays

NEAR = 1.0  # m from a keyframe of the map, and ...
TURNED = math.radians(60.0)  # ... with about its heading: a known place
FAR = 6.0  # m from all keyframes: an unknown place
WRONG = 0.5  # m from where the robot really is
BEFORE = 10  # scans that a start lies before the end of the log at least

Points = list[tuple[float, Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Known:
    """A map, and where the scans of its log really were taken."""

    state: Arrays
    scans: Points
    poses: Floats  # (T, 3) of all scans, by the whole log
    half: int  # scans in the map
    keyframes: list[int]  # scans that are keyframes of the map


def learn(log: Log) -> Known:
    """Localize a log; keep the map at its half and the poses at its end."""
    scans: Points = list(prepared_points(log))
    localizer, state, half = Localizer(record=True), None, len(scans) // 2
    kept: dict[int, int] = {}
    progress = Progress(len(scans), 'scans')
    for i, scan in enumerate(scans):
        if i == half:
            state = save(localizer)
        keyframe = localizer.add(*scan).keyframe
        if keyframe is not None:
            kept[keyframe] = i
        progress.step()
    progress.end()
    if state is None or localizer.trajectory is None:
        raise ValueError(f'{log.name} has {len(scans)} scans, expected 2 or more')
    poses = localizer.trajectory.poses(localizer.own.keyframes)[1]
    rows = [kept[int(k)] for k in np.asarray(state['ids'])]
    return Known(state, scans, poses, half, rows)


def evaluate_lost(
    log: Log, other: Log | None, starts: int, scans: int, seed: int
) -> dict[str, Figures]:
    """Wake robots up at random places.

    Args:
        log: The building that is mapped.
        other: Where the robots are; None for the second half of `log`.
        starts: Robots per kind of place.
        scans: After so many without a place, a robot counts as not found.
        seed: Of the starts.

    Returns:
        By kind of place (`known`, `unknown`, `elsewhere`) how many were `found` rightly,
        believed a place `wrongly`, or were `not_found`, and the median of scans until found.

    """
    known, rng = learn(log), np.random.default_rng(seed)
    if other is not None:
        ways = {'elsewhere': list(prepared_points(other))}
        begins = {'elsewhere': np.arange(max(1, len(ways['elsewhere']) - BEFORE))}
    else:
        ways = dict.fromkeys(('known', 'unknown'), known.scans)
        begins = places(known)
    out: dict[str, Figures] = {}
    for kind, choices in begins.items():
        count = min(starts, len(choices))
        outcomes: Counter[str] = Counter({'found': 0, 'wrongly': 0, 'not_found': 0})
        waited = []
        for start in rng.choice(choices, count, replace=False).tolist():
            outcome, after = wake_up(known, ways[kind], start, scans, own=other is None)
            outcomes[outcome] += 1
            if outcome == 'found':
                waited.append(after)
        median = float(np.median(waited)) if waited else None
        out[kind] = {'robots': count, **outcomes, 'median_scans': median}
    return out


def places(known: Known) -> dict[str, np.typing.NDArray[np.int64]]:
    """Return scans of the second half at known and at unknown places of the map."""
    rows = np.arange(known.half, len(known.poses) - BEFORE)
    off = known.poses[rows, None] - known.poses[known.keyframes][None]
    apart = np.hypot(off[..., 0], off[..., 1])
    turned = np.abs((off[..., 2] + math.pi) % (2 * math.pi) - math.pi)
    near = ((apart < NEAR) & (turned < TURNED)).any(1)
    return {'known': rows[near], 'unknown': rows[apart.min(1) > FAR]}


def wake_up(
    known: Known, scans: Points, start: int, most: int, *, own: bool
) -> tuple[str, int]:
    """Let one robot search from a scan on; returns the outcome and the number of scans it took."""
    localizer = Localizer()
    restore(localizer, known.state)
    localizer.relocalize()
    assert localizer.odometry is not None
    # Carried there: odometry has noticed nothing.
    shift = compose(localizer.odometry, relative(scans[start][1], np.zeros(3)))
    for count, (stamp, odometry, points) in enumerate(scans[start : start + most], 1):
        estimate = localizer.add(stamp, compose(shift, odometry), points)
        if estimate.status is Status.RELOCALISED:
            right = own and _off(known, localizer, start + count - 1) < WRONG
            return ('found' if right else 'wrongly'), count
    return 'not_found', most


def _off(known: Known, localizer: Localizer, scan: int) -> float:
    """Metres between the pose of a localizer and where the scan was really taken."""
    row = int(localizer.own.keyframes.near(localizer.pose, math.inf)[0])
    true = relative(known.poses[known.keyframes[row]], known.poses[scan])
    off = relative(compose(localizer.own.keyframes.poses[row], true), localizer.pose)
    return math.hypot(off[0], off[1])
