"""Bags of ROS 2 (sqlite3, mcap) and ROS 1: laser scans, with poses from TF or odometry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.data.log import Log, LogError, Reading, in_order
from delama_ros.data.timing import SCANS, find_delay
from delama_ros.data.types import typestore
from delama_ros.extras import cure
from delama_ros.geometry.grid import Floats, OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose, yaw_of
from delama_ros.geometry.tracks import Tracks
from delama_ros.mapping.scan import Scan

SCAN, TF = 'sensor_msgs/msg/LaserScan', 'tf2_msgs/msg/TFMessage'
OLD_TF = 'tf/msg/tfMessage'  # ROS 1 before tf2
ODOMETRY, GRID = 'nav_msgs/msg/Odometry', 'nav_msgs/msg/OccupancyGrid'
TRUTH = '/sim/truth'  # of our simulator
TOLERANCE = 0.2  # s that a scan may be off the first or last transform


def read_bag(
    path: Path, *, topic: str | None = None, frame: str | None = None, delay: float | None = 0.0
) -> Log:
    """Read a rosbag2 folder or file, or a ROS 1 bag.

    Args:
        path: of the bag.
        topic: of the scans; None if there is only one.
        frame: in which poses are given; None for the root of the TF tree.
        delay: s by which scans are stamped late; None to estimate it.

    Returns:
        The log. Odometry is used where TF has no moving transform for its base.

    Raises:
        LogError: if the bag, its scans or its poses cannot be used.
    """
    with opened(path) as reader:
        chosen = _scan_topic(path, reader, topic)
        messages = list(_messages(reader, chosen))
    return _log(path, chosen, frame, delay, messages)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a bag for reading; a LogError names the file, also for errors while reading."""
    # Imported here, so that the library is optional for everything but bags.
    try:
        from rosbags.highlevel import AnyReader
    except ImportError:
        raise LogError(f'{path}: {cure("rosbags")}') from None

    try:
        with AnyReader([path], default_typestore=typestore()) as reader:
            yield reader
    except LogError:
        raise
    # rosbags passes on whatever sqlite, yaml or struct raise for a damaged file.
    except Exception as error:
        text = ' '.join(str(error).split()) or type(error).__name__
        raise LogError(f'{path}: is not a complete bag: {text}') from None


def scan_topics(path: Path) -> list[str]:
    """Return the topics of a bag with laser scans."""
    with opened(path) as reader:
        return _topics(reader)


def _topics(reader: Any) -> list[str]:
    return sorted({c.topic for c in reader.connections if c.msgtype == SCAN and c.msgcount})


def _scan_topic(path: Path, reader: Any, topic: str | None) -> str:
    topics = _topics(reader)
    if topic is not None:
        if topic not in topics:
            raise LogError(
                f'{path}: no laser scans on {topic}; available: {", ".join(topics) or "none"}'
            )
        return topic
    if not topics:
        others = ', '.join(sorted({f'{c.topic} ({c.msgtype})' for c in reader.connections}))
        raise LogError(f'{path}: no topic with {SCAN}; it contains {others or "nothing"}')
    if len(topics) > 1:
        raise LogError(
            f'{path}: laser scans on several topics, choose one (--topic): {", ".join(topics)}'
        )
    return topics[0]


def _messages(reader: Any, scans: str) -> Iterator[tuple[str, str, Any]]:
    """Yield topic, type and contents of the messages that make up the log."""
    namespace = scans.rpartition('/')[0]

    def near(kind: tuple[str, ...]) -> set[str]:
        # Topics in the robot's own namespace take precedence over global ones.
        topics = {c.topic for c in reader.connections if c.msgtype in kind}
        own = {t for t in topics if t.rpartition('/')[0] == namespace}
        return own or {t for t in topics if t.count('/') == 1}

    wanted = {scans, TRUTH} | near((TF, OLD_TF)) | near((ODOMETRY,))
    connections = [c for c in reader.connections if c.topic in wanted]
    for connection, _, data in reader.messages(connections=connections):
        message = reader.deserialize(data, connection.msgtype)
        yield connection.topic, connection.msgtype, message


def _log(
    path: Path,
    topic: str,
    frame: str | None,
    delay: float | None,
    messages: list[tuple[str, str, Any]],
) -> Log:
    tracks = _tracks(messages)
    scans = [message for name, _, message in messages if name == topic]
    sensor = _name(scans[0].header.frame_id)
    odometry = [message for _, kind, message in messages if kind == ODOMETRY]
    notes = _add_odometry(path, tracks, odometry, sensor)
    chain = tracks.chain(sensor)
    target = chain[-1] if frame is None else _name(frame)
    if target not in chain:
        raise LogError(
            f'{path}: {target!r} is not an ancestor of {sensor!r}, expected one of {chain[1:]}'
        )
    stamps = np.array([_seconds(scan.header.stamp) for scan in scans])
    turn = -1.0 if _hangs(sensor, messages) else 1.0

    def readings_at(earlier: float, every: int = 1) -> list[Reading]:
        times = stamps[::every]
        poses, known = tracks.poses(sensor, target, times - earlier, TOLERANCE)
        # The pose that makes walls sharp is that of the middle of a sweep.
        half = np.array([0.5 * s.time_increment * len(s.ranges) for s in scans[::every]])
        begins, begun = tracks.poses(sensor, target, times - earlier - half, TOLERANCE)
        ends, ended = tracks.poses(sensor, target, times - earlier + half, TOLERANCE)
        readings = []
        for i in np.flatnonzero(known):
            read = _reading(f'{path}: {topic}', scans[::every][i], times[i], poses[i], turn)
            if half[i] > 0 and begun[i] and ended[i]:
                read = replace(read, sweep=(as_pose(begins[i]), as_pose(ends[i])))
            readings.append(read)
        return readings

    if delay is None:
        every = max(1, len(scans) // SCANS)
        delay = find_delay(lambda earlier: readings_at(earlier, every))
        notes += [f'scans are assumed to be stamped {delay:g} s late'] if delay else []
    readings = readings_at(delay)
    if not readings:
        raise LogError(f'{path}: {topic}: none of {len(scans)} scans has a pose at its time')
    if len(readings) < len(scans):
        missing = len(scans) - len(readings)
        notes.append(f'{missing} of {len(scans)} scans have no pose and are skipped')
    truth = next((_grid(message) for name, _, message in messages if name == TRUTH), None)
    name = path.stem if path.is_file() else path.name
    return Log(name, in_order(readings), truth, tuple(notes))


def _tracks(messages: list[tuple[str, str, Any]]) -> Tracks:
    tracks = Tracks()
    for name, kind, message in messages:
        for link in message.transforms if kind in (TF, OLD_TF) else ():
            pose = _pose(link.transform.translation, link.transform.rotation)
            _add(tracks, link, pose, fixed=name.endswith('_static'))
    return tracks


def _hangs(sensor: str, messages: list[tuple[str, str, Any]]) -> bool:
    """Tell whether the laser is mounted upside down, so that it scans in reverse."""
    mounts = [
        link.transform.rotation
        for _, kind, message in messages
        for link in (message.transforms if kind in (TF, OLD_TF) else ())
        if _name(link.child_frame_id) == sensor
    ]
    return bool(mounts) and mounts[-1].x ** 2 + mounts[-1].y ** 2 > 0.5


def _add_odometry(path: Path, tracks: Tracks, odometry: list[Any], sensor: str) -> list[str]:
    """Use odometry if TF has no moving transform; return the assumptions made."""
    if tracks.moves(sensor):
        return []
    if not odometry:
        raise LogError(
            f'{path}: no poses: neither TF from a fixed frame to {sensor!r} nor odometry; '
            'record /tf and /tf_static with the scans'
        )
    for message in odometry:
        pose = _pose(message.pose.pose.position, message.pose.pose.orientation)
        _add(tracks, message, pose, fixed=False)
    base = _name(odometry[0].child_frame_id)
    if base in tracks.chain(sensor):
        return []
    tracks.add(base, sensor, 0.0, (0.0, 0.0, 0.0), fixed=True)
    return [f'no transform from {base!r} to {sensor!r}: the laser is assumed to be at the base']


def _add(tracks: Tracks, link: Any, pose: Pose, *, fixed: bool) -> None:
    parent, frame = _name(link.header.frame_id), _name(link.child_frame_id)
    tracks.add(parent, frame, _seconds(link.header.stamp), pose, fixed=fixed)


def _reading(where: str, scan: Any, stamp: float, pose: Floats, turn: float) -> Reading:
    x, y, yaw = pose.tolist()
    try:
        taken = Scan(
            np.asarray(scan.ranges, np.float64),
            turn * scan.angle_min,
            turn * scan.angle_increment,
            scan.range_min,
            scan.range_max,
        )
        return Reading(float(stamp), taken, (x, y, yaw))
    except ValueError as error:
        raise LogError(f'{where}, scan at {stamp:.3f} s: {error}') from None


def _grid(message: Any) -> OccupancyMap:
    info = message.info
    cells = np.asarray(message.data, np.int8).reshape(info.height, info.width)
    origin = _pose(info.origin.position, info.origin.orientation)
    return OccupancyMap(cells, info.resolution, origin)


def _pose(position: Any, rotation: Any) -> Pose:
    return position.x, position.y, yaw_of(rotation.x, rotation.y, rotation.z, rotation.w)


def _seconds(stamp: Any) -> float:
    return float(stamp.sec) + float(stamp.nanosec) * 1e-9


def _name(frame: str) -> str:
    """Return a frame's name; ROS 1 allowed a slash before it."""
    return frame.lstrip('/')
