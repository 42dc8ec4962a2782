"""A corridor with rooms that are all alike, in which maps fit onto each other in many ways."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, OccupancyMap
from delama_sim.plans.plan import Plan

SPEC = re.compile(r'rooms:(\d{1,3})((?::[a-z_]+(?:=\d{1,3})?)*)')
EXPECTED = 'rooms:N, then any of :furnished, :one_side and :marked=ROOM'
WALL, DOOR = 0.2, 0.9  # m
BLOCK = 1.0, 0.7  # m, along and across the corridor


def load_rooms(spec: str, resolution: float) -> Plan:
    """Load the plan that a text such as rooms:8, rooms:8:furnished or rooms:8:marked=3 names.

    Raises:
        PlanError: if the text names none.
    """
    found = SPEC.fullmatch(spec)
    if found is None:
        raise PlanError(f'plan {spec!r}, expected {EXPECTED}')
    rooms, options = int(found[1]), found[2].split(':')[1:]
    flags = {option for option in options if '=' not in option}
    marked = {int(o.removeprefix('marked=')) for o in options if o.startswith('marked=')}
    if len(flags) + len(marked) < len(options) or not flags <= {'furnished', 'one_side'}:
        raise PlanError(f'plan {spec!r}, expected {EXPECTED}')
    sides = 1 if 'one_side' in flags else 2
    every = range(1, sides * rooms + 1)
    if not rooms or not marked <= set(every):
        raise PlanError(f'plan {spec!r}, expected 1 room or more, marked up to {len(every)}')
    if 'furnished' in flags:
        marked = set(every) - marked
    drawn = repeated_rooms(rooms, sides=sides, marked=marked, resolution=resolution)
    return Plan(spec, drawn, rooms=len(every) + 1, ready=True)


def repeated_rooms(
    rooms: int = 8,
    *,
    size: tuple[float, float] = (3.6, 4.2),
    corridor: float = 1.8,
    sides: int = 2,
    marked: Collection[int] = (),
    resolution: float = 0.05,
) -> OccupancyMap:
    """Draw a corridor with identical rooms: every other shift by a room, or half a turn, fits.

    Args:
        rooms: along the corridor.
        size: of a room, along and across the corridor, in m.
        corridor: width in m.
        sides: 2: rooms on both sides of it; 1: on one.
        marked: rooms with a block in them, counted from 1 along one side and then the other.
        resolution: m per cell.

    """
    step = resolution
    pitch = size[0] + WALL
    width = rooms * pitch + WALL
    height = corridor + sides * (size[1] + WALL) + 2 * WALL
    cells = np.full((round(height / step) + 2, round(width / step) + 2), OCCUPIED, np.int8)

    def fill(x0: float, y0: float, x1: float, y1: float, value: int = FREE) -> None:
        a, b, c, d = (round(v / step) for v in (y0, y1, x0, x1))
        cells[a:b, c:d] = value

    low = WALL + size[1] + WALL if sides == 2 else WALL
    fill(WALL, low, width - WALL, low + corridor)
    for k in range(rooms * sides):
        x = WALL + (k % rooms) * pitch
        upper = k < rooms
        y = low + corridor + WALL if upper else WALL
        fill(x, y, x + size[0], y + size[1])
        # The upper and lower side are turned by half a turn against each other.
        gate = x + 0.6 if upper else x + size[0] - 0.6 - DOOR
        edge = low + corridor - step if upper else WALL + size[1] - step
        fill(gate, edge, gate + DOOR, edge + WALL + 2 * step)
        if k + 1 in marked:
            fill(x + 1.8, y + 1.6, x + 1.8 + BLOCK[0], y + 1.6 + BLOCK[1], OCCUPIED)
    return OccupancyMap(cells, step)
