"""`delama convert`: CARMEN logs and ROS 1 bags to rosbag2."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from delama_ros.cli.eval_log import add_bag_arguments
from delama_ros.errors import UserError

EXAMPLES = """examples:
  delama convert intel.log.gz intel_bag
  delama convert trace0.bag trace0 --storage mcap
  delama convert swarm_bag robot2 --topic /robot2/scan    one robot of several"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `convert` subcommand."""
    parser = subparsers.add_parser(
        'convert',
        help='convert a CARMEN log or a ROS 1 bag to rosbag2',
        description='Read the laser scans of a log and their poses, and write them as a rosbag2 '
        'folder with /scan, /odom, /tf and /tf_static, for `ros2 bag play`, `delama eval log` and '
        'training.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('log', metavar='LOG', help='CARMEN .log or .log.gz, ROS 1 .bag, rosbag2')
    parser.add_argument('out', metavar='OUT', help='folder to write; it must not exist')
    add_bag_arguments(parser)
    parser.add_argument(
        '--storage',
        choices=('sqlite3', 'mcap'),
        default='sqlite3',
        help='storage plugin (default sqlite3)',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read and write."""
    from delama_ros.data.log import LogError
    from delama_ros.data.read import read_log
    from delama_ros.data.write import write_bag

    try:
        log = read_log(args.log, topic=args.topic, frame=args.frame, delay=args.delay)
        write_bag(log, args.out, storage=args.storage)
    except LogError as error:
        raise UserError(str(error)) from error
    for note in log.notes:
        print(f'{args.log}: {note}', file=sys.stderr)
    print(f'{args.out}: {len(log.readings)} scans, {log.duration:.1f} s')
    return 0
