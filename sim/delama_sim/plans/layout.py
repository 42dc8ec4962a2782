"""Rooms of a generated building: rectangles cut from its inside, and the doors between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

Rng = np.random.Generator


class Rect(NamedTuple):
    """An axis-parallel rectangle in metres."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """Extent along x."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """Extent along y."""
        return self.y1 - self.y0

    @property
    def area(self) -> float:
        """Square metres."""
        return self.width * self.height

    @property
    def short(self) -> float:
        """The shorter side."""
        return min(self.width, self.height)

    def transposed(self) -> Rect:
        """Swap x and y."""
        return Rect(self.y0, self.x0, self.y1, self.x1)

    def moved(self, x: float, y: float) -> Rect:
        """Shift."""
        return Rect(self.x0 + x, self.y0 + y, self.x1 + x, self.y1 + y)

    def grown(self, by: float) -> Rect:
        """Expand on all sides."""
        return Rect(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def meets(self, other: Rect) -> bool:
        """Whether the two overlap."""
        return (
            self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1
        )


@dataclass
class Layout:
    """Insides of rooms (walls are what lies between them), doors and wide openings."""

    rooms: list[Rect]
    hubs: set[int]  # rooms others open to: halls, corridors
    doors: list[Rect] = field(default_factory=list)
    openings: list[Rect] = field(default_factory=list)


@dataclass(frozen=True)
class Walls:
    """Thickness range of inner walls in metres, drawn separately for each wall."""

    thinnest: float
    thickest: float

    def draw(self, rng: Rng) -> float:
        """Thickness of one wall."""
        return float(rng.uniform(self.thinnest, self.thickest))


def cut(room: Rect, at: float, wall: float, vertical: bool) -> tuple[Rect, Rect]:
    """Split a room by a wall centred `at` (m from its left or lower side)."""
    if vertical:
        x = room.x0 + at
        return room._replace(x1=x - wall / 2), room._replace(x0=x + wall / 2)
    y = room.y0 + at
    return room._replace(y1=y - wall / 2), room._replace(y0=y + wall / 2)


def subdivide(room: Rect, rng: Rng, walls: Walls, smallest: float, largest: float) -> list[Rect]:
    """Cut recursively into rooms between about `smallest` and `largest` square metres."""
    enough = rng.uniform(smallest, largest)
    if room.area < enough or room.area < 2.2 * smallest:
        return [room]
    ratio = room.width / room.height
    vertical = bool(rng.random() < ratio**2 / (1 + ratio**2))
    if not 0.6 < ratio < 1.7:
        vertical = ratio > 1
    length = room.width if vertical else room.height
    narrowest = 1.5
    if length < 2 * narrowest + 0.3:
        return [room]
    at = float(np.clip(length * rng.uniform(0.28, 0.72), narrowest, length - narrowest))
    first, second = cut(room, at, walls.draw(rng), vertical)
    return [
        *subdivide(first, rng, walls, smallest, largest),
        *subdivide(second, rng, walls, smallest, largest),
    ]


def shared_wall(a: Rect, b: Rect) -> Rect | None:
    """Return the stretch of wall between two neighbouring rooms, or None."""
    thickest = 0.6
    for first, second in ((a, b), (b, a)):
        y0, y1 = max(a.y0, b.y0), min(a.y1, b.y1)
        if 0 < second.x0 - first.x1 < thickest and y1 > y0:
            return Rect(first.x1, y0, second.x0, y1)
        x0, x1 = max(a.x0, b.x0), min(a.x1, b.x1)
        if 0 < second.y0 - first.y1 < thickest and x1 > x0:
            return Rect(x0, first.y1, x1, second.y0)
    return None


def neighbours(rooms: list[Rect], passage: float) -> dict[tuple[int, int], Rect]:
    """Walls long enough for a passage, by pair of rooms."""
    found = {}
    for i, a in enumerate(rooms):
        for j in range(i + 1, len(rooms)):
            wall = shared_wall(a, rooms[j])
            if wall is None:
                continue
            length = wall.width if _runs_along_x(a, rooms[j]) else wall.height
            if length >= passage:
                found[i, j] = wall
    return found


def passage_in(wall: Rect, along_x: bool, width: float, rng: Rng) -> Rect:
    """Place an opening of a width in a wall: mostly near one end, as architects do."""
    length = wall.width if along_x else wall.height
    slack = length - width
    edge = min(slack / 2, rng.uniform(0.1, 0.3))
    draw = rng.random()
    if draw < 0.4:
        start = edge
    elif draw < 0.8:
        start = slack - edge
    else:
        start = slack * rng.uniform(0.2, 0.8)
    if along_x:
        return Rect(wall.x0 + start, wall.y0, wall.x0 + start + width, wall.y1)
    return Rect(wall.x0, wall.y0 + start, wall.x1, wall.y0 + start + width)


def connect(layout: Layout, rng: Rng, *, open_share: float, loop_share: float) -> bool:
    """Give every room a way in: a random spanning tree that prefers hubs, and a few loops.

    Returns whether all rooms could be reached.
    """
    walls = neighbours(layout.rooms, passage=1.15)

    def reluctance(pair: tuple[int, int]) -> float:
        hub = len(layout.hubs & set(pair))
        small = min(layout.rooms[i].area for i in pair) < 5
        return float(rng.random() + (0 if hub else 1.5) + (1.0 if small and not hub else 0))

    group = list(range(len(layout.rooms)))
    extra = []
    for pair in sorted(walls, key=reluctance):
        i, j = pair
        if group[i] == group[j]:
            extra.append(pair)
            continue
        _open(layout, pair, walls[pair], rng, open_share)
        old, new = group[j], group[i]
        group = [new if g == old else g for g in group]
    for pair in extra:
        if rng.random() < loop_share:
            _open(layout, pair, walls[pair], rng, open_share)
    return len(set(group)) == 1


def _open(layout: Layout, pair: tuple[int, int], wall: Rect, rng: Rng, open_share: float) -> None:
    a, b = layout.rooms[pair[0]], layout.rooms[pair[1]]
    along_x = _runs_along_x(a, b)
    length = wall.width if along_x else wall.height
    roomy = min(a.area, b.area) > 6
    if roomy and length > 2.0 and rng.random() < open_share:
        width = min(length, rng.uniform(1.3, 3.0))
        layout.openings.append(passage_in(wall, along_x, width, rng))
    else:
        width = min(length - 0.15, rng.uniform(0.8, 1.0))
        layout.doors.append(passage_in(wall, along_x, width, rng))


def _runs_along_x(a: Rect, b: Rect) -> bool:
    """Whether the wall between two rooms does: one room is above the other."""
    return a.y1 <= b.y0 or b.y1 <= a.y0
