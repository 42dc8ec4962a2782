"""`delama plan`: show, describe and convert floor plans."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.errors import UserError
from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import UNKNOWN, OccupancyMap
from delama_ros.geometry.map_file import MODES, write_map
from delama_ros.geometry.picture import write_png, write_sheet
from delama_ros.output import print_table, write_json
from delama_sim.plans import RESOLUTION, find, load
from delama_sim.plans.plan import Plan

EXAMPLES = """examples:
  delama plan generated:7                              describe and draw the plan of seed 7
  delama plan generated:office:3 --map office.yaml     as a nav2 map: office.yaml and office.pgm
  delama plan rooms:4:marked=3                         rooms that are alike, but for one
  delama plan model.svg#Floor-2 --png upstairs.png     one floor of a CubiCasa5k drawing
  delama plan map.yaml --thicken 0.05 --blocks 3 --map hard.yaml
  delama plan cubicasa5k/high_quality --png sheet.png  a table and a contact sheet of a folder"""

LIMITS = {'resolution': (0.005, 1.0), 'thicken': (0, 1), 'drop': (0, 1e6), 'blocks': (0, 1000)}
COLUMNS = 76  # of the picture in the terminal
BLOCKS = {(0, 0): ' ', (1, 0): '▀', (0, 1): '▄', (1, 1): '█'}


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `plan` subcommand."""
    parser = subparsers.add_parser(
        'plan',
        help='show, describe and convert floor plans',
        description='Read a floor plan, edit it on request, describe and draw it, and write it as '
        'a nav2 map or a picture. For a folder, list all its plans.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'plan',
        metavar='PLAN',
        help='generated:SEED, generated:flat:SEED, generated:office:SEED, rooms:N, a CubiCasa5k '
        'model.svg (or FILE#FLOOR), a nav2 map.yaml, a CubiCasa5k class mask .png, or a folder of '
        'them',
    )
    parser.add_argument(
        '--resolution', type=float, default=RESOLUTION, metavar='M',
        help='resolution, m per cell (default 0.05)',
    )
    parser.add_argument(
        '--thicken', type=float, default=0.0, metavar='M',
        help='thicken walls by M metres on every side',
    )
    parser.add_argument(
        '--drop', type=float, default=0.0, metavar='M2',
        help='remove free-standing structures smaller than M2 (m²)',
    )
    parser.add_argument(
        '--blocks', type=int, default=0, metavar='N', help='add N furniture-like blocks'
    )
    parser.add_argument('--seed', type=int, default=0, help='random seed of the blocks (default 0)')
    parser.add_argument('--map', metavar='FILE', help='write FILE.yaml and its image for nav2')
    parser.add_argument(
        '--mode', choices=MODES, default='trinary', help='nav2 map mode (default trinary)'
    )
    parser.add_argument(
        '--png', metavar='FILE', help='write a picture; for a folder, one of all plans'
    )
    parser.add_argument('--json', metavar='FILE', help='write the description to FILE')
    parser.add_argument('--quiet', action='store_true', help='print nothing')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, edit, write, describe."""
    for name, (low, high) in LIMITS.items():
        if not low <= (value := getattr(args, name)) <= high:
            raise UserError(f'--{name} is {value}, expected {low:g} to {high:g}')
    try:
        whole_folder = Path(args.plan).is_dir()
        sources: list[str] = [str(p) for p in find(args.plan)] if whole_folder else [args.plan]
        plans = [_edited(load(source, args.resolution), args) for source in sources]
    except PlanError as error:
        raise UserError(str(error)) from error
    figures = {source: describe(plan) for source, plan in zip(sources, plans, strict=True)}
    _write(args, plans, figures)
    if not args.quiet:
        rows = [[source, *(_shown(v) for v in row.values())] for source, row in figures.items()]
        print_table(['plan', *next(iter(figures.values()))], rows)
        if len(plans) == 1:
            print(draw(plans[0].map))
    return 0


def describe(plan: Plan) -> dict[str, float | None]:
    """Return figures of a plan in m, m² and counts; None where unknown."""
    from scipy import ndimage

    occupancy = plan.map
    cell = occupancy.resolution**2
    labels, _ = ndimage.label(occupancy.free)
    parts = np.bincount(labels.ravel())[1:]
    free = int(occupancy.free.sum())
    return {
        'width m': round(occupancy.size[0], 3),
        'height m': round(occupancy.size[1], 3),
        'free m2': round(free * cell, 2),
        'solid m2': round(int(occupancy.solid.sum()) * cell, 2),
        'rooms': plan.rooms,
        'doors': None if plan.doors is None else len(plan.doors),
        'connected': round(float(parts.max()) / free, 3) if free else 0.0,
    }


def draw(occupancy: OccupancyMap, columns: int = COLUMNS) -> str:
    """Draw walls with block characters, two rows of cells per line."""
    known = np.argwhere(occupancy.cells != UNKNOWN)
    if not len(known):
        return '(nothing known)'
    (top, left), (bottom, right) = known.min(0), known.max(0) + 1
    solid = occupancy.solid[top:bottom, left:right][::-1]
    step = max(1, -(-solid.shape[1] // columns))
    rows, cols = (-(-n // (step * k)) * step * k for n, k in zip(solid.shape, (2, 1), strict=True))
    padded = np.zeros((rows, cols), np.bool_)
    padded[: solid.shape[0], : solid.shape[1]] = solid
    small = padded.reshape(rows // step, step, cols // step, step).mean((1, 3)) >= 0.2
    lines = (
        ''.join(BLOCKS[int(a), int(b)] for a, b in zip(upper, lower, strict=True))
        for upper, lower in zip(small[::2], small[1::2], strict=True)
    )
    return '\n'.join(line.rstrip() for line in lines)


def _edited(plan: Plan, args: argparse.Namespace) -> Plan:
    if not (args.thicken or args.drop or args.blocks):
        return plan
    from delama_sim.plans.edit import add_blocks, drop_small, thicken_walls

    occupancy = drop_small(plan.map, args.drop) if args.drop else plan.map
    occupancy = thicken_walls(occupancy, args.thicken)
    rng = np.random.default_rng(args.seed)
    return plan.with_map(add_blocks(occupancy, args.blocks, rng))


def _write(
    args: argparse.Namespace, plans: list[Plan], figures: dict[str, dict[str, float | None]]
) -> None:
    if args.map and len(plans) > 1:
        raise UserError(f'--map takes one plan, {args.plan} holds {len(plans)}')
    try:
        if args.map:
            write_map(plans[0].map, args.map, mode=args.mode)
        if args.png and len(plans) > 1:
            write_sheet([plan.map for plan in plans], args.png)
        elif args.png:
            write_png(plans[0].map, args.png)
    except OSError as error:
        raise UserError(f'cannot write {error.filename or args.png}: {error.strerror}') from error
    if args.json:
        write_json(args.json, figures)


def _shown(value: float | None) -> str:
    return '-' if value is None else f'{value:g}'
