"""`delama compare`: DeLAMA against every method of the paper's tables, on the same data."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from delama_ros.cli.errors import UserError
from delama_ros.cli.output import print_table, write_json
from delama_ros.core.checkpoint import CheckpointError

TASKS = ('regression', 'mnist', 'cifar10', 'mapping')
# Rounds, local steps, tested and validation sequences per seed, and steps of the latter that
# networks from scratch are tuned on (0: all).
QUICK = {'regression': (6, 5, 10, 4, 0), 'mnist': (2, 2, 2, 1, 2), 'cifar10': (1, 1, 1, 1, 1)}
FULL = {
    'regression': (100, 5, 20, 5, 0), 'mnist': (100, 5, 10, 2, 2), 'cifar10': (100, 5, 10, 2, 2),
}

SETUPS = ('plain', 'strong')
PLANS = 'generated:9000-9010'
NOT_FOR_MAPPING = ('rounds', 'sequences', 'validation', 'setups', 'full_networks')
FOR_MAPPING = ('plans', 'limit')


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `compare` subcommand."""
    parser = subparsers.add_parser(
        'compare',
        help='compare DeLAMA with every method of the paper, on the same data',
        description='Run the methods of tables 2 to 6 of the paper and print our figures beside '
        'those it prints. Rates and coefficients are chosen on validation data by a small grid. '
        'What was computed before is kept in --out and not computed again; a stopped run goes on. '
        'Set-ups of gradient methods: plain learns a network that began with random parameters, in '
        'each step from the data of that step; strong learns a head on the trained backbone of '
        'DeLAMA, from all its own data so far.',
        epilog='examples:\n'
        '  delama compare regression --quick\n'
        '  delama compare regression --jobs 2 --seeds 0 1 2 --json regression.json\n'
        '  delama compare mnist --methods fedavg ditto delama --setups plain\n'
        '  delama compare mapping --plans maps/ --limit 10 --jobs 2\n'
        'on two cores --quick takes 1 to 4 minutes; all methods with all rounds and one seed:\n'
        'regression a quarter of an hour, mnist some 2.5 hours, cifar10 some 5 hours\n'
        '(--setups strong: 6 and 10 minutes); fewer --rounds, --sequences and --methods\n'
        'shorten it',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('task', choices=TASKS, help='what is learned')
    parser.add_argument('--methods', nargs='+', metavar='NAME', help='default: all of the paper')
    parser.add_argument(
        '--setups', nargs='+', choices=SETUPS, help='of gradient methods (default both)'
    )
    parser.add_argument('--seeds', nargs='+', type=int, default=[0], help='default 0')
    parser.add_argument(
        '--jobs', type=int, default=os.cpu_count() or 1, help='processes (default: one per core)'
    )
    parser.add_argument('--quick', action='store_true', help='a few minutes, rough figures')
    parser.add_argument('--rounds', type=int, help='of communication per step')
    parser.add_argument('--sequences', type=int, help='tested per seed')
    parser.add_argument('--validation', type=int, help='sequences that settings are chosen on')
    parser.add_argument(
        '--full-networks', action='store_true',
        help='plain networks for images as large as the backbone of DeLAMA; without it they are '
        'half as wide, for cifar10 also with a first stride of 2, which takes a half (mnist) or a '
        'ninth (cifar10) of the time',
    )
    parser.add_argument('--model', metavar='FOLDER', help='trained networks (default: packaged)')
    parser.add_argument('--plans', help=f'for mapping (default {PLANS})')
    parser.add_argument('--limit', type=int, help='use at most this many plans')
    parser.add_argument(
        '--out', metavar='FOLDER', default='runs/compare',
        help='for results: tables, CSV, pictures, and what was computed (default %(default)s)',
    )
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare, print and write."""
    for name in ('torch', 'sklearn', 'tqdm', 'matplotlib'):
        if importlib.util.find_spec(name) is None:
            raise UserError(f'comparing needs {name}: pip install "delama_ros[compare]"')
    for name in ('jobs', 'rounds', 'sequences', 'validation', 'limit'):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UserError(f'--{name} is {value}, expected at least 1')
    args.seeds = list(dict.fromkeys(args.seeds))
    for name in NOT_FOR_MAPPING if args.task == 'mapping' else FOR_MAPPING:
        if getattr(args, name):
            raise UserError(f'--{name.replace("_", "-")} does not go with {args.task}')
    args.plans = args.plans or PLANS
    args.setups = list(dict.fromkeys(args.setups or SETUPS))
    began = time.monotonic()
    try:
        rows, metric, made = _mapping(args) if args.task == 'mapping' else _task(args)
    except (ValueError, CheckpointError) as error:
        raise UserError(str(error)) from error
    from delama_ros.compare import report

    for title, header, lines in report.tables(rows, args.task):
        print(title)
        print_table(header, lines)
        print()
    for line in report.margins(rows, args.task, metric):
        print(line)
    folder = Path(args.out)
    report.write(folder, rows, args.task, metric, made)
    spent = time.monotonic() - began
    count = rows[0]['sequences']
    over = f'{count} {"plan" if args.task == "mapping" else "sequence"}{"s" if count != 1 else ""}'
    print(
        f'{metric} ± standard error over {over}; kB per agent and step; '
        f'{spent:.0f} s; {folder}/{args.task}.md, .csv, .png'
    )
    if args.json:
        write_json(args.json, {
            'task': args.task, 'metric': metric, **made,
            'methods': report.figures(rows, metric),
        })
    return 0


Compared = tuple[list[dict[str, Any]], str, dict[str, Any]]  # rows, metric, with how much effort


def _task(args: argparse.Namespace) -> Compared:
    from delama_ros.compare.catalogue import model_folder, task_of
    from delama_ros.compare.registry import ENTRIES
    from delama_ros.compare.run import cells_of, compare, methods_of, trained
    from delama_ros.compare.study import Cache, Sizes

    methods = _known(args, methods_of(args.task), 'dinno')
    rounds, local, sequences, validation, horizon = (QUICK if args.quick else FULL)[args.task]
    sizes = Sizes(
        args.rounds or rounds, local, args.sequences or sequences, args.validation or validation,
        horizon, args.full_networks,
    )
    task = task_of(args.task)
    model, fingerprint = None, ''
    if 'strong' in args.setups or not set(methods) <= set(ENTRIES):
        model, fingerprint = model_folder(args.task, args.model)
        there = trained(methods, model)
        if absent := [name for name in methods if name not in there]:
            text = f'{model} has no trained network for {", ".join(absent)}'
            if args.methods:
                raise UserError(f'{text}: train it or leave it out')
            print(f'{text}: left out', file=sys.stderr)
        methods = there
    cells = cells_of(args.task, methods, args.setups, args.seeds, sizes, fingerprint)
    cache = Cache(_writable(Path(args.out) / 'cells'))
    rows = compare(cells, cache, model=model, jobs=args.jobs)
    return rows, task.metric, {'seeds': args.seeds, **asdict(sizes)}


def _mapping(args: argparse.Namespace) -> Compared:
    from delama_ros.compare import mapping
    from delama_ros.compare.study import Cache
    from delama_ros.mapping.checkpoint import load
    from delama_ros.mapping.dataset import plan_specs, split
    from delama_ros.mapping.default import packaged

    methods = _known(args, list(mapping.METHODS))
    specs = plan_specs(args.plans)
    if not args.plans.startswith('generated:'):
        specs = split(specs).test
    specs = specs[: args.limit or (2 if args.quick else None)]
    if not specs:
        raise UserError(f'--plans {args.plans} has no plan to test on, expected at least one')
    checkpoint = load(args.model) if args.model else packaged()
    cache = Cache(_writable(Path(args.out) / 'cells'))
    rows = mapping.compare(
        specs, methods, args.seeds, checkpoint, cache, jobs=args.jobs
    )
    return rows, 'f1', {'seeds': args.seeds, 'plans': len(specs)}


def _known(args: argparse.Namespace, methods: list[str], *more: str) -> list[str]:
    for name in args.methods or []:
        if name not in (*methods, *more):
            known = ', '.join([*methods, *more])
            raise UserError(
                f'method {name!r} is not known for {args.task}, expected some of {known}'
            )
    return list(dict.fromkeys(args.methods)) if args.methods else methods


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f'cannot write to {folder}: {error.strerror}') from error
    return folder
