"""`delama eval`: task × method × condition, all methods on the same data."""

from __future__ import annotations

import argparse
from typing import Any

from delama_ros.cli.eval_change import add_change_parser, add_crossover_parser
from delama_ros.cli.eval_log import add_log_parser
from delama_ros.cli.eval_lost import add_lost_parser
from delama_ros.cli.eval_mapping import add_mapping_parser
from delama_ros.cli.eval_rendezvous import add_rendezvous_parser
from delama_ros.cli.eval_task import add_task_parser
from delama_ros.cli.eval_tracking import add_tracking_parser
from delama_ros.cli.task_parsers import TaskParsers, add_task_parsers


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `eval` subcommand."""
    parser = subparsers.add_parser(
        'eval',
        help='compare methods on the same data',
        description='Compare methods on the same data, next to the figures printed in the paper. '
        'Each combination of task, method, condition and seed (a cell) is computed once and '
        'stored, so an interrupted run resumes where it stopped.',
        epilog='examples:\n'
        '  delama eval mapping --plans generated:9000-9010\n'
        '  delama eval log intel.log.gz --robots 5 --out runs/intel\n'
        '  delama eval regression --links er:0.3 --json regression.json\n'
        '  delama eval regression --methods all --quick\n'
        '  delama eval waves --plugin examples/own_task.py:Waves --run runs/waves',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tasks = parser.add_subparsers(metavar='TASK', required=True, action=TaskParsers)
    add_mapping_parser(tasks)
    add_log_parser(tasks)
    add_lost_parser(tasks)
    add_tracking_parser(tasks)
    add_change_parser(tasks)
    add_crossover_parser(tasks)
    add_rendezvous_parser(tasks)
    add_task_parsers(tasks, add_task_parser)
