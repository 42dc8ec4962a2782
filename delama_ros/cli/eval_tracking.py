"""`delama eval tracking`: errors of a robot's own poses under harder and harder sensing."""

from __future__ import annotations

import argparse
from typing import Any

from delama_ros.cli.evaluation import (
    add_common_arguments,
    add_plans_and_seeds,
    make_runner,
    plans_of,
    require_positive,
)
from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

EXAMPLES = """examples:
  delama eval tracking --plans generated:9000-9003 --conditions plain half_view
  delama eval tracking --plans maps/ --limit 8 --seeds 0 1 2 --json tracking.json"""


def add_tracking_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval tracking`."""
    parser = subparsers.add_parser(
        'tracking',
        help='localize one robot from its own scans and drifting odometry',
        description='One robot drives 60 m through each plan with the odometry of a TurtleBot and '
        'localizes itself by SLAM from a known start. RMSE is the error of the online estimate: '
        'root mean square over the scans of a run of the distance to the true position, in the '
        'frame of the start and without alignment. corrected is the same after later corrections, '
        'aligned after the best alignment. For a folder, only the 30 % of plans held out from '
        'training are used.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plans_and_seeds(parser)
    parser.add_argument(
        '--steps', type=int, default=51, help='number of 1.2 m steps (default 51, which is 60 m)'
    )
    parser.add_argument(
        '--conditions', nargs='+', default=['all'], metavar='NAME',
        help='conditions to run: plain, drift_2, half_view, … (default all)',
    )
    add_common_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print and write."""
    from delama_ros.experiments.mapping.tracking import CONDITIONS, evaluate_tracking

    require_positive(args, 'limit', 'steps')
    names = list(CONDITIONS) if args.conditions == ['all'] else args.conditions
    for name in names:
        if name not in CONDITIONS:
            raise UserError(f'condition is {name!r}, expected one of: {", ".join(CONDITIONS)}')
    try:
        specs = plans_of(args, test_only=True)
        runner = make_runner(args)
        figures = evaluate_tracking(specs, names, args.seeds, args.steps, runner)
    except ValueError as error:
        raise UserError(str(error)) from error
    columns = ('rmse_m', 'corrected_m', 'aligned_m', 'largest_m')
    print_table(
        ['cm, mean / worst run', 'runs', 'RMSE', 'corrected', 'aligned', 'largest', 'odometry'],
        [
            [name, str(row['runs'])]
            + [f'{100 * row["mean"][c]:.1f} / {100 * row["worst"][c]:.1f}' for c in columns]
            + [f'{100 * row["mean"]["odometry_m"]:.0f}']
            for name, row in figures.items()
        ],
    )
    if args.json:
        write_json(args.json, {'task': 'tracking', 'plans': len(specs), 'conditions': figures})
    return 0
