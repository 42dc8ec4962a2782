"""Floor plans drawn from a seed: flats and offices with rooms, corridors, doors and furniture."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import ndimage

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, Cells, OccupancyMap
from delama_sim.plans.furniture import furnish
from delama_sim.plans.layout import Layout, Rect, Rng, Walls, connect, cut, subdivide
from delama_sim.plans.plan import Plan

# Inner walls as drawn. Thickened by 5 cm a side for mapping they are 0.15-0.35 m thick, which is
# what makes features learned here carry over to real plans.
INNER = (0.06, 0.25)
OUTER = (0.25, 0.45)
SMALLEST = 37.0  # m² of free space; as the smallest real plans have
FEWEST_DOORS = 4
KINDS = ('flat', 'office')


def generate(
    seed: int,
    kind: str | None = None,
    *,
    frame: float = 15.0,
    resolution: float = 0.05,
    furniture: bool = True,
) -> Plan:
    """Draw one plan; the same arguments always give the same plan.

    Args:
        seed: 0 or more.
        kind: 'flat' or 'office'; by default the seed decides.
        frame: m, side of the square map that the building is placed in at random; at least 8.
        resolution: m per cell.
        furniture: whether the rooms are furnished.

    Returns:
        The plan, with its doors and the number of its rooms.

    Raises:
        PlanError: if seed, kind or frame is not one of these.
    """
    if seed < 0:
        raise PlanError(f'generated plan has seed {seed}, expected 0 or more')
    if kind is not None and kind not in KINDS:
        raise PlanError(f'generated plan has kind {kind!r}, expected one of {", ".join(KINDS)}')
    if frame < 8:
        raise PlanError(f'generated plan has a frame of {frame} m, expected at least 8')
    rng = np.random.default_rng([seed, 0x91A7])
    chosen = kind or ('flat' if rng.random() < 0.7 else 'office')
    draw: Callable[[Rng, float], Layout | None] = _flat if chosen == 'flat' else _office
    while True:  # a draft that cannot be connected is thrown away
        layout = draw(rng, frame - 1.4)
        if layout is None:
            continue
        built = _build(layout, rng, frame, resolution, furniture)
        if built is None:
            continue
        occupancy, doors = built
        if len(doors) >= FEWEST_DOORS and occupancy.free.sum() * resolution**2 >= SMALLEST:
            name = f'generated:{kind}:{seed}' if kind else f'generated:{seed}'
            return Plan(name, occupancy, doors, len(layout.rooms))


def _flat(rng: Rng, limit: float) -> Layout | None:
    area = float(np.clip(rng.lognormal(math.log(72), 0.32), 46, min(150, limit**2 * 0.8)))  # m²
    aspect = rng.uniform(0.62, 1.0)
    long, short = math.sqrt(area / aspect), math.sqrt(area * aspect)
    if long > limit:
        long, short = limit, min(limit, area / limit)
    whole = Rect(0, 0, long, short)
    walls = Walls(*sorted(rng.uniform(*INNER, 2)))
    hubs: set[int] = set()
    if rng.random() < 0.65 and short > 5.6:
        rooms = _around_hall(whole, rng, walls)
        hubs.add(0)
    else:
        rooms = subdivide(whole, rng, walls, smallest=4.0, largest=22.0)
        hubs.add(int(np.argmax([r.area for r in rooms])))
    rooms, hubs = _notch(rooms, hubs, whole, rng)
    layout = Layout(rooms, hubs)
    if len(rooms) < 4 or not connect(layout, rng, open_share=0.2, loop_share=0.12):
        return None
    return layout


def _around_hall(whole: Rect, rng: Rng, walls: Walls) -> list[Rect]:
    """Hall first, then the rooms on both sides of it, then a living room across its end."""
    rooms = []
    if rng.random() < 0.6:
        at = whole.width * rng.uniform(0.55, 0.72)
        whole, living = cut(whole, at, walls.draw(rng), vertical=True)
        rooms = subdivide(living, rng, walls, smallest=7.0, largest=34.0)
    width = rng.uniform(1.15, 1.7)
    low = rng.uniform(2.0, whole.height - width - 2.0)
    below, rest = cut(whole, low, walls.draw(rng), vertical=False)
    hall, above = cut(rest, width, walls.draw(rng), vertical=False)
    sides = [
        room
        for side in (below, above)
        for room in subdivide(side, rng, walls, smallest=3.4, largest=18.0)
    ]
    return [hall, *sides, *rooms]


def _notch(rooms: list[Rect], hubs: set[int], whole: Rect, rng: Rng) -> tuple[list[Rect], set[int]]:
    """Leave out corner rooms now and then, so that outlines are not all rectangles."""
    keep = list(range(len(rooms)))
    for x, y in ((whole.x0, whole.y0), (whole.x1, whole.y0), (whole.x0, whole.y1)):
        corner = [
            i
            for i in keep
            if min(abs(rooms[i].x0 - x), abs(rooms[i].x1 - x)) < 1e-9
            and min(abs(rooms[i].y0 - y), abs(rooms[i].y1 - y)) < 1e-9
        ]
        small = [i for i in corner if rooms[i].area < 0.2 * whole.area and i not in hubs]
        if small and len(keep) > 5 and rng.random() < 0.3:
            keep.remove(small[0])
    return [rooms[i] for i in keep], {keep.index(i) for i in hubs}


def _office(rng: Rng, limit: float) -> Layout | None:
    long = rng.uniform(min(10.5, 0.8 * limit), limit)
    short = rng.uniform(0.55, 0.95) * long
    whole = Rect(0, 0, long, max(short, 7.5))
    walls = Walls(*sorted(rng.uniform(*INNER, 2)))
    corridors, zones = [], []
    width = rng.uniform(1.5, 2.3)
    low = rng.uniform(0.3, 0.7) * (whole.height - width)
    below, rest = cut(whole, max(2.4, low), walls.draw(rng), vertical=False)
    corridor, above = cut(rest, width, walls.draw(rng), vertical=False)
    corridors.append(corridor)
    for zone in (below, above):
        if zone.height > 6.5 and rng.random() < 0.7:
            # a side corridor serves the offices of a deep zone
            at = rng.uniform(0.35, 0.65) * zone.width
            left, rest = cut(zone, at - 0.75, walls.draw(rng), vertical=True)
            aisle, right = cut(rest, rng.uniform(1.4, 1.8), walls.draw(rng), vertical=True)
            corridors.append(aisle)
            zones += [left, right]
        else:
            zones.append(zone)
    offices: list[Rect] = []
    for zone in zones:
        offices += _row(zone, rng, walls)
    layout = Layout([*corridors, *offices], set(range(len(corridors))))
    if not connect(layout, rng, open_share=0.12, loop_share=0.08):
        return None
    return layout


def _row(zone: Rect, rng: Rng, walls: Walls) -> list[Rect]:
    """Offices side by side along the longer side of a zone; now and then an open-plan one."""
    vertical = zone.width >= zone.height
    depth = zone.short
    offices = []
    rest = zone
    while True:
        length = rest.width if vertical else rest.height
        wide = rng.random() < 0.22
        at = rng.uniform(4.5, 7.5) if wide else rng.uniform(2.3, 4.0)
        if length < at + 2.2:
            break
        office, rest = cut(rest, at, walls.draw(rng), vertical)
        offices.append(office)
    offices.append(rest)
    if depth > 5.5:  # deep rows: split some offices into a front and a back room
        halves: list[Rect] = []
        for office in offices:
            if office.short > 2.0 and rng.random() < 0.5:
                at = depth * rng.uniform(0.4, 0.6)
                halves += cut(office, at, walls.draw(rng), not vertical)
            else:
                halves.append(office)
        offices = halves
    return offices


def _build(
    layout: Layout, rng: Rng, frame: float, resolution: float, furniture: bool
) -> tuple[OccupancyMap, tuple[np.ndarray, ...]] | None:
    """Place the building in the frame and draw it; None if a robot could not reach every room."""
    outer = rng.uniform(*OUTER)
    _add_entrances(layout, outer, rng)
    if rng.random() < 0.5:
        layout = _mapped(layout, Rect.transposed)
    x1, y1 = max(r.x1 for r in layout.rooms), max(r.y1 for r in layout.rooms)
    x0, y0 = min(r.x0 for r in layout.rooms), min(r.y0 for r in layout.rooms)
    margin = outer + 0.2
    dx = rng.uniform(margin - x0, frame - margin - x1)
    dy = rng.uniform(margin - y0, frame - margin - y1)
    layout = _mapped(layout, lambda r: r.moved(dx, dy))

    cells = np.full((round(frame / resolution),) * 2, UNKNOWN, np.int8)
    for room in layout.rooms:
        _fill(cells, room.grown(outer), resolution, OCCUPIED)
    for room in layout.rooms:
        _fill(cells, room, resolution, FREE)
    for gap in layout.doors + layout.openings:
        _fill(cells, gap.grown(resolution / 2), resolution, FREE)
    if not _connected(cells, resolution):
        return None
    if furniture:
        for piece in furnish(layout, rng):
            before = cells.copy()
            _fill(cells, piece, resolution, OCCUPIED)
            if not _connected(cells, resolution):
                cells = before
    corners = tuple(
        np.array([(d.x0, d.y0), (d.x1, d.y0), (d.x1, d.y1), (d.x0, d.y1)]) for d in layout.doors
    )
    return OccupancyMap(cells, resolution), corners


def _add_entrances(layout: Layout, outer: float, rng: Rng) -> None:
    """Cut one or two doors through the outer wall, preferably into a hall."""
    rooms = layout.rooms
    wanted = 1 if rng.random() < 0.7 else 2
    first = sorted(layout.hubs)
    others = [int(i) for i in rng.permutation(len(rooms)) if i not in layout.hubs]
    for i in [*first, *others]:
        room, width = rooms[i], rng.uniform(0.85, 1.0)
        for side in rng.permutation(4):
            along_x = side < 2
            length = room.width if along_x else room.height
            if length < width + 0.1:
                continue
            at = rng.uniform(0.05, length - width - 0.05)
            door = {
                0: Rect(room.x0 + at, room.y0 - outer, room.x0 + at + width, room.y0),
                1: Rect(room.x0 + at, room.y1, room.x0 + at + width, room.y1 + outer),
                2: Rect(room.x0 - outer, room.y0 + at, room.x0, room.y0 + at + width),
                3: Rect(room.x1, room.y0 + at, room.x1 + outer, room.y0 + at + width),
            }[int(side)]
            if not any(door.grown(0.1).meets(r) for j, r in enumerate(rooms) if j != i):
                layout.doors.append(door)
                wanted -= 1
                break
        if wanted == 0:
            return


def _mapped(layout: Layout, change: Callable[[Rect], Rect]) -> Layout:
    return Layout(
        [change(r) for r in layout.rooms],
        layout.hubs,
        [change(r) for r in layout.doors],
        [change(r) for r in layout.openings],
    )


def _fill(cells: Cells, rect: Rect, resolution: float, value: int) -> None:
    """Set the cells whose centres lie in a rectangle."""
    x0, y0, x1, y1 = (max(0, math.ceil(v / resolution - 0.5)) for v in rect)
    cells[y0:y1, x0:x1] = value


def _connected(cells: Cells, resolution: float, body: float = 0.55) -> bool:
    """Whether a square robot of a width can drive from anywhere it fits to anywhere it fits."""
    window = 2 * round(body / 2 / resolution) + 1
    roomy = ndimage.minimum_filter((cells == FREE).view(np.uint8), window, cval=0)
    count: int = ndimage.label(roomy)[1]
    return count == 1
