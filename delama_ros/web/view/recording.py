"""A recorded run: the topics of a bag instead of a live swarm."""

from __future__ import annotations

from pathlib import Path

from delama_ros.data.bag import opened
from delama_ros.data.log import LogError
from delama_ros.web.view.topics import ROW, Source, sources
from delama_ros.web.view.watch import WARN, Watch

NANO = 1e-9


def find_bag(given: str | Path) -> Path:
    """Return the bag in the folder of a run, or the bag itself; LogError if it has no robots."""
    path = Path(given)
    if not path.exists():
        raise LogError(f'{path}: no such file or folder')
    if (path / 'swarm.yaml').exists():  # the folder of a run
        if not (path / 'bag').exists():
            raise LogError(f'{path}: this run has no bag: record one with `delama swarm --bag`')
        path = path / 'bag'
    with opened(path) as reader:
        if not any(c.msgtype == ROW and c.msgcount for c in reader.connections):
            raise LogError(f'{path}: contains no robot: no messages of type {ROW}')
    return path


def fill(watch: Watch, path: Path) -> None:
    """Read a whole bag; errors are added to the log."""
    watch.progress = 0.0
    try:
        _read(watch, path)
    except LogError as error:
        watch.add_line(watch.now(), WARN, 'view', str(error))
    watch.progress = 1.0
    watch.version += 1


def _read(watch: Watch, path: Path) -> None:
    with opened(path) as reader:
        by_topic = {s.topic: s for s in sources({c.topic: c.msgtype for c in reader.connections})}
        chosen = [c for c in reader.connections if c.topic in by_topic]
        first, last = reader.start_time, reader.end_time
        checked = 0.0
        for connection, stamp, data in reader.messages(connections=chosen):
            source: Source = by_topic[connection.topic]
            at = (stamp - first) * NANO
            watch.take(source, reader.deserialize(data, connection.msgtype), at)
            watch.progress = (stamp - first) / max(last - first, 1)
            if at > checked + 1.0:
                watch.check_silence()
                checked = at
