"""`delama replay`: robots that map together from recorded logs and bags, over ROS 2."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any

from delama_ros.cli.swarm import add_output_arguments, run_described
from delama_ros.errors import UserError
from delama_ros.robot.parameters import NAME
from delama_ros.swarm.description import DescriptionError, Swarm, from_mapping

EXAMPLES = """examples:
  delama replay intel.log.gz --robots 5 --speed 20 --period 40
  delama replay runs/mine/bag                   the robots of a recorded swarm
  delama replay ann.mcap bob.mcap --robots ann bob"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `replay` subcommand."""
    parser = subparsers.add_parser(
        'replay',
        help='replay recorded logs or bags to robots that map them over ROS 2',
        description='Replay logs to robots, one process each, which map them as they would live. A '
        'single log is split in time, one part per robot; from a bag with several scan topics, '
        'each robot gets its own. Maps are scored if a bag contains the true map.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('logs', nargs='+', metavar='LOG', help='rosbag2, ROS 1 .bag, CARMEN .log')
    parser.add_argument(
        '--robots', nargs='+', metavar='N|NAME',
        help='number of robots, or their names (default: one per log)',
    )
    parser.add_argument('--topics', nargs='+', metavar='TOPIC', help='scan topics, one per log')
    parser.add_argument(
        '--speed', type=float, default=1.0,
        help='playback speed (log seconds per second, default 1)',
    )
    parser.add_argument(
        '--period', type=float, default=2.0, help='log seconds between time steps (default 2)'
    )
    parser.add_argument(
        '--steps', type=int, default=0, help='number of time steps (default: the whole log)'
    )
    parser.add_argument(
        '--reach', type=float, default=20.0, metavar='M', help='maximum range used, m (default 20)'
    )
    parser.add_argument('--checkpoint', default='', help='mapping checkpoint (default: packaged)')
    add_output_arguments(parser)
    parser.set_defaults(run=run, transport='ros')


def run(args: argparse.Namespace) -> int:
    """Replay and write the results."""
    return run_described(args, describe(args))


def describe(args: argparse.Namespace) -> Swarm:
    """Describe the swarm: the robots in the logs and the number of steps."""
    from delama_ros.data.log import LogError
    from delama_ros.data.playback import Playback
    from delama_ros.ros.replay import read_robots

    logs, topics, robots = [str(Path(log).absolute()) for log in args.logs], args.topics, None
    if args.robots:
        number = args.robots[0].isdecimal() and len(args.robots) == 1
        robots = int(args.robots[0]) if number else args.robots
    try:
        if len(logs) == 1 and robots is None and topics is None:
            topics = found_topics(logs[0])
            robots = names_of(topics)
        if topics and len(logs) == 1:
            logs *= len(topics)
        replay = {'speed': args.speed, 'reach': args.reach} | ({'topics': topics} if topics else {})
        values = {
            'logs': logs, 'period': args.period, 'steps': args.steps, 'replay': replay,
            'checkpoint': args.checkpoint,
        }
        swarm = from_mapping({**values, 'robots': len(logs) if robots is None else robots})
        if not swarm.steps:
            defaults = {'topics': ['']}
            recorded = read_robots({**defaults, **swarm.replay_parameters()})
            steps = math.ceil(Playback(recorded.robots).end / swarm.period)
            swarm = from_mapping({**values, 'robots': list(swarm.robots), 'steps': steps})
    except (DescriptionError, LogError, ValueError) as error:
        raise UserError(str(error)) from error
    return swarm


def found_topics(log: str) -> list[str] | None:
    """Return the scan topics of a bag if there are several."""
    from delama_ros.data.bag import scan_topics
    from delama_ros.data.read import BAGS

    path = Path(log)
    bag = path.exists() and (path.is_dir() or path.suffix in BAGS)
    topics = scan_topics(path) if bag else []
    return topics if len(topics) > 1 else None


def names_of(topics: list[str] | None) -> list[str] | None:
    """Return the robots that scan topics belong to, if their namespaces are names."""
    names = [re.sub(r'\W', '_', topic.rpartition('/')[0].strip('/')) for topic in topics or []]
    sound = all(NAME.fullmatch(name) for name in names) and len(set(names)) == len(names)
    return names if names and sound else None
