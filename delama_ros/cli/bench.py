"""`delama bench`: benchmark one part of the system, as ratios and times."""

from __future__ import annotations

import argparse
import importlib
import platform
from typing import Any

from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

PARTS = {
    'core': 'batched network compared with a loop, one agent step, cost by number of tiles',
    'localization': 'ms per scan, keyframe and loop closure along a path',
    'mapping': "marks of a scan, a robot's step, bytes",
    'scale': 'time, memory and bytes of a step by the number of robots',
    'swarm': 'a step over ROS 2 compared with its round trips, start, whole run, memory',
    'human': "response times and lost answers of the game's server with 50 participants",
    'sim': 'exact rays per second compared with a numpy ray march, real-time factor',
}


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `bench` subcommand."""
    parser = subparsers.add_parser(
        'bench',
        help='measure speed on this machine',
        description='Benchmark one part of the system. Compare ratios rather than absolute times, '
        'which depend on the machine and its load.',
        epilog='examples:\n  delama bench core\n  delama bench sim --seed 3 --json sim.json',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'part', choices=PARTS, help='; '.join(f'{name}: {text}' for name, text in PARTS.items())
    )
    parser.add_argument('--seed', type=int, default=0, help='random seed of the data (default 0)')
    scale = parser.add_argument_group('scale')
    scale.add_argument(
        '--robots', type=int, nargs='+', help='sizes of the swarm, increasing (default 5 10 20)'
    )
    scale.add_argument(
        '--transport', choices=('local', 'ros'), help='in one process (default), or over ROS 2'
    )
    scale.add_argument(
        '--neighbours', type=int, help='robots that each robot receives, with local (default all)'
    )
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    options = {
        name: value for name in ('robots', 'transport', 'neighbours')
        if (value := getattr(args, name)) is not None
    }
    if options and args.part != 'scale':
        raise UserError(f'--{next(iter(options))} goes with scale, not with {args.part}')
    module = importlib.import_module(f'delama_ros.bench.{args.part}')
    try:
        figures: dict[str, float] = module.run(seed=args.seed, **options)
    except ValueError as error:
        raise UserError(str(error)) from error
    print(f'{args.part}, seed {args.seed}, {platform.processor() or platform.machine()}')
    print_table(['figure', 'value'], [[name, f'{value:.4g}'] for name, value in figures.items()])
    if args.json:
        write_json(args.json, figures)
    return 0
