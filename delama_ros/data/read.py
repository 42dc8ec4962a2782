"""Reads a recording of any known format, recognised by the name of the file."""

from __future__ import annotations

from pathlib import Path

from delama_ros.data.bag import read_bag, scan_topics
from delama_ros.data.carmen import read_carmen
from delama_ros.data.log import Log, LogError
from delama_ros.data.rover import read_rover

BAGS = ('.bag', '.db3', '.mcap')
CARMEN = ('.log', '.clf')
ROVER = ('.dat',)


def read_all(file: str | Path) -> list[Log]:
    """Read a whole recording: one log per scan topic."""
    path = Path(file)
    if path.exists() and (path.is_dir() or path.suffix in BAGS):
        return [read_bag(path, topic=topic) for topic in scan_topics(path)]
    return [read_log(path)]


def read_log(
    file: str | Path,
    *,
    topic: str | None = None,
    frame: str | None = None,
    delay: float | None = 0.0,
    raw: bool = False,
) -> Log:
    """Read a log; topic, frame and delay apply to bags, see read_bag."""
    path = Path(file)
    if not path.exists():
        raise LogError(f'{path}: no such file or folder')
    suffix = Path(path.stem).suffix if path.suffix == '.gz' else path.suffix
    if path.is_dir() or suffix in BAGS:
        return read_bag(path, topic=topic, frame=frame, delay=delay)
    if suffix in CARMEN:
        if topic or frame or delay:
            raise LogError(f'{path}: topic, frame and delay are for bags, this is a CARMEN log')
        return read_carmen(path, raw=raw)
    if suffix in ROVER:
        return read_rover(path)
    raise LogError(
        f'{path}: unknown format, expected a rosbag2 folder, '
        f'{", ".join(BAGS)}, a CARMEN log, {", ".join(CARMEN)}, or a log of the mines rover, '
        f'{", ".join(ROVER)}, plain or .gz'
    )
