"""`delama eval lost`: robots that wake up somewhere in a recorded building, or in another one."""

from __future__ import annotations

import argparse
from typing import Any

from delama_ros.cli.evaluation import require_positive
from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

EXAMPLES = """examples:
  delama eval lost intel.clf.gz
  delama eval lost intel.clf.gz --in mit-csail.clf.gz --starts 20"""


def add_lost_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval lost`."""
    parser = subparsers.add_parser(
        'lost',
        help='let lost robots find themselves in a recorded log',
        description='The first half of a log with raw odometry is mapped. Robots that have this '
        'map wake up at random scans of the second half, drive on as recorded, and search: at '
        'known places (a keyframe of the map within 1 m and 60°), at unknown ones (none within '
        '6 m), or in another building (--in).',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('file', metavar='FILE', help='log to map: CARMEN .log, .clf, .gz, or a bag')
    parser.add_argument('--in', dest='other', metavar='FILE', help='log that the robots wake up in')
    parser.add_argument(
        '--starts', type=int, default=8, metavar='N', help='robots per kind of place (default 8)'
    )
    parser.add_argument(
        '--scans', type=int, default=250, metavar='N',
        help='scans until a robot counts as not found (default 250)',
    )
    parser.add_argument('--seed', type=int, default=0, help='of the starts (default 0)')
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Map, search, print and write."""
    from delama_ros.data.log import LogError
    from delama_ros.data.read import read_log
    from delama_ros.experiments.mapping.lost import evaluate_lost

    require_positive(args, 'starts', 'scans')
    try:
        log = read_log(args.file, raw=True)
        other = read_log(args.other, raw=True) if args.other else None
        figures = evaluate_lost(log, other, args.starts, args.scans, args.seed)
    except (LogError, ValueError) as error:
        raise UserError(str(error)) from error
    print_table(
        ['place', 'robots', 'found', 'wrongly', 'not found', 'median scans'],
        [
            [kind] + ['–' if value is None else f'{value:g}' for value in row.values()]
            for kind, row in figures.items()
        ],
    )
    if args.json:
        write_json(args.json, {'task': 'lost', 'places': figures})
    return 0
