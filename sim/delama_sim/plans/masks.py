"""CubiCasa5k class masks: a palette picture with one class per pixel of 1 cm."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, Floats, OccupancyMap
from delama_sim.plans.plan import Plan

PIXEL = 0.01  # m
BACKGROUND, WALL, RAILING, LAST = 0, 2, 8, 11


def load_mask(file: str | Path, resolution: float = 0.05) -> Plan:
    """Read a mask: walls and railings occupied, background unknown, the rest free.

    Masks paint walls across doors. If an index.json lies beside the picture or one folder up, the
    door rectangles it lists for this plan are cut open; without it rooms stay closed.
    """
    path = Path(file)
    try:
        with Image.open(path) as image:
            if image.mode != 'P':
                raise PlanError(
                    f'{path}: is a {image.mode} picture, expected palette classes 0..{LAST}; '
                    'for an occupancy picture write a map.yaml beside it and give that'
                )
            classes = np.asarray(image)
    except OSError as error:
        raise PlanError(f'{path}: cannot be read: {error}') from None
    if classes.max() > LAST:
        raise PlanError(f'{path}: has class {classes.max()}, expected 0..{LAST}')
    if not (classes == WALL).any():
        raise PlanError(f'{path}: has no wall, expected pixels of class {WALL}')
    cells = np.full(classes.shape, FREE, np.int8)
    cells[classes == BACKGROUND] = UNKNOWN
    cells[(classes == WALL) | (classes == RAILING)] = OCCUPIED
    doors = _doors(path)
    for x0, y0, x1, y1 in doors or ():
        part = np.s_[round(y0) : round(y1) + 1, round(x0) : round(x1) + 1]
        cells[part] = FREE
    occupancy = OccupancyMap(np.ascontiguousarray(cells[::-1]), PIXEL)
    height = classes.shape[0]
    return Plan(
        path.stem,
        occupancy.reduced_to(resolution),
        None if doors is None else tuple(_corners(door, height) for door in doors),
    )


def _doors(path: Path) -> list[list[float]] | None:
    """Rectangles x0, y0, x1, y1 in pixels, y down."""
    for folder in (path.parent, path.parent.parent):
        index = folder / 'index.json'
        if index.is_file():
            try:
                plans = json.loads(index.read_text(encoding='utf-8'))['plans']
                if path.stem in plans:
                    return [[float(v) for v in d] for d in plans[path.stem]['door_rects_px']]
            except (ValueError, KeyError, TypeError) as error:
                raise PlanError(f'{index}: is not a plan index: {error!r}') from None
    return None


def _corners(door: list[float], height: int) -> Floats:
    x0, y0, x1, y1 = door
    corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
    corners[:, 1] = height - corners[:, 1]
    return corners * PIXEL
