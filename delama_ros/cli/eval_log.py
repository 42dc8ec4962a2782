"""`delama eval log`: a recorded log mapped by a swarm, by each robot alone, and by one learner."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from delama_ros.cli.errors import UserError
from delama_ros.cli.output import print_table, write_json

if TYPE_CHECKING:
    from delama_ros.logs.evaluate import Result

EXAMPLES = """examples:
  delama eval log intel.log.gz --robots 5 --out runs/intel
  delama eval log my_bag/ --topic /robot1/scan --json figures.json
  delama eval log trace0.bag --robots 3 --period 2"""

MEASURES = {
    'agreement_f1': 'F1',
    'coverage': 'coverage',
    'held_out_f1': 'held-out F1',
    'truth_f1': 'true F1',  # of recordings that hold the true map
}


def add_log_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval log`."""
    parser = subparsers.add_parser(
        'log',
        help='map a recorded log or bag as if several robots had driven parts of it',
        description='Cut a log into one stretch of time per robot and map it three ways from the '
        'same scans: each robot alone, all robots with DeLAMA, and one learner that gets every '
        'scan. Scans less than 0.2 m and 0.2 rad apart are skipped; every tenth is kept from all '
        'learners and used to measure their maps.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'file', metavar='FILE', help='rosbag2 folder or file, ROS 1 .bag, CARMEN .log or .log.gz'
    )
    add_bag_arguments(parser)
    parser.add_argument('--robots', type=int, default=5, metavar='N', help='default 5')
    parser.add_argument(
        '--period', type=float, metavar='S', help='s of the log per step (default: 12 steps)'
    )
    parser.add_argument('--limit', type=int, metavar='SCANS', help='use the first SCANS only')
    parser.add_argument(
        '--reach', type=float, default=20.0, metavar='M', help='of the laser (default 20)'
    )
    parser.add_argument('--checkpoint', help='file (default: the one in the package)')
    parser.add_argument('--out', metavar='DIR', help='write pictures and nav2 maps to DIR')
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.set_defaults(run=run)


def add_bag_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what chooses among the contents of a bag."""
    parser.add_argument('--topic', help='of the laser scans, if a bag has several')
    parser.add_argument('--frame', help='fixed frame of poses (default: the root of TF)')
    parser.add_argument(
        '--delay',
        type=float,
        metavar='S',
        help='s by which scans of a bag are stamped too late (default: what gives sharp walls)',
    )


def run(args: argparse.Namespace) -> int:
    """Read, map, print, write."""
    from delama_ros.logs.evaluate import Protocol, evaluate
    from delama_ros.logs.log import LogError
    from delama_ros.logs.read import read_log

    for name in ('robots', 'limit', 'period', 'reach'):
        value = getattr(args, name)
        if value is not None and not value > 0:
            raise UserError(f'--{name} {value:g}, expected more than 0')
    try:
        log = read_log(args.file, topic=args.topic, frame=args.frame, delay=args.delay)
        for note in log.notes:
            print(f'{args.file}: {note}', file=sys.stderr)
        protocol = Protocol(args.robots, args.period, args.limit, args.reach, args.checkpoint)
        result = evaluate(log, protocol, _say)
    except (LogError, ValueError) as error:
        raise UserError(str(error)) from error
    finally:
        _say('')
    show(result)
    if args.out:
        write(result, Path(args.out))
    if args.json:
        write_json(args.json, result.figures)
    return 0


def show(result: Result) -> None:
    """Print a line per robot, their mean and the learner with all scans."""
    methods = result.figures['methods']
    measures = {key: text for key, text in MEASURES.items() if key in methods['delama']}
    columns = [methods[name][key] for key in measures for name in ('alone', 'delama')]
    sent = [[step[robot] for step in result.bytes] for robot in result.robots]
    rows = [
        [robot, *(f'{column[i]:.1f}' for column in columns), f'{np.mean(sent[i]):.0f}']
        for i, robot in enumerate(result.robots)
    ]
    rows.append(['mean', *(f'{np.mean(c):.1f}' for c in columns), f'{np.mean(sent):.0f}'])
    best = methods['centralised']
    one = [cell for key in measures for cell in ('', f'{best[key][0]:.1f}')]
    rows.append(['centralised', *one, f'{np.mean(best["bytes"]):.0f}'])
    figures = result.figures
    print(
        f'{figures["log"]}: {figures["scans"]} scans, {figures["scans_learned"]} learned from, '
        f'{figures["steps"]} steps of {figures["period_s"]:g} s'
    )
    header = [f'{text}, {who}' for text in measures.values() for who in ('alone', 'DeLAMA')]
    print_table(['', *header, 'bytes'], rows)
    print(
        'F1 and coverage against the centralised map, held-out F1 against scans nobody learned '
        'from, %;\nbytes per robot and step, of raw scans for centralised'
    )


def write(result: Result, folder: Path) -> None:
    """Write side-by-side pictures and a nav2 map of every robot and of the central learner."""
    from delama_ros.logs.picture import Panel, write_panels
    from delama_sim.map_file import write_map

    ways = [np.array([reading.pose[:2] for reading in part]) for part in result.stretches]
    try:
        for i, robot in enumerate(result.robots):
            panels = [
                Panel(f'{robot} alone', result.alone[robot], ways[i : i + 1]),
                Panel(f'{robot} with DeLAMA', result.delama[robot]),
                Panel('centralised', result.central, ways),
            ]
            write_panels(panels, folder / f'{robot}.png')
            write_map(result.delama[robot], folder / 'maps' / f'{robot}.yaml')
            write_map(result.alone[robot], folder / 'maps' / f'{robot}_alone.yaml')
        write_map(result.central, folder / 'maps' / 'centralised.yaml')
    except OSError as error:
        raise UserError(f'cannot write to {folder}: {error.strerror}') from error
    print(f'pictures: {folder / result.robots[0]}.png …; nav2 maps: {folder / "maps"}')


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f'\r{text:<40}\r' if not text else f'\r{text}', end='', file=sys.stderr, flush=True)
