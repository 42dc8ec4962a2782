"""CARMEN logs: FLASER lines with a laser scan, its corrected pose and a time stamp."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from delama_ros.data.log import Log, LogError, Reading, in_order
from delama_ros.mapping.scan import Scan

# Angles (rad) between the beams of SICK scanners over 180 degrees; the first points right.
INCREMENTS = {180: math.pi / 180, 181: math.pi / 180, 360: math.pi / 360, 361: math.pi / 360}
RANGE_MIN = 0.02  # m
# m; the scanners report failed measurements as 50 m and more (51.15, 81.83, 81.91, …)
RANGE_MAX = 50.0
TAIL = 9  # x y yaw, odometry x y yaw, stamp, host, stamp of the logger
PERIOD = 1.0  # s between scans if stamps are unusable: about 1 m of driving
UNORDERED = 0.02  # share of stamps out of order above which none is used


def read_carmen(path: Path, *, raw: bool = False) -> Log:
    """Read a log, plain or gzip.

    Args:
        path: The file.
        raw: Keep the order of lines and take the time of the logger (the last field), as
            localization needs it; the stamp of the laser becomes the key of the reading.

    Returns:
        The log.

    Raises:
        LogError: The file cannot be read or is damaged.
    """
    stamps, times, scans, poses = [], [], [], []
    for number, line in numbered_lines(path):
        if not line.startswith('FLASER'):
            continue
        where = f'{path}, line {number}'
        fields = line.split()
        count = _count(fields[1] if len(fields) > 1 else '', where)
        if len(fields) != 2 + count + TAIL:
            raise LogError(
                f'{where}: {len(fields)} fields for {count} beams, expected {2 + count + TAIL}: '
                'the line is truncated, remove it'
            )
        tail = [fields[2 + count + 8], fields[2 + count + 6]]  # time of the logger, stamp
        numbers = _numbers([*fields[2 : 2 + count + 3], *(tail if raw else tail[1:])], where)
        scans.append(_scan(numbers[:count]))
        poses.append((float(numbers[count]), float(numbers[count + 1]), float(numbers[count + 2])))
        stamps.append(float(numbers[-1]))
        times.append(float(numbers[-2]))
    if not scans:
        raise LogError(f'{path}: no FLASER line: expected a CARMEN log with laser scans')
    notes: list[str] = []
    if raw:
        in_time = next((t for t in (times, stamps) if (np.diff(t) > 0).all()), None)
        if in_time is None:
            notes.append(f'times do not increase: scans are assumed to be {PERIOD:g} s apart')
            in_time = [PERIOD * i for i in range(len(scans))]
        readings = tuple(map(Reading, in_time, scans, poses, stamps))
        return Log(path.name.split('.')[0], readings, notes=tuple(notes))
    if stamps[0] < 0 or (np.diff(stamps) <= 0).sum() > UNORDERED * len(stamps):
        notes.append(f'time stamps do not increase: scans are assumed to be {PERIOD:g} s apart')
        stamps = [PERIOD * i for i in range(len(scans))]
    readings = in_order(map(Reading, stamps, scans, poses))
    if len(readings) < len(scans):
        repeated = len(scans) - len(readings)
        notes.append(f'{repeated} scans have the stamp of another and are skipped')
    return Log(path.name.split('.')[0], readings, notes=tuple(notes))


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file, plain or gzip, from 1 on; LogError if it cannot be read."""
    try:
        with (gzip.open if path.suffix == '.gz' else open)(path, 'rt', encoding='utf-8') as file:
            yield from enumerate(file, 1)
    except EOFError:
        raise LogError(f'{path}: the gzip file is truncated: copy it again') from None
    except gzip.BadGzipFile:
        raise LogError(f'{path}: is not gzip: remove .gz from its name') from None
    except UnicodeDecodeError:
        raise LogError(f'{path}: is not text: expected a log, or .gz in its name') from None
    except OSError as error:
        raise LogError(f'{path}: cannot be read: {error.strerror}') from None


def _count(field: str, where: str) -> int:
    count = int(field) if field.isdigit() else -1
    if count not in INCREMENTS:
        raise LogError(f'{where}: {field or "no"} beams, expected one of {tuple(INCREMENTS)}')
    return count


def _numbers(fields: list[str], where: str) -> np.ndarray:
    for i, field in enumerate(fields):
        try:
            finite = math.isfinite(float(field))
        except ValueError:
            finite = False
        if not finite:
            raise LogError(f'{where}: {field!r} is not a number (field {i + 3}): remove the line')
    return np.array(fields, np.float64)


def _scan(ranges: np.ndarray) -> Scan:
    """Return a scan as a LaserScan would contain it: 32 bits, +Inf without a return."""
    increment = INCREMENTS[ranges.size]
    ranges = np.where(ranges < RANGE_MAX, ranges, np.inf).astype(np.float32).astype(np.float64)
    first, step, low = (float(np.float32(v)) for v in (-math.pi / 2, increment, RANGE_MIN))
    return Scan(ranges, first, step, low, RANGE_MAX)
