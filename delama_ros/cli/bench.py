"""`delama bench`: measure parts of the system in one run, as ratios and times."""

from __future__ import annotations

import argparse
import importlib
import platform
from typing import Any

from delama_ros.cli.output import print_table, write_json

PARTS = {
    'core': 'learning core: batched network against a loop, one agent step, cost against tiles',
    'mapping': "mapping: evidence of a scan, a robot's step, bytes",
    'swarm': 'swarm over ROS 2: a step against its round trips, start, whole run, memory',
    'human': "the game's server under load: 50 participants, response times, nothing lost",
    'sim': 'simulator: exact rays per second, against a numpy march, real-time factor',
}


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `bench` subcommand."""
    parser = subparsers.add_parser(
        'bench',
        help='measure speed on this machine',
        description='Measure one part of the system. Compare ratios: absolute times depend on '
        'the machine and on what else it is doing.',
        epilog='examples:\n  delama bench core\n  delama bench sim --seed 3 --json sim.json',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'part', choices=PARTS, help='; '.join(f'{name}: {text}' for name, text in PARTS.items())
    )
    parser.add_argument('--seed', type=int, default=0, help='of the random data (default 0)')
    parser.add_argument('--json', metavar='FILE', help='write name → figure to FILE')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    figures: dict[str, float] = importlib.import_module(f'delama_ros.bench.{args.part}').run(
        seed=args.seed
    )
    print(f'{args.part}, seed {args.seed}, {platform.processor() or platform.machine()}')
    print_table(['figure', 'value'], [[name, f'{value:.4g}'] for name, value in figures.items()])
    if args.json:
        write_json(args.json, figures)
    return 0
