"""Reads a recording of any known format, chosen by the name of the file."""

from __future__ import annotations

from pathlib import Path

from delama_ros.logs.bag import read_bag, scan_topics
from delama_ros.logs.carmen import read_carmen
from delama_ros.logs.log import Log, LogError

BAGS = ('.bag', '.db3', '.mcap')
CARMEN = ('.log', '.clf')


def read_all(file: str | Path) -> list[Log]:
    """Read everything in a recording: a log for each topic of scans."""
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
) -> Log:
    """Read a log; topic, frame and delay choose what is taken from a bag, see read_bag."""
    path = Path(file)
    if not path.exists():
        raise LogError(f'{path}: no such file or folder')
    suffix = Path(path.stem).suffix if path.suffix == '.gz' else path.suffix
    if path.is_dir() or suffix in BAGS:
        return read_bag(path, topic=topic, frame=frame, delay=delay)
    if suffix in CARMEN:
        if topic or frame or delay:
            raise LogError(f'{path}: topic, frame and delay are for bags, this is a CARMEN log')
        return read_carmen(path)
    raise LogError(
        f'{path}: what it holds cannot be told from its name: expected a rosbag2 folder, '
        f'{", ".join(BAGS)}, or a CARMEN log, {", ".join(CARMEN)}, plain or .gz'
    )
