"""`delama eval mapping`: robots map floor plans, every method from the same scans."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delama_ros.cli.evaluation import (
    add_common_arguments,
    add_plan_arguments,
    make_runner,
    plans_of,
    require_positive,
    show,
)
from delama_ros.cli.options import add_renamed
from delama_ros.errors import UserError
from delama_ros.extras import cure
from delama_ros.output import print_table

if TYPE_CHECKING:
    from delama_ros.experiments.report import Report

ZONE_TEXTS = {
    'seen': 'on surfaces the team has seen',
    'near': 'near them (0.5 m)',
    'beyond': 'beyond',
}


def add_mapping_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval mapping`."""
    parser = subparsers.add_parser(
        'mapping',
        help='map simulated floor plans and compare the maps with the truth',
        description='Robots explore floor plans, one scan per step; every method maps the same '
        'scans. The score is the F1 of occupied cells over the whole plan at 0.1 m, with its mean '
        'and standard error over plans. For a folder, only the 30 % of plans held out from '
        'training are used.',
        epilog='examples:\n'
        '  delama eval mapping --plans generated:9000-9010\n'
        '  delama eval mapping --plans maps/ --jobs 2 --json mapping.json --out runs/maps\n'
        '  delama eval mapping --plans maps/ --methods all\n'
        '  delama eval mapping --links line --methods fusion centralised',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plan_arguments(parser)
    add_renamed(
        parser, '--seeds', '--seed', type=int, nargs='+', default=[0],
        help='random seeds, one run per plan and seed (default 0)',
    )
    parser.add_argument('--all', action='store_true', help='use all plans of a folder')
    add_renamed(
        parser, '--checkpoint', '--model',
        help='mapping checkpoint: a file, or the packaged mapping (default) or mapping_16',
    )
    parser.add_argument(
        '--decoder', default='', metavar='FILE', help='decoder checkpoint (default: packaged)'
    )
    parser.add_argument(
        '--links', choices=['full', 'line'], default='full',
        help='communication graph (default %(default)s)',
    )
    parser.add_argument(
        '--pose-noise', type=float, default=0.0, metavar='M',
        help='standard deviation of positions, m; heading noise scales with it: 0.6° per 0.05 m',
    )
    parser.add_argument('--scans', type=int, default=1, help='scans per robot and step (default 1)')
    parser.add_argument(
        '--turn', type=float, default=0.0, metavar='DEGREES',
        help='rotation of the building in the map frame (default 0)',
    )
    parser.add_argument(
        '--two-buildings', action='store_true',
        help='put three robots in one plan and two in another, and compare collaboration graphs; '
        'with --starts unknown, see whether anybody joins across',
    )
    parser.add_argument(
        '--methods', nargs='+', metavar='NAME',
        help="methods to run (default: all but the slow ones, which are dsgd, dsgt and dinno, each "
        "also as NAME_naive and NAME_completed); all: the rows of the paper's table 6",
    )
    parser.add_argument(
        '--drift', metavar='PRESET',
        help='add rows with drifting odometry (turtlebot, pioneer, good, bad): exact_poses, '
        'odometry and slam, from known starting poses',
    )
    parser.add_argument(
        '--starts', choices=['exact', 'rough', 'unknown'], default='exact',
        help='rough, unknown: add rows in which every robot starts in its own frame and has to '
        'find the frames of the others, with the odometry of --drift (default turtlebot); rough: '
        'starts are known to 0.2 m and 3°',
    )
    parser.add_argument('--plot', metavar='FILE', help='plot F1 over steps and over bytes')
    parser.add_argument('--picture', metavar='FILE', help='draw the maps of the first plan')
    add_common_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from delama_ros.experiments.mapping.evaluate import evaluate
    from delama_ros.experiments.mapping.rows import Protocol
    from delama_ros.mapping.completion import load as load_decoder
    from delama_ros.mapping.default import find
    from delama_sim.odometry import odometry_preset

    methods = _methods(args.methods)
    if args.starts != 'exact':
        args.drift = args.drift or 'turtlebot'
    if args.drift and (args.scans > 1 or args.turn or args.links != 'full'):
        raise UserError('--drift requires one scan per step and full links')
    if args.two_buildings and args.drift and args.starts != 'unknown':
        raise UserError('--drift with --two-buildings requires --starts unknown')
    if args.limit is not None and args.limit < (2 if args.two_buildings else 1):
        raise UserError(f'--limit is {args.limit}, expected at least 1, or 2 with --two-buildings')
    require_positive(args, 'steps', 'scans')
    if args.pose_noise < 0:
        raise UserError(f'--pose-noise is {args.pose_noise}, expected 0 or more')
    if args.robots < 2:
        raise UserError(f'--robots is {args.robots}, expected at least 2')
    runner = make_runner(args)
    try:
        specs = plans_of(args, test_only=not args.all)
        checkpoint = find(args.checkpoint)
        if args.drift:
            odometry_preset(args.drift)
        if args.decoder:
            load_decoder(args.decoder)  # fail before the run, not during it
        protocol = Protocol(
            args.robots, args.steps, args.seeds[0], args.pose_noise, args.links, args.scans,
            args.turn, args.decoder,
        )
        if args.two_buildings:
            from delama_ros.experiments.mapping.two_buildings import evaluate_pairs

            report = evaluate_pairs(specs, protocol, checkpoint, runner, preset=args.drift or '')
        else:
            report = evaluate(specs, protocol, checkpoint, methods, runner, args.seeds)
            if args.drift:
                from delama_ros.experiments.mapping.drift import evaluate_drift

                report.rows.extend(
                    evaluate_drift(
                        specs, protocol, checkpoint, args.drift, runner, starts=args.starts,
                        seeds=args.seeds,
                    )
                )
    except ValueError as error:
        raise UserError(str(error)) from error
    for row in report.rows:
        if 'position_error_m' in row.figures:
            errors = row.figures['position_error_m']
            print(f'{row.name}: final position error {errors[-1]:.3f} m RMS')
        if 'wrong_joins' in row.figures:
            most = max(row.figures['wrong_joins'])
            print(f'{row.name}: robots in a frame of the other building: {most} at most')
        if 'joined' in row.figures:
            shares = ', '.join(
                f'{100 * row.figures["joined"][t]:.0f} % after {t + 1}'
                for t in range(2, args.steps, 3)
            )
            wrong = 100 * max(row.figures['wrong'])
            print(
                f'{row.name}: share of robots in the common frame: {shares} steps; '
                f'at most {wrong:.1f} % in a wrong pose'
            )
    show(report, args, 'bytes per robot and step, mean and at the end; ms per robot and step')
    show_zones(report)
    if args.plot:
        from delama_ros.experiments.report import plot

        plot(report, Path(args.plot))
    if args.picture:
        from delama_ros.experiments.mapping.side_by_side import draw_side_by_side

        draw_side_by_side(specs[0], checkpoint, Path(args.picture), seed=args.seeds[0])
    return 0


def _methods(names: list[str] | None) -> list[str]:
    from delama_ros.experiments.mapping.methods import DEFAULT, NAMES, TABLE, needs_torch

    methods = list(dict.fromkeys(TABLE if names == ['all'] else names or DEFAULT))
    for name in methods:
        if name not in NAMES:
            raise UserError(f'unknown method {name!r}; choose from {", ".join(NAMES)}')
        if needs_torch(name) and importlib.util.find_spec('torch') is None:
            raise UserError(f'method {name!r}: {cure("torch")}')
    return methods


def show_zones(report: Report) -> None:
    """Print precision and recall of the last maps on seen surfaces, near them and beyond."""
    rows = [
        [row.name, *(
            f'{row.figures[f"{figure}_{zone}"][-1]:.1f}'
            for zone in ZONE_TEXTS for figure in ('precision', 'recall')
        )]
        for row in report.rows if 'precision_seen' in row.figures
    ]
    if rows:
        print('\nprecision (p) and recall (r) ' + ', '.join(ZONE_TEXTS.values()) + ':')
        print_table(['method', *(f'{f} {z}' for z in ZONE_TEXTS for f in ('p', 'r'))], rows)
