"""`delama eval crossover`: from how many scans per step on models are cheaper than raw scans."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from delama_ros.cli.errors import UserError
from delama_ros.cli.output import print_table, say_progress, write_json


def add_crossover_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval crossover`."""
    parser = subparsers.add_parser(
        'crossover',
        help='bytes of models against bytes of raw scans, over scans per step',
        description='The same way, scanned once or several times per step: what a robot sends as '
        'a model, and what its raw scans would take.',
        epilog='example:\n  delama eval crossover --plans generated:9000-9010 --scans 1 2 5 10',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--plans', default='generated:9000-9010', help='default %(default)s')
    parser.add_argument('--scans', type=int, nargs='+', default=[1, 2, 5, 10], metavar='N')
    parser.add_argument('--seed', type=int, default=0, help='of the runs (default 0)')
    parser.add_argument('--jobs', type=int, default=1, help='processes (default 1)')
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from delama_ros.mapping.dataset import plan_specs
    from delama_ros.mapping.default import packaged
    from delama_ros.mapping.evaluate import evaluate
    from delama_ros.mapping.rows import Protocol

    if min(args.scans) < 1:
        raise UserError(f'--scans holds {min(args.scans)}, expected 1 or more')
    figures: dict[str, Any] = {}
    rows = []
    try:
        specs = plan_specs(args.plans)
        for scans in args.scans:
            protocol = Protocol(seed=args.seed, scans=scans)
            found = evaluate(
                specs, protocol, packaged(), ['delama', 'oracle'], jobs=args.jobs, say=say_progress
            )['methods']
            figures[str(scans)] = found
            model, raw = (sum(found[m]['bytes']) / protocol.steps for m in ('delama', 'oracle'))
            f1 = [f'{found[m]["f1"][-1]:.1f}' for m in ('delama', 'oracle')]
            rows.append([str(scans), f'{model:.0f}', f'{raw:.0f}', f'{raw / model:.2f}', *f1])
    except ValueError as error:
        raise UserError(str(error)) from error
    print(file=sys.stderr)
    print_table(['scans per step', 'model', 'raw', 'ratio', 'F1 DeLAMA', 'F1 central'], rows)
    print(f'{len(specs)} plans; bytes per robot and step, mean over 12 steps')
    if args.json:
        write_json(args.json, {'plans': len(specs), 'methods': figures})
    return 0
