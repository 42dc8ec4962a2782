"""A raw log localised from its own scans and odometry: trajectory, errors, and its readings."""

from __future__ import annotations

import gzip
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.data.log import Log, LogError, Reading
from delama_ros.experiments.runner import Cell, Figures, Progress, Runner
from delama_ros.geometry.grid import Floats
from delama_ros.geometry.poses import compose, relative
from delama_ros.localization import Localizer
from delama_ros.localization.no_return import NoReturnFilter
from delama_ros.localization.offline import relation_error, trajectory_error
from delama_ros.localization.scan import PreparedScan, Sweep, prepare
from delama_ros.mapping.scan import Scan
from delama_ros.robot.sweep_order import SweepOrder, ordered
from delama_ros.robot.timed_scan import TimedScan

CELL = 0.05  # m, of cells in which beams end
RELATION = 8  # numbers of a relation: two stamps and a pose in space
POSE = 4  # numbers of a recorded pose: stamp x y theta


@dataclass(frozen=True, eq=False)
class Localised:
    """A log with the poses that localization found, in the frame of its first pose."""

    log: Log  # poses by localization
    odometry: Log  # poses as recorded
    figures: Figures

    @property
    def keys(self) -> Floats:
        """Stamps (T,) by which relations name the scans."""
        return keys_of(self.log.readings)

    @property
    def poses(self) -> Floats:
        """Poses (T, 3) of the sensor."""
        return np.array([reading.pose for reading in self.log.readings])


def localise(log: Log, source: dict[str, Any], runner: Runner) -> Localised:
    """Localise all scans of a log, whose poses are taken for raw odometry.

    Args:
        log: Scans in order of time, poses by odometry.
        source: What the log was read from, in JSON values: a cell is computed once for it.
        runner: Computes the cell.

    Returns:
        The log with the corrected poses of all scans.

    Raises:
        LogError: There is no scan.
    """
    if not log.readings:
        raise LogError(f'{log.name}: no scans to localise')
    cell = Cell.make('log', 'slam', **source)
    found = runner.run([cell], lambda _: _slam(log))[cell]
    poses = compose(timed_of(log.readings[0]).begin, np.array(found.pop('poses')))
    rule = NoReturnFilter()
    readings = []
    for reading, (x, y, yaw) in zip(log.readings, poses.tolist(), strict=True):
        ready = _prepared(ordered(timed_of(reading), found['sweep_order']), rule)
        scan = Scan(
            ready.ranges, ready.angle_min, ready.angle_increment, ready.range_min, ready.range_max
        )
        readings.append(replace(reading, pose=(x, y, yaw), scan=scan))
    return Localised(replace(log, readings=tuple(readings)), log, found)


def _slam(log: Log) -> Figures:
    """Run the localizer over a log as a robot does; poses relative to the first."""
    localizer, rule, order = Localizer(record=True), NoReturnFilter(), SweepOrder('auto')
    progress = Progress(len(log.readings), 'scans')
    statuses: Counter[str] = Counter()
    times: dict[str, list[float]] = {}  # s of CPU time by stage
    loops, began = 0, time.perf_counter()
    for reading in log.readings:
        timed = timed_of(reading)
        ready = _prepared(ordered(timed, order.choose(timed, localizer)), rule)
        estimate = localizer.add(reading.stamp, timed.begin, ready.points[ready.valid])
        statuses[estimate.status.value] += 1
        loops += len(estimate.loops)
        for stage, seconds in localizer.timings.items():
            times.setdefault(stage, []).append(seconds)
        progress.step()
    progress.end()
    assert localizer.trajectory is not None
    poses = localizer.trajectory.poses(localizer.own.keyframes)[1]
    return {
        'poses': relative(poses[0], poses).tolist(), 'loops': loops, 'statuses': dict(statuses),
        'seconds': round(time.perf_counter() - began, 2), 'sweep_order': order.order,
        'keyframes': len(localizer.own.keyframes), 'range_bias_m': localizer.own.range_bias.mean,
        'median_ms': {k: round(1e3 * float(np.median(v)), 3) for k, v in sorted(times.items())},
    }


def prepared_points(log: Log) -> Iterator[tuple[float, Floats, Floats]]:
    """Stamps, odometry (3,) and points (N, 2) of all scans, as a localizer takes them."""
    rule = NoReturnFilter()
    for reading in log.readings:
        timed = timed_of(reading)
        ready = _prepared(timed, rule)
        yield reading.stamp, np.asarray(timed.begin), ready.points[ready.valid]


def timed_of(reading: Reading) -> TimedScan:
    """Return a reading as a robot would receive it; the sensor stands for the base."""
    scan = reading.scan
    begin, end = reading.sweep or (reading.pose, None)
    sweep = Sweep(
        scan.ranges, scan.angle_min, scan.angle_increment, scan.range_min, scan.range_max
    )
    return TimedScan(reading.stamp, sweep, begin, end, (0.0, 0.0, 0.0), 'slam', [])


def _prepared(timed: TimedScan, rule: NoReturnFilter) -> PreparedScan:
    return prepare(timed.sweep, rule, begin=timed.begin, end=timed.end, mount=timed.mount)


def score(
    found: Localised, relations: Floats | None = None, reference: Floats | None = None
) -> dict[str, Any]:
    """Score a trajectory.

    Args:
        found: The localised log.
        relations: (R, 8) of Kümmerle et al. 2009.
        reference: (P, 4) stamp x y theta, in place of the poses in the log.

    Returns:
        The relation error if relations are given, otherwise the absolute trajectory error against
        the reference, or against the recorded poses; and how many cells of 5 cm beams end in, with
        recorded poses and with the poses found: sharper walls take fewer.

    Raises:
        ValueError: No relation, or no pose of the reference, names a scan.
    """
    figures = {'scans': len(found.log.readings), **found.figures}
    if relations is not None:
        error = asdict(relation_error(found.keys, found.poses, relations))
        recorded = keys_of(found.odometry.readings), _poses(found.odometry.readings)
        before = relation_error(*recorded, relations)
        figures |= error | {
            'relations_given': len(relations),
            'odometry_translation_error_m': before.translation_error_m,
        }
    else:
        figures |= _absolute(found, reference)
    figures['cells_hit'] = {
        'odometry': cells_hit(found.odometry.readings), 'slam': cells_hit(found.log.readings),
    }
    return figures


def _absolute(found: Localised, reference: Floats | None) -> dict[str, Any]:
    recorded = _poses(found.odometry.readings)
    rows = np.arange(len(recorded))
    if reference is not None:
        at = {round(float(key), 3): row for row, key in enumerate(found.keys)}
        known = [round(float(pose[0]), 3) in at for pose in reference]
        if sum(known) < 2:
            raise ValueError(f'{sum(known)} of {len(reference)} reference poses match a scan')
        recorded = reference[known][:, 1:]
        rows = np.array([at[round(float(stamp), 3)] for stamp in reference[known][:, 0]])
    error = trajectory_error(found.poses[rows], recorded)
    return {
        'ate_m': float(np.sqrt((error**2).mean())), 'ate_largest_m': float(error.max()),
        'ate_poses': len(rows), 'ate_against': 'reference' if reference is not None else 'log',
    }


def cells_hit(readings: Sequence[Reading]) -> int:
    """Return how many cells of 5 cm beams end in."""
    hit: set[int] = set()
    for reading in readings:
        ranges = np.where(reading.scan.ranges < reading.scan.range_max, reading.scan.ranges, np.nan)
        angles = reading.scan.angle_min + reading.scan.angle_increment * np.arange(ranges.size)
        x, y, yaw = reading.pose
        ends = np.stack([x + ranges * np.cos(yaw + angles), y + ranges * np.sin(yaw + angles)])
        column, row = np.floor(ends[:, np.isfinite(ranges)] / CELL).astype(np.int64)
        hit.update((column * 2**31 + row).tolist())
    return len(hit)


def keys_of(readings: Sequence[Reading]) -> Floats:
    """Return the stamps (T,) by which relations name readings."""
    return np.array([r.stamp if r.key is None else r.key for r in readings])


def _poses(readings: Sequence[Reading]) -> Floats:
    return np.array([reading.pose for reading in readings])


def read_numbers(file: str, what: str) -> Floats:
    """Read relations (8 numbers a line) or poses (4 numbers a line), plain or gzip.

    Raises:
        ValueError: The file cannot be read, or a line is no such thing.
    """
    count = RELATION if what == 'relations' else POSE
    rows: list[list[float]] = []
    try:
        with (gzip.open if file.endswith('.gz') else open)(file, 'rt', encoding='utf-8') as lines:
            for number, line in enumerate(lines, 1):
                fields = line.split('#')[0].split()
                if not fields:
                    continue
                try:
                    row = [float(field) for field in fields]
                except ValueError:
                    row = []
                if len(row) != count or not all(map(math.isfinite, row)):
                    raise ValueError(f'{file}, line {number}: expected {count} numbers')
                rows.append(row)
    except (OSError, EOFError) as error:
        raise ValueError(f'{file}: cannot be read: {error}') from None
    if not rows:
        raise ValueError(f'{file}: has no {what}')
    return np.array(rows)


def write_trajectory(found: Localised, path: Path) -> None:
    """Write stamp x y theta of every scan, in the order of the log."""
    lines = [
        f'{key:.6f} {x:.6f} {y:.6f} {yaw:.6f}\n'
        for key, (x, y, yaw) in zip(found.keys, found.poses.tolist(), strict=True)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('# stamp x y theta: s, m, m, rad\n' + ''.join(lines))


def source_of(file: str, limit: int | None, **options: Any) -> dict[str, Any]:
    """Return what decides the content of a log: the file as it is now, and how it is read."""
    path = Path(file).resolve()
    parts = sorted(path.rglob('*')) if path.is_dir() else [path]
    stats = [(part.name, part.stat().st_size, part.stat().st_mtime_ns) for part in parts]
    return {'file': str(path), 'stats': stats, 'limit': limit, **options}


def trajectory_of(readings: Sequence[Reading]) -> Floats:
    """Return positions (T, 2)."""
    return _poses(readings)[:, :2]


