"""Reads a recording of any known format, chosen by the name of the file."""

from __future__ import annotations

from pathlib import Path

from delama_ros.logs.bag import read_bag
from delama_ros.logs.carmen import read_carmen
from delama_ros.logs.log import Log, LogError

BAGS = ('.bag', '.db3', '.mcap')
CARMEN = ('.log', '.clf')


def read_log(file: str | Path, *, topic: str | None = None, frame: str | None = None) -> Log:
    """Read a log; topic and frame choose among several scan topics and fixed frames of a bag."""
    path = Path(file)
    if not path.exists():
        raise LogError(f'{path}: no such file or folder')
    suffix = Path(path.stem).suffix if path.suffix == '.gz' else path.suffix
    if path.is_dir() or suffix in BAGS:
        return read_bag(path, topic=topic, frame=frame)
    if suffix in CARMEN:
        if topic or frame:
            raise LogError(f'{path}: a CARMEN log has no topics and frames: leave them out')
        return read_carmen(path)
    raise LogError(
        f'{path}: what it holds cannot be told from its name: expected a rosbag2 folder, '
        f'{", ".join(BAGS)}, or a CARMEN log, {", ".join(CARMEN)}, plain or .gz'
    )
