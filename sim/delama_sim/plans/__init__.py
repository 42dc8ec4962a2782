"""Floor plans from anywhere: drawings, maps, class masks, or drawn from a seed."""

from __future__ import annotations

import re
from pathlib import Path

from delama_ros.geometry.errors import PlanError
from delama_sim.plans.plan import Plan

DIGITS = 18  # of a seed
RESOLUTION = 0.05  # m
EXPECTED = 'generated:SEED, rooms:N, a model.svg, a map.yaml, a class mask .png or a folder'


def load(spec: str | Path, resolution: float = RESOLUTION) -> Plan:
    """Load the plan that a text names.

    Args:
        spec: generated:SEED, generated:flat:SEED, generated:office:SEED, rooms:N (and options,
            see `rooms.py`), FILE.svg (all floors), FILE.svg#FLOOR, MAP.yaml, MASK.png,
            or a folder with exactly one plan in it.
        resolution: m per cell at which drawings are drawn; finer pictures are reduced to it.

    Returns:
        The plan, with its doors where the source tells them.

    Raises:
        PlanError: if there is no such plan, or the file cannot be read as one.
    """
    text = str(spec)
    if text.startswith('generated:'):
        return _generated(text, resolution)
    if text.startswith('rooms:'):
        from delama_sim.plans.rooms import load_rooms

        return load_rooms(text, resolution)
    name, _, floor = text.partition('#')
    path = Path(name)
    if path.is_dir():
        plans = find(path)
        if len(plans) != 1:
            raise PlanError(f'{path}: holds {len(plans)} plans, name one, for example {plans[0]}')
        path = plans[0]
    if not path.is_file():
        raise PlanError(f'{path}: there is no such file; expected {EXPECTED}')
    if floor and path.suffix != '.svg':
        raise PlanError(f'{text}: only a .svg has floors')
    if path.suffix == '.svg':
        from delama_sim.plans.svg import load_svg

        return load_svg(path, resolution, floor or None)
    if path.suffix in ('.yaml', '.yml'):
        from delama_ros.geometry.map_file import read_map

        return Plan(path.stem, read_map(path).reduced_to(resolution))
    if path.suffix == '.png':
        from delama_sim.plans.masks import load_mask

        return load_mask(path, resolution)
    raise PlanError(f'{path}: is not a plan; expected {EXPECTED}')


def find(folder: str | Path) -> list[Path]:
    """Return the plans in a folder and below: drawings, maps and class masks, sorted.

    Other pictures do not count.

    Raises:
        PlanError: if there is none.
    """
    root = Path(folder)
    maps = [f for f in root.rglob('*.yaml') if 'image:' in f.read_text(errors='replace')]
    masks = [f for f in root.rglob('*.png') if _is_mask(f)]
    found = [*root.rglob('*.svg'), *maps, *masks]
    if not found:
        raise PlanError(f'{root}: holds no plan, expected .svg, map .yaml or class mask .png')
    return sorted(found, key=_natural)


def _is_mask(path: Path) -> bool:
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.mode == 'P'
    except OSError:
        return False


def _natural(path: Path) -> list[str | int]:
    """Sort 2 before 13: text and numbers in turn."""
    parts = re.split(r'(\d+)', str(path))
    return [int(part) if part.isdecimal() else part for part in parts]


def _generated(text: str, resolution: float) -> Plan:
    from delama_sim.plans.generator import generate

    parts = text.split(':')[1:]
    if len(parts) not in (1, 2) or not parts[-1].isdecimal() or len(parts[-1]) > DIGITS:
        raise PlanError(
            f'plan {text!r} is not generated:SEED or generated:KIND:SEED with a whole number SEED'
        )
    return generate(int(parts[-1]), parts[0] if len(parts) == 2 else None, resolution=resolution)
