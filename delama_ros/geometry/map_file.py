"""Maps as nav2 keeps them: a map.yaml beside a PGM or PNG picture."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import yaml
from PIL import Image

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import OCCUPIED, UNKNOWN, Bools, Cells, Floats, OccupancyMap

MODES = ('trinary', 'scale', 'raw')


def read_map(file: str | Path) -> OccupancyMap:
    """Read map.yaml and its picture, as nav2_map_server does in every mode."""
    path = Path(file)
    fields = _fields(path)
    picture = path.parent / str(fields['image'])
    mode = str(fields.get('mode', 'trinary'))
    if mode not in MODES:
        raise PlanError(f'{path}: mode is {mode!r}, expected one of {", ".join(MODES)}')
    resolution = _number(path, fields, 'resolution')
    negate = _number(path, fields, 'negate', 0)
    if negate not in (0, 1):
        raise PlanError(f'{path}: negate is {negate:g}, expected 0 or 1')
    occupied = _number(path, fields, 'occupied_thresh', 0.65)
    free = _number(path, fields, 'free_thresh', 0.25)
    if not 0 <= free < occupied <= 1:
        raise PlanError(
            f'{path}: free_thresh is {free} and occupied_thresh {occupied}, '
            'expected 0 <= free_thresh < occupied_thresh <= 1'
        )
    origin = fields['origin']
    if not isinstance(origin, list) or len(origin) != 3:
        raise PlanError(f'{path}: origin is {origin!r}, expected [x, y, yaw]')
    x, y, yaw = (_number(path, {'origin': value}, 'origin') for value in origin)
    shade, opaque = _shades(path, picture, mode)
    if mode == 'raw':
        cells = np.where(shade <= OCCUPIED, shade, UNKNOWN).astype(np.int8)
    else:
        cells = _interpreted(shade, opaque, mode, bool(negate), free, occupied)
    try:
        return OccupancyMap(np.ascontiguousarray(cells[::-1]), resolution, (x, y, yaw))
    except PlanError as error:
        raise PlanError(f'{path}: {error}') from None


def write_map(occupancy: OccupancyMap, file: str | Path, *, mode: str = 'trinary') -> Path:
    """Write FILE.yaml and FILE.pgm beside it; returns the path of the yaml.

    Trinary keeps free, occupied and unknown; scale and raw keep probabilities too (scale as PNG,
    where transparency marks the unknown). Both files appear whole or not at all.
    """
    if mode not in MODES:
        raise PlanError(f'map mode is {mode!r}, expected one of {", ".join(MODES)}')
    path = Path(file).with_suffix('.yaml')
    cells = occupancy.cells[::-1]
    known = np.clip(cells, 0, 100).astype(np.float64)
    if mode == 'raw':
        picture = Image.fromarray(np.where(cells < 0, 255, known).astype(np.uint8))
    elif mode == 'scale':
        shade = np.round(255 - known * 2.55).astype(np.uint8)
        alpha = np.where(cells < 0, 0, 255).astype(np.uint8)
        picture = Image.fromarray(np.stack([shade, alpha], -1), 'LA')
    else:
        trinary = np.select([cells < 0, cells >= 65, cells <= 25], [205, 0, 254], 205)
        picture = Image.fromarray(trinary.astype(np.uint8))
    kind = 'png' if mode == 'scale' else 'pgm'
    image = path.with_suffix(f'.{kind}')
    write_whole(image, lambda f: picture.save(f, 'PNG' if kind == 'png' else 'PPM'))
    x, y, yaw = occupancy.origin
    free = 0.0 if mode == 'scale' else 0.196
    text = (
        f'image: {image.name}\nmode: {mode}\nresolution: {occupancy.resolution!r}\n'
        f'origin: [{x!r}, {y!r}, {yaw!r}]\nnegate: 0\n'
        f'occupied_thresh: {1.0 if mode == "scale" else 0.65}\nfree_thresh: {free}\n'
    )
    write_whole(path, lambda f: f.write(text.encode()))
    return path


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under another name and move it into place, so nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f'.{path.name}.', dir=path.parent)
    try:
        with os.fdopen(handle, 'wb') as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _fields(path: Path) -> dict[str, object]:
    try:
        fields = yaml.safe_load(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise PlanError(f'{path}: cannot be read: {error.strerror}') from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PlanError(f'{path}: is not YAML: {" ".join(str(error).split())}') from None
    if not isinstance(fields, dict):
        raise PlanError(f'{path}: is not a map, expected image, resolution and origin')
    for name in ('image', 'resolution', 'origin'):
        if name not in fields:
            raise PlanError(f'{path}: {name} is missing')
    return fields


def _number(
    path: Path, fields: dict[str, object], name: str, default: float | None = None
) -> float:
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PlanError(f'{path}: {name} is {value!r}, expected a number')
    return float(value)


def _shades(path: Path, picture: Path, mode: str) -> tuple[Floats, Bools]:
    """Grey values 0..255 (rows, cols), top row first, and where the picture is opaque."""
    try:
        with Image.open(picture) as image:
            image.load()
            rgba = np.asarray(image.convert('RGBA'), np.float64)
            see_through = image.has_transparency_data
    except FileNotFoundError:
        raise PlanError(f'{path}: its image {picture} does not exist') from None
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise PlanError(f'{path}: its image {picture} cannot be read: {reason}') from None
    # nav2 averages the colours of a pixel, and in trinary mode its opacity with them.
    channels = 4 if mode == 'trinary' and see_through else 3
    return rgba[..., :channels].mean(-1), rgba[..., 3] == 255


def _interpreted(
    shade: Floats,
    opaque: Bools,
    mode: str,
    negate: bool,
    free: float,
    occupied: float,
) -> Cells:
    darkness = shade / 255 if negate else (255 - shade) / 255
    between = (
        np.round((darkness - free) / (occupied - free) * 100)
        if mode == 'scale'
        else np.full(shade.shape, float(UNKNOWN))
    )
    cells = np.where(darkness > occupied, OCCUPIED, np.where(darkness < free, 0, between))
    if mode == 'scale':
        cells = np.where(opaque, cells, UNKNOWN)
    return cells.astype(np.int8)
