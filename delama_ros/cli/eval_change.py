"""`delama eval change`: how fast the map follows a world that changes half-way."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from delama_ros.cli.errors import UserError
from delama_ros.cli.output import print_table, say_progress, write_json


def add_change_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval change`."""
    parser = subparsers.add_parser(
        'change',
        help='move the furniture half-way and see whether the map follows',
        description='Robots map a building, then all blocks in it are moved and they map on. Shows '
        'how much of the change is on the map, by how much of the memory is kept from step to '
        'step: 1 keeps everything.',
        epilog='example:\n  delama eval change --plans generated:9000-9010 --keep 1 0.9 0.8',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--plans', default='generated:9000-9010', help='default %(default)s')
    parser.add_argument('--keep', type=float, nargs='+', default=[1.0, 0.9, 0.8], metavar='SHARE')
    parser.add_argument('--robots', type=int, default=5, help='default 5')
    parser.add_argument('--steps', type=int, default=12, help='before and after (default 12)')
    parser.add_argument('--seed', type=int, default=0, help='of the runs (default 0)')
    parser.add_argument('--jobs', type=int, default=1, help='processes (default 1)')
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from delama_ros.mapping.change import evaluate_change
    from delama_ros.mapping.dataset import plan_specs
    from delama_ros.mapping.default import packaged
    from delama_ros.mapping.rows import Protocol

    for keep in args.keep:
        if not 0 < keep <= 1:
            raise UserError(f'--keep is {keep}, expected a share above 0 and up to 1')
    if args.robots < 2 or args.steps < 1:
        raise UserError(f'{args.robots} robots and {args.steps} steps, expected at least 2 and 1')
    try:
        figures = evaluate_change(
            plan_specs(args.plans), Protocol(args.robots, args.steps, args.seed), packaged(),
            args.keep, jobs=args.jobs, say=say_progress,
        )
    except ValueError as error:
        raise UserError(str(error)) from error
    print(file=sys.stderr)
    shown = [t for t in (1, 2, 3, 6, 12) if t <= args.steps]
    rows = []
    for keep, values in zip(args.keep, figures['methods'].values(), strict=True):
        f1 = values['f1']
        after = [
            f'{values["appeared"][args.steps + t - 1]:.0f} / '
            f'{values["vanished"][args.steps + t - 1]:.0f}' for t in shown
        ]
        half = '-' if values['half'] is None else str(values['half'])
        rows.append([f'{keep:g}', f'{f1[args.steps - 1]:.1f}', f'{f1[-1]:.1f}', *after, half])
    print_table(
        ['kept', 'F1 before', 'F1 end', *(f'after {t}' for t in shown), 'half after'], rows
    )
    print(
        f'{figures["plans"]} plans; after t steps: per cent of the cells that became occupied / '
        'free which the map shows so'
    )
    if args.json:
        write_json(args.json, figures)
    return 0
