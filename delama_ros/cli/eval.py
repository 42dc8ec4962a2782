"""`delama eval`: how good a trained model is, against all that it could be replaced by."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

from delama_ros.cli.errors import UserError
from delama_ros.cli.eval_change import add_change_parser
from delama_ros.cli.eval_crossover import add_crossover_parser
from delama_ros.cli.eval_log import add_log_parser
from delama_ros.cli.eval_task import add_task_parsers
from delama_ros.cli.output import print_table, say_progress, write_json

ZONE_TEXTS = {
    'seen': 'on surfaces the team has seen',
    'near': 'near them (0.5 m)',
    'beyond': 'beyond',
}


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `eval` subcommand."""
    parser = subparsers.add_parser(
        'eval',
        help='measure methods against each other on the same data',
        description='Measure DeLAMA against everything one could use instead, on the same data.',
        epilog='examples:\n'
        '  delama eval mapping --plans generated:9000-9010\n'
        '  delama eval log intel.log.gz --robots 5 --out runs/intel\n'
        '  delama eval regression --graph er:0.3 --json regression.json',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tasks = parser.add_subparsers(metavar='TASK', required=True)
    add_mapping_parser(tasks)
    add_log_parser(tasks)
    add_change_parser(tasks)
    add_crossover_parser(tasks)
    add_task_parsers(tasks)


def add_mapping_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval mapping`."""
    parser = subparsers.add_parser(
        'mapping',
        help='map floor plans, simulated, and compare with the truth',
        description='Robots explore plans, one scan per step; every method maps the same scans. '
        'F1 of the occupied class over the whole plan at 0.1 m, mean and standard error over '
        'plans. Of a folder the 30 % of plans that training never uses are taken.',
        epilog='examples:\n'
        '  delama eval mapping --plans generated:9000-9010\n'
        '  delama eval mapping --plans maps/ --jobs 2 --json mapping.json --plot mapping.png\n'
        '  delama eval mapping --plans generated:9000-9010 --links line --methods delama oracle',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--plans', default='generated:9000-9010', help='folder or generated:A-B (%(default)s)'
    )
    parser.add_argument('--all', action='store_true', help='all plans of a folder')
    parser.add_argument('--limit', type=int, help='use at most this many plans')
    parser.add_argument(
        '--checkpoint', help='file, or mapping (default) or mapping_16 of the package'
    )
    parser.add_argument('--decoder', default='', metavar='FILE', help='completes maps, likewise')
    parser.add_argument('--robots', type=int, default=5, help='default 5')
    parser.add_argument('--steps', type=int, default=12, help='default 12')
    parser.add_argument('--seed', type=int, default=0, help='of the runs (default 0)')
    parser.add_argument('--links', choices=['full', 'line'], default='full', help='who hears whom')
    parser.add_argument(
        '--pose-noise', type=float, default=0.0, metavar='M',
        help='standard deviation of positions; 0.6 degrees of heading go with 0.05 m',
    )
    parser.add_argument('--scans', type=int, default=1, help='per robot and step (default 1)')
    parser.add_argument(
        '--turn', type=float, default=0.0, metavar='DEGREES',
        help='angle of the building in the map frame',
    )
    parser.add_argument(
        '--two-buildings', action='store_true',
        help='three robots in one plan, two in the next: compares graphs, F1 in the own plan',
    )
    parser.add_argument(
        '--methods', nargs='+', metavar='NAME',
        help='default: all but the slow ones (dsgd, dsgt, dinno, each also as NAME_naive and '
        'NAME_completed)',
    )
    parser.add_argument('--jobs', type=int, default=1, help='processes (default 1)')
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.add_argument('--plot', metavar='FILE', help='draw F1 over t and over bytes')
    parser.add_argument('--picture', metavar='FILE', help='draw maps of the first plan')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from delama_ros.mapping.completion import load as load_decoder
    from delama_ros.mapping.dataset import plan_specs, split
    from delama_ros.mapping.default import find
    from delama_ros.mapping.evaluate import evaluate
    from delama_ros.mapping.methods import DEFAULT, NAMES, needs_torch
    from delama_ros.mapping.rows import Protocol

    methods = list(dict.fromkeys(args.methods or DEFAULT))
    for name in methods:
        if name not in NAMES:
            raise UserError(f'method {name!r} is not known, expected some of {", ".join(NAMES)}')
        if needs_torch(name) and importlib.util.find_spec('torch') is None:
            raise UserError(f'method {name!r} needs torch: pip install "delama_ros[train]"')
    if args.limit is not None and args.limit < (2 if args.two_buildings else 1):
        raise UserError(f'--limit is {args.limit}, expected at least one plan, or a pair')
    if args.robots < 2 or args.steps < 1 or args.scans < 1:
        raise UserError(
            f'{args.robots} robots, {args.steps} steps and {args.scans} scans per step, '
            'expected at least 2, 1 and 1'
        )
    try:
        specs = plan_specs(args.plans)
        checkpoint = find(args.checkpoint)
        if args.decoder:
            load_decoder(args.decoder)  # better to know now that it is none
    except ValueError as error:
        raise UserError(str(error)) from error
    if not args.all and not args.plans.startswith('generated:'):
        specs = split(specs).test
    protocol = Protocol(
        args.robots, args.steps, args.seed, args.pose_noise, args.links, args.scans, args.turn,
        args.decoder,
    )

    specs = specs[: args.limit]
    if args.two_buildings:
        from delama_ros.mapping.two_buildings import evaluate_pairs

        figures = evaluate_pairs(specs, protocol, checkpoint, jobs=args.jobs, say=say_progress)
    else:
        figures = evaluate(specs, protocol, checkpoint, methods, jobs=args.jobs, say=say_progress)
    print(file=sys.stderr)
    show(figures)
    if args.json:
        write_json(args.json, figures)
    if args.plot:
        from delama_ros.mapping.plots import plot_figures

        plot_figures(figures, args.plot)
    if args.picture:
        from delama_ros.mapping.side_by_side import draw_side_by_side

        draw_side_by_side(specs[0], checkpoint, Path(args.picture), seed=args.seed)
    return 0


def show(figures: dict[str, Any]) -> None:
    """Print F1 at the first, middle and last step, and the rest at the last."""
    steps = figures['protocol']['steps']
    shown = sorted({1, (steps + 1) // 2, steps})
    rows = []
    for name, values in figures['methods'].items():
        f1 = [f'{values["f1"][t - 1]:.1f} ± {values["f1_se"][t - 1]:.1f}' for t in shown]
        last = [f'{values[key][-1]:.1f}' for key in ('precision', 'recall', 'coverage')]
        size = [f'{sum(values["bytes"]) / steps:.0f}', f'{values["bytes"][-1]:.0f}']
        rows.append([name, *f1, *last, *size, f'{sorted(values["ms"])[steps // 2]:.1f}'])
    header = ['method', *(f'F1 t={t}' for t in shown), 'precision', 'recall', 'coverage']
    print_table([*header, 'bytes', f'bytes t={steps}', 'ms'], rows)
    print(
        f'{figures["plans"]} plans; bytes per robot and step, mean and at the end; '
        'ms per robot and step'
    )
    show_zones(figures['methods'])


def show_zones(methods: dict[str, Any]) -> None:
    """Print how much of the maps at the last step is measured, and how much completed."""
    rows = [
        [name, *(
            f'{values[f"{figure}_{zone}"][-1]:.1f}'
            for zone in ZONE_TEXTS for figure in ('precision', 'recall')
        )]
        for name, values in methods.items() if 'precision_seen' in values
    ]
    if rows:
        print('\nprecision and recall ' + ', '.join(ZONE_TEXTS.values()) + ':')
        print_table(['method', *(f'{f} {z}' for z in ZONE_TEXTS for f in ('p', 'r'))], rows)
