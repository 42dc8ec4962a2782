"""CubiCasa5k model.svg: walls, railings, columns, doors, windows and rooms as polygons."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, Floats, OccupancyMap
from delama_sim.plans.plan import Plan
from delama_sim.plans.raster import fill_polygon

METRES = 0.01  # per SVG unit
LARGEST = 500.0  # m along a side
MARGIN = 0.5  # m of unknown around a plan
SOLID = ('Wall', 'Railing', 'Column')
OPENINGS = ('Door', 'Window')  # children of walls


@dataclass
class Floor:
    """Polygons (n, 2) of one floor by kind, in SVG units, y down."""

    name: str
    polygons: dict[str, list[Floats]] = field(
        default_factory=lambda: {kind: [] for kind in (*SOLID, *OPENINGS, 'Space')}
    )

    def __getitem__(self, kind: str) -> list[Floats]:
        return self.polygons[kind]


def read_svg(file: str | Path) -> list[Floor]:
    """Read all floors of a model.svg, hidden ones too."""
    path = Path(file)
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise PlanError(f'{path}: cannot be read: {error.strerror}') from None
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise PlanError(f'{path}: is not well-formed XML: {error}') from None
    try:
        floors = [
            _floor(path, element, matrix)
            for element, matrix in _walk(path, root, np.eye(3))
            if _kind(element) == 'Floorplan'
        ]
    except RecursionError:
        raise PlanError(f'{path}: elements are nested too deeply') from None
    if not floors:
        raise PlanError(f'{path}: has no floor, expected an element g with class "Floorplan"')
    return floors


def load_svg(file: str | Path, resolution: float = 0.05, floor: str | None = None) -> Plan:
    """Draw one floor, or all floors as they lie on the page.

    Walls, railings and columns are occupied (windows too, to a LiDAR), door openings and rooms
    free, the rest unknown. The origin is the lower left corner of the drawing.
    """
    path = Path(file)
    floors = read_svg(path)
    if floor is not None:
        names = [f.name for f in floors]
        floors = [f for f in floors if f.name == floor]
        if not floors:
            raise PlanError(f'{path}: has no floor {floor!r}, its floors are {", ".join(names)}')
    everything = [p for f in floors for kind in f.polygons.values() for p in kind]
    if not any(f['Wall'] for f in floors):
        raise PlanError(f'{path}: floor {floors[0].name} has no walls')
    corners = np.concatenate(everything) * METRES
    left, top = corners.min(0) - MARGIN
    right, bottom = corners.max(0) + MARGIN
    if max(right - left, bottom - top) > LARGEST:
        raise PlanError(
            f'{path}: is {right - left:g} m x {bottom - top:g} m, expected at most {LARGEST:g} m'
        )
    shape = tuple(math.ceil(v / resolution) for v in (bottom - top, right - left))

    def to_world(polygon: Floats) -> Floats:
        return np.stack([polygon[:, 0] * METRES - left, bottom - polygon[:, 1] * METRES], -1)

    cells = np.full(shape, UNKNOWN, np.int8)
    for kinds, value in ((('Space',), FREE), (SOLID, OCCUPIED), (('Door',), FREE)):
        mask = np.zeros(shape, np.bool_)
        for polygon in (p for f in floors for kind in kinds for p in f[kind]):
            fill_polygon(mask, to_world(polygon) / resolution)
        cells[mask] = value
    name = path.stem if path.name != 'model.svg' else path.parent.name
    return Plan(
        f'{name}#{floor}' if floor else name,
        OccupancyMap(cells, resolution),
        tuple(to_world(p) for f in floors for p in f['Door']),
        sum(len(f['Space']) for f in floors),
    )


def _floor(path: Path, element: ElementTree.Element, matrix: Floats) -> Floor:
    words = element.get('class', '').split()
    floor = Floor(words[1] if len(words) > 1 else element.get('id', 'Floor'))
    counts: dict[str, int] = {}
    for child in element:
        kind = _kind(child)
        if kind not in (*SOLID, 'Space'):
            continue
        here = matrix @ _transform(path, child)
        counts[kind] = counts.get(kind, 0) + 1
        label = f'{floor.name}, {kind} {counts[kind]}'
        floor[kind].append(_polygon(path, child, here, label))
        if kind != 'Wall':
            continue
        for number, opening in enumerate((c for c in child if _kind(c) in OPENINGS), 1):
            inner = here @ _transform(path, opening)
            what = _kind(opening)
            floor[what].append(_polygon(path, opening, inner, f'{label}, {what} {number}'))
    return floor


def _polygon(path: Path, group: ElementTree.Element, matrix: Floats, label: str) -> Floats:
    """Return the first polygon that is a direct child; deeper ones are drawing details."""
    shape = next((c for c in group if _tag(c) == 'polygon'), None)
    if shape is None:
        raise PlanError(f'{path}: {label} has no polygon')
    text = shape.get('points')
    if not text or not text.strip():
        raise PlanError(f'{path}: the polygon of {label} has no points')
    try:
        numbers = np.array([float(v) for v in re.split(r'[\s,]+', text.strip(' ,\t\r\n'))])
    except ValueError as error:
        raise PlanError(f'{path}: the polygon of {label} has bad points: {error}') from None
    if len(numbers) % 2 or len(numbers) < 6 or not np.isfinite(numbers).all():
        raise PlanError(
            f'{path}: the polygon of {label} has {len(numbers)} coordinates, '
            'expected at least three finite x, y pairs'
        )
    points = np.column_stack([numbers.reshape(-1, 2), np.ones(len(numbers) // 2)])
    result: Floats = (points @ (matrix @ _transform(path, shape)).T)[:, :2]
    return result


def _walk(
    path: Path, element: ElementTree.Element, matrix: Floats
) -> Iterator[tuple[ElementTree.Element, Floats]]:
    """Yield all elements from the root down to floors with their composed transforms."""
    here = matrix @ _transform(path, element)
    yield element, here
    if _kind(element) in ('Floorplan', 'FloorsCompose', 'SelectionControls'):
        return
    for child in element:
        yield from _walk(path, child, here)


def _transform(path: Path, element: ElementTree.Element) -> Floats:
    """Return the element's own transform (3, 3)."""
    matrix = np.eye(3)
    text = element.get('transform', '')
    for name, arguments in re.findall(r'(\w+)\s*\(([^)]*)\)', text):
        try:
            values = [float(v) for v in re.split(r'[\s,]+', arguments.strip())]
            matrix = matrix @ _matrix(name, values)
        except ValueError:
            raise PlanError(
                f'{path}: {_kind(element) or _tag(element)} has transform {text!r}, '
                'expected matrix, translate, scale or rotate with numbers'
            ) from None
    return matrix


def _matrix(name: str, v: list[float]) -> Floats:
    if name == 'matrix' and len(v) == 6:
        return np.array([[v[0], v[2], v[4]], [v[1], v[3], v[5]], [0, 0, 1]])
    if name == 'translate' and len(v) in (1, 2):
        return np.array([[1, 0, v[0]], [0, 1, v[1] if len(v) > 1 else 0], [0, 0, 1]])
    if name == 'scale' and len(v) in (1, 2):
        return np.diag([v[0], v[-1], 1])
    if name == 'rotate' and len(v) in (1, 3):
        c, s = math.cos(math.radians(v[0])), math.sin(math.radians(v[0]))
        x, y = v[1:] or (0.0, 0.0)
        return np.array([[c, -s, x - c * x + s * y], [s, c, y - s * x - c * y], [0, 0, 1]])
    raise ValueError(name)


def _kind(element: ElementTree.Element) -> str:
    words = element.get('class', '').split()
    return words[0] if words else ''


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition('}')[2]
