"""`delama train`: learn the features and coefficients that a team shares."""

from __future__ import annotations

import argparse
from typing import Any

from delama_ros.cli.task_parsers import TaskParsers, add_task_parsers
from delama_ros.cli.train_mapping import add_mapping_parsers
from delama_ros.cli.train_task import add_task_parser


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `train` subcommand."""
    parser = subparsers.add_parser(
        'train',
        help='meta-train the model that a team shares',
        description='Meta-train a model. After Ctrl-C, the same command resumes; the model with '
        'the best validation score is kept.',
        epilog='examples:\n'
        '  delama train mapping\n'
        '  delama train regression --seeds 0 1 2\n'
        '  delama train mnist --data generated --set epochs=2\n'
        '  delama train waves --plugin examples/own_task.py:Waves --out runs/waves',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tasks = parser.add_subparsers(metavar='TASK', required=True, action=TaskParsers)
    add_mapping_parsers(tasks)
    add_task_parsers(tasks, add_task_parser)
