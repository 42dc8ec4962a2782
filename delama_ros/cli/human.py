"""`delama human`: the game of section 6.4 in the browser, its report and its data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

SIMULATED = 200  # tasks of the row of agents


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `human` subcommand."""
    parser = subparsers.add_parser(
        'human',
        help='play the game in which people and agents learn lines together, and report on it',
        description='Serve the game to browsers (play), print the table and draw the figure of '
        'all games so far (report), or write them as CSV files (export).',
        epilog='examples:\n'
        '  delama human                              play on this machine\n'
        '  delama human --host 0.0.0.0               play on this network; prints a join code\n'
        '  delama human report --plot ratings.png    table and figure\n'
        '  delama human export --out games/          all data as CSV',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'action', nargs='?', choices=['play', 'report', 'export'], default='play',
        help='what to do (default: play)',
    )
    parser.add_argument(
        '--db', metavar='FILE', default='runs/human.sqlite',
        help='database of games (default %(default)s)',
    )
    play = parser.add_argument_group('play')
    play.add_argument(
        '--host', default='127.0.0.1', help='address to serve on (default: localhost)'
    )
    play.add_argument('--port', type=int, help='port (default: 8420, or any free one)')
    for stage, seconds in (('learn', 120), ('aggregate', 150), ('result', 60)):
        play.add_argument(
            f'--{stage}-time', type=float, default=seconds, metavar='S',
            help=f'time limit of the stage, s (default {seconds})',
        )
    report = parser.add_argument_group('report')
    report.add_argument(
        '--tasks', type=int, default=SIMULATED,
        help='tasks to simulate for agents (default %(default)s)',
    )
    report.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    report.add_argument('--plot', metavar='FILE', help='plot ratings against distances')
    export = parser.add_argument_group('export')
    export.add_argument(
        '--out', metavar='DIR', default='runs/human',
        help='folder of the CSV files (default %(default)s)',
    )
    parser.add_argument(
        '--seed', type=int,
        help='random seed of new games (default: random) or of simulated tasks (default 0)',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    if args.tasks < SIMULATED:
        raise UserError(f'--tasks is {args.tasks}, expected at least {SIMULATED}')
    for stage in ('learn', 'aggregate', 'result'):
        if not 1 <= (seconds := getattr(args, f'{stage}_time')) <= 86400:
            raise UserError(f'--{stage}-time is {seconds}, expected 1 to 86400 s')
    try:
        return {'play': play, 'report': report, 'export': export}[args.action](args)
    except ValueError as error:
        raise UserError(str(error)) from error


def play(args: argparse.Namespace) -> int:
    """Serve the game until Ctrl-C."""
    from delama_ros.experiments.human.game import Limits
    from delama_ros.web.game.serve import serve

    limits = Limits(args.learn_time, args.aggregate_time, args.result_time)
    serve(Path(args.db), limits=limits, seed=args.seed, host=args.host, port=args.port)
    return 0


def report(args: argparse.Namespace) -> int:
    """Print the paper's table and the correlations; draw the figure."""
    from delama_ros.experiments.human.report import make_report
    from delama_ros.experiments.human.store import open_database

    figures = make_report(open_database(Path(args.db), read_only=True), args.tasks, args.seed or 0)
    rows = [
        [row['players'], row['quality'], str(row['n']), *(_mse(m) for m in row['mse'])]
        for row in figures['table']
    ]
    print_table(['players', 'quality', 'n', *(f'MSE t={t}' for t in (1, 2, 3))], rows)
    print(
        f'mean ± standard error; n: people who answered, or tasks simulated (seed '
        f'{figures["seed"]})'
    )
    rows = [
        [row['quality'], str(row['n']), 'none' if row['r'] is None else f'{row["r"]:.2f}']
        for row in figures['correlation']
    ]
    print()
    print_table(['ratings by people', 'n', 'correlation with log distance'], rows)
    if args.json:
        write_json(args.json, figures)
    if args.plot:
        from delama_ros.experiments.human.plot import plot_ratings

        plot_ratings(figures, args.plot)
    return 0


def export(args: argparse.Namespace) -> int:
    """Write CSV files."""
    from delama_ros.experiments.human.export import write_csv
    from delama_ros.experiments.human.store import open_database

    try:
        files = write_csv(open_database(Path(args.db), read_only=True), Path(args.out))
    except OSError as error:
        raise UserError(f'cannot write to {args.out}: {error.strerror}') from error
    for file, rows in files.items():
        print(f'{file}: {rows} rows', file=sys.stdout)
    return 0


def _mse(value: dict[str, float] | None) -> str:
    if value is None:
        return 'none'
    error = '' if value['se'] is None else f' ± {value["se"]:.3g}'
    return f'{value["mean"]:.4g}{error}'
