"""`delama attack`: what liars do to the maps of honest robots."""

from __future__ import annotations

import argparse
from typing import Any

from delama_ros.cli.evaluation import (
    add_common_arguments,
    add_plan_arguments,
    make_runner,
    plans_of,
    require_positive,
)
from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

ALL = 'all'


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `attack`."""
    from delama_ros.experiments.mapping.lies import LIES

    parser = subparsers.add_parser(
        'attack',
        help='let some robots lie, and measure the maps of the others',
        description='Robots map a building; from some step on, the last ones send lies. The table '
        'compares the maps of the honest robots with those of the same run in which the last '
        'robots fall silent instead, and of one in which all are honest.',
        epilog='example:\n  delama attack --lie heavy --liars 1 --plans generated:9000-9005',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--lie', choices=[*LIES, ALL], default=ALL, help='which lie (default: all of them)'
    )
    parser.add_argument('--liars', type=int, default=1, help='how many robots lie (default 1)')
    parser.add_argument('--begin', type=int, default=4, help='first step with a lie (default 4)')
    parser.add_argument(
        '--until', type=int, help='last step of the liars; then they are gone (default: the end)'
    )
    add_plan_arguments(parser)
    parser.add_argument(
        '--seeds', type=int, nargs='+', default=[0],
        help='random seeds, one run per plan and seed (default 0)',
    )
    add_common_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from delama_ros.experiments.mapping.attack import NONE, SILENT, evaluate_attacks
    from delama_ros.experiments.mapping.lies import LIES
    from delama_ros.experiments.mapping.rows import Protocol
    from delama_ros.mapping.default import packaged

    until = args.steps if args.until is None else args.until
    require_positive(args, 'robots', 'steps', 'limit', 'liars', 'begin')
    if args.liars >= args.robots:
        raise UserError(f'--liars is {args.liars}, expected fewer than --robots ({args.robots})')
    if not args.begin <= until <= args.steps:
        raise UserError(
            f'--begin is {args.begin} and --until {until}, expected '
            f'begin <= until <= --steps ({args.steps})'
        )
    lies = list(LIES) if args.lie == ALL else [args.lie]
    runner = make_runner(args)
    try:
        specs = plans_of(args, test_only=True)
        found = evaluate_attacks(
            specs, Protocol(args.robots, args.steps), packaged(), lies, runner,
            liars=args.liars, begin=args.begin, until=until, seeds=args.seeds,
        )
    except ValueError as error:
        raise UserError(str(error)) from error
    later = min(args.begin + 3, args.steps)
    lines = []
    for lie in (NONE, SILENT, *lies):
        row = found[lie]
        losses = [b - f for b, f in zip(row['baseline_f1'], row['honest_f1'], strict=True)]
        lines.append([
            lie, *(f'{row["honest_f1"][t - 1]:.1f}' for t in (args.begin, later, args.steps)),
            f'{max(losses[later - 1 :]):.1f}', f'{max(row["worst"][later - 1 :]):.1f}',
            f'{row["distrusted"][-1]:.1f}', str(int(max(row['accused']))),
            f'{sum(row["bytes"]) / len(row["bytes"]):.0f}',
        ])
    print_table(
        ['lie', *(f'F1 t={t}' for t in (args.begin, later, args.steps)), f'loss from t={later}',
         'worst run', 'liars distrusted', 'honest accused', 'bytes'],
        lines,
    )
    runs = len(specs) * len(args.seeds)
    print(
        f'{runs} runs of {args.robots} robots, {args.liars} lying from step {args.begin} to '
        f'{until}; F1 of the honest robots, %; loss: against silent'
    )
    if args.json:
        one = found[args.lie] if args.lie != ALL else {}
        write_json(args.json, {
            'task': 'attack', 'robots': args.robots, 'liars': args.liars, 'begin': args.begin,
            'until': until, 'runs': runs, **one, 'lies': found,
        })
    return 0
