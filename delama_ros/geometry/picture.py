"""Pictures of maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from delama_ros.geometry.grid import UNKNOWN, OccupancyMap
from delama_ros.geometry.map_file import write_whole

SHADE_UNKNOWN = 200
# Colours that stay apart for colour-blind eyes.
UNKNOWN_COLOUR, FREE_COLOUR, WALL_COLOUR = (206, 212, 218), (255, 255, 255), (33, 37, 41)


def shade(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Occupancy -1, 0 .. 100 as RGB."""
    share = np.clip(values, 0, 100)[..., None] / 100.0
    colours = (1 - share) * np.array(FREE_COLOUR) + share * np.array(WALL_COLOUR)
    colours[values < 0] = UNKNOWN_COLOUR
    rounded: npt.NDArray[np.uint8] = colours.astype(np.uint8)
    return rounded


SHADES = shade(np.arange(-1, 101))  # (102, 3), unknown first


def shades(occupancy: OccupancyMap) -> npt.NDArray[np.uint8]:
    """Grey values (rows, cols), top row first: free white, occupied black, unknown grey."""
    cells = occupancy.cells[::-1].astype(np.float64)
    grey = np.where(cells == UNKNOWN, SHADE_UNKNOWN, 255 - 2.55 * np.clip(cells, 0, 100))
    return grey.astype(np.uint8)


def write_png(occupancy: OccupancyMap, file: str | Path) -> Path:
    """Write a map as a grey PNG, one pixel per cell."""
    return _save(shades(occupancy), Path(file))


def write_sheet(maps: Sequence[OccupancyMap], file: str | Path, *, columns: int = 8) -> Path:
    """Write a contact sheet: maps in rows, each in a tile as large as the largest of them."""
    height, width = (max(m.shape[axis] for m in maps) + 6 for axis in (0, 1))
    rows = math.ceil(len(maps) / columns)
    sheet = np.full((rows * height, columns * width), SHADE_UNKNOWN, np.uint8)
    for k, occupancy in enumerate(maps):
        tile = shades(occupancy)
        top, left = k // columns * height + 3, k % columns * width + 3
        sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return _save(sheet, Path(file))


def _save(grey: npt.NDArray[np.uint8], path: Path) -> Path:
    write_whole(path, lambda f: Image.fromarray(grey).save(f, 'PNG', optimize=True))
    return path
