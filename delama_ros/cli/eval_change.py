"""`delama eval change` and `eval crossover`: mapping in a changing world, and bytes per scan."""

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
from delama_ros.cli.options import add_renamed
from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json


def add_change_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval change`."""
    parser = subparsers.add_parser(
        'change',
        help='move the furniture halfway through and measure how fast the map follows',
        description='Robots map a building; then all its furniture is moved and they keep mapping. '
        'The table shows how much of the change the map has picked up, for several values of '
        'retention: the share of the memory kept from one step to the next (1 keeps everything).',
        epilog='example:\n  delama eval change --plans generated:9000-9010 --retention 1 0.9 0.8',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plan_arguments(parser)
    parser.add_argument('--seed', type=int, default=0, help='random seed of the runs (default 0)')
    add_renamed(
        parser, '--retention', '--keep', type=float, nargs='+', default=[1.0, 0.9, 0.8],
        metavar='SHARE', help='values of retention to compare (default 1 0.9 0.8)',
    )
    add_common_arguments(parser)
    parser.set_defaults(run=run_change)


def run_change(args: argparse.Namespace) -> int:
    """Measure and print."""
    from delama_ros.experiments.mapping.change import evaluate_change
    from delama_ros.experiments.mapping.rows import Protocol
    from delama_ros.mapping.default import packaged

    for retention in args.retention:
        if not 0 < retention <= 1:
            raise UserError(f'--retention is {retention}, expected more than 0 and at most 1')
    require_positive(args, 'robots', 'steps', 'limit')
    protocol = Protocol(args.robots, args.steps, args.seed)
    runner = make_runner(args)
    try:
        specs = plans_of(args, test_only=False)
        report = evaluate_change(specs, protocol, packaged(), args.retention, runner)
    except ValueError as error:
        raise UserError(str(error)) from error
    shown = [t for t in (1, 2, 3, 6, 12) if t <= args.steps]
    lines = []
    for retention, row in zip(args.retention, report.rows, strict=True):
        f1, values = row.figures['f1'], row.figures
        after = [
            f'{values["appeared"][args.steps + t - 1]:.0f} / '
            f'{values["vanished"][args.steps + t - 1]:.0f}' for t in shown
        ]
        half = '–' if values['half'] is None else str(values['half'])
        lines.append([f'{retention:g}', f'{f1[args.steps - 1]:.1f}', f'{f1[-1]:.1f}', *after, half])
    after_texts = [f'after {t}' for t in shown]
    print_table(['retention', 'F1 before', 'F1 at end', *after_texts, 'half after'], lines)
    print(
        f'{report.over}; after t: share of newly occupied / newly freed cells that the map shows '
        'correctly t steps after the change, %; half after: steps until both reach 50 %'
    )
    if args.json:
        write_json(args.json, report.as_json())
    return 0


def add_crossover_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval crossover`."""
    parser = subparsers.add_parser(
        'crossover',
        help='compare the bytes of models and of raw scans, by scans per step',
        description='Robots drive the same trajectories with one or several scans per step. The '
        'table compares the bytes that a robot sends as a model with those of its raw scans.',
        epilog='example:\n  delama eval crossover --plans generated:9000-9010 --scans 1 2 5 10',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plan_arguments(parser)
    parser.add_argument('--seed', type=int, default=0, help='random seed of the runs (default 0)')
    parser.add_argument(
        '--scans', type=int, nargs='+', default=[1, 2, 5, 10], metavar='N',
        help='scans per step to compare (default 1 2 5 10)',
    )
    add_common_arguments(parser)
    parser.set_defaults(run=run_crossover)


def run_crossover(args: argparse.Namespace) -> int:
    """Measure and print."""
    from delama_ros.experiments.mapping.evaluate import evaluate
    from delama_ros.experiments.mapping.rows import Protocol
    from delama_ros.mapping.default import packaged

    if min(args.scans) < 1:
        raise UserError(f'--scans holds {min(args.scans)}, expected 1 or more')
    require_positive(args, 'robots', 'steps', 'limit')
    runner = make_runner(args)
    methods: dict[str, Any] = {}
    lines = []
    try:
        specs = plans_of(args, test_only=False)
        for scans in args.scans:
            protocol = Protocol(args.robots, args.steps, args.seed, scans=scans)
            report = evaluate(specs, protocol, packaged(), ['fusion', 'centralised'], runner)
            found = [row.figures for row in report.rows]
            methods |= {
                f'{name}_{scans}_scans': figures
                for name, figures in report.as_json()['methods'].items()
            }
            model, raw = (sum(figures['bytes']) / args.steps for figures in found)
            f1 = [f'{figures["f1"][-1]:.1f}' for figures in found]
            kinds = ' / '.join(row.runs_as for row in report.rows)
            sizes = [f'{model:.0f}', f'{raw:.0f}', f'{raw / model:.2f}']
            lines.append([str(scans), kinds, *sizes, *f1])

    except ValueError as error:
        raise UserError(str(error)) from error
    print_table(
        ['scans per step', 'runs as', 'model', 'raw', 'ratio', 'F1 fusion', 'F1 centralised'], lines
    )
    print(f'{len(specs)} plans; bytes per robot and step, mean over {args.steps} steps')
    if args.json:
        write_json(args.json, {'task': 'crossover', 'plans': len(specs), 'methods': methods})
    return 0
