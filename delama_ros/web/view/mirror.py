"""Updates for one browser: only what has changed since the last one, maps as images.

An update is one binary message: the length of a JSON text (4 bytes, little-endian), the text, and
bytes that the text refers to as [offset, length].
"""

from __future__ import annotations

import json
import math
import re
import struct
from typing import Any

import numpy as np

from delama_ros.web.view.history import Chronicle
from delama_ros.web.view.images import rounded
from delama_ros.web.view.watch import Robot, Watch


class Mirror:
    """One browser's copy of a swarm."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._sent: dict[tuple[str, str], Any] = {}
        self._bytes: list[bytes] = []
        self._size = 0

    def update(self, at: float | None) -> bytes:
        """Return what changes if the browser shows the swarm at a time, or with None as it is."""
        self._bytes, self._size = [], 0
        watch = self._watch
        with watch.lock:
            now = watch.now()
            shown = now if at is None else min(max(at, 0.0), now)
            known = [r for r in watch.robots.values() if watch.received(r, now) is not None]
            robots = sorted(known, key=_natural)
            text = {
                'title': watch.title,
                'live': watch.live,
                'progress': round(watch.progress, 3),
                'now': round(now, 2),
                'at': round(shown, 2),
                'robots': [r.namespace for r in robots],
                'changes': [c for r in robots if len(c := self._changes(r, shown)) > 1],
                'truths': [
                    {'id': topic, **picture.place, 'png': self._attach(picture.png)}
                    for topic, picture in watch.truths.items()
                    if self._is_new('truth', topic, hash(picture.png))
                ],
                'log': self._growth('log', '', watch.log, shown),
                # The whole curve is shown at any time, with a mark at the time shown.
                'scores': self._growth('scores', '', watch.scores, math.inf),
            }
        head = json.dumps(text, separators=(',', ':')).encode()
        return b''.join([struct.pack('<I', len(head)), head, *self._bytes])

    def _changes(self, robot: Robot, at: float) -> dict[str, Any]:
        name = robot.namespace
        change: dict[str, Any] = {'id': name}
        state = robot.states.at(at)
        row = robot.rows.at(at)
        facts = {
            'name': robot.name,
            'received': self._watch.received(robot, at) is not None,
            'silent': round(self._watch.silence(robot, at)),
            'row': row.value if row else None,
            'state': state.value if state else None,
        }
        if self._is_new('facts', name, json.dumps(facts)):
            change['facts'] = facts
        picture = robot.maps.at(at)
        if self._is_new('map', name, picture.number if picture else None):
            change['map'] = picture and {
                **picture.value.place,
                'png': self._attach(picture.value.png),
            }
        place = robot.places.at(at)
        if self._is_new('place', name, place.number if place else None):
            change['place'] = place and {
                'pose': rounded(place.value.pose),
                'points': self._attach(place.value.points),
            }
        trail = self._growth('trail', name, robot.trail, at)
        if trail:
            points = np.array(trail['new'], '<f4').tobytes()
            change['trail'] = {'from': trail['from'], 'new': self._attach(points)}
        return change

    def _growth(self, kind: str, name: str, whole: Chronicle[Any], at: float) -> Any:
        """Return how many old values stay and which follow; None if nothing has changed."""
        edition, sent = self._sent.get((kind, name), (whole.edition, 0))
        count = whole.count(at)
        if not self._is_new(kind, name, (whole.edition, count)):
            return None
        first = min(sent, count) if edition == whole.edition else 0
        return {'from': first, 'new': whole.part(first, count)}

    def _is_new(self, kind: str, name: str, value: Any) -> bool:
        if (kind, name) in self._sent and self._sent[kind, name] == value:
            return False
        self._sent[kind, name] = value
        return True

    def _attach(self, data: bytes) -> list[int]:
        self._bytes.append(data)
        self._size += len(data)
        return [self._size - len(data), len(data)]


def _natural(robot: Robot) -> list[Any]:
    """Sort robot2 before robot10."""
    parts = re.split(r'(\d+)', robot.name)
    return [*(int(p) if i % 2 else p for i, p in enumerate(parts)), '', robot.namespace]
