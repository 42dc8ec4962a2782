"""`delama eval regression|mnist|cifar10`: trained runs on test sequences, method by method."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from delama_ros.cli.errors import UserError
from delama_ros.cli.output import print_table, write_json
from delama_ros.cli.train_task import TASKS, add_data_argument


def add_task_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval regression`, `eval mnist` and `eval cifar10`."""
    for name, summary in TASKS.items():
        parser = subparsers.add_parser(
            name,
            help=summary,
            description='Test all methods of a run on the same sequences, none of which training '
            'or validation used: mean and standard error over seeds, or over sequences if there '
            'is one seed.',
            epilog='examples:\n'
            f'  delama eval {name} --json {name}.json --plots runs/figures\n'
            f'  delama eval {name} --run runs/{name} --graph er:0.3\n'
            f'  delama eval {name} --methods delama oracle --rounds 10',
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument(
            '--run', metavar='FOLDER', dest='folder',
            help='of `delama train` (default: the one in the package)',
        )
        parser.add_argument('--methods', nargs='+', metavar='NAME', help='default: all')
        parser.add_argument(
            '--sequences', type=int, default=200, help='per seed (default %(default)s)'
        )
        parser.add_argument('--graph', help='who hears whom: full, er:0.3, ba:0.5 or a file')
        parser.add_argument('--rounds', type=int, help='exchanges of θ per step, instead of M2')
        if name != 'regression':
            add_data_argument(parser, name)
        parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
        parser.add_argument('--plots', metavar='FOLDER', help='draw examples, graphs and results')
        parser.set_defaults(run=run, task=name, data=None)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    try:
        import torch
    except ImportError:
        raise UserError('this needs torch: pip install "delama_ros[train]"') from None
    from delama_ros.core.checkpoint import CheckpointError
    from delama_ros.tasks.evaluate import Run, evaluate

    torch.set_num_threads(1)
    if args.sequences < 2:
        raise UserError(f'--sequences is {args.sequences}, expected at least 2')

    def say(text: str) -> None:
        print(f'\r{text:40s}', end='', file=sys.stderr)

    changes = {} if args.graph is None else {'graph': args.graph}
    try:
        folder = None if args.folder is None else Path(args.folder)
        tested = Run(args.task, folder, changes=changes, data=args.data)
        methods = args.methods or tested.methods()
        for name in methods:
            if name not in tested.methods():
                known = ', '.join(tested.methods())
                raise UserError(f'method {name!r} is not in the run, expected some of {known}')
        figures = evaluate(tested, methods, sequences=args.sequences, rounds=args.rounds, say=say)
    except (ValueError, CheckpointError) as error:
        raise UserError(str(error)) from error
    print(file=sys.stderr)
    show(figures)
    if args.json:
        write_json(args.json, figures)
    if args.plots:
        from delama_ros.tasks.plots import draw_all

        for path in draw_all(tested, figures, Path(args.plots)):
            print(path)
    return 0


def show(figures: dict[str, Any]) -> None:
    """Print the metric and the graph's error at the first, middle and last step."""
    metric = figures['metric']
    steps = figures['protocol']['steps']
    shown = sorted({1, (steps + 1) // 2, steps})
    digits = 4 if metric == 'mse' else 2
    rows = []
    for name, values in figures['methods'].items():
        cells = [name]
        for key, places in ((metric, digits), ('gmse', 3)):
            for t in shown:
                if key not in values:
                    cells.append('-')
                    continue
                value, error = values[key][t - 1], values[f'{key}_se'][t - 1]
                cells.append(f'{value:.{places}f} ± {error:.{places}f}')
        rows.append(cells)
    print_table(['method', *(f'{key} t={t}' for key in (metric, 'GMSE') for t in shown)], rows)
    methods = figures['methods']
    if metric == 'mse' and 'delama' in methods:
        for other in ('oracle', 'wc'):
            if other in methods:
                ratios = [
                    f'{methods["delama"]["mse"][t - 1] / methods[other]["mse"][t - 1]:.2f}'
                    for t in shown
                ]
                print(f'delama relative to {other}: {" / ".join(ratios)}')
    print(
        f'{len(figures["seeds"])} seeds, {figures["sequences"]} test sequences each, '
        f'graph {figures["protocol"]["graph"]}; ± standard error'
    )
