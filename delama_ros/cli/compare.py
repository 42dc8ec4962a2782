"""`delama compare`: `delama eval` with every method of the paper's tables."""

from __future__ import annotations

import argparse
import os
from typing import Any

from delama_ros.cli.eval_mapping import add_mapping_parser
from delama_ros.cli.eval_task import add_task_parser
from delama_ros.cli.task_parsers import TaskParsers, add_task_parsers

TASK_EXAMPLES = """examples:
  delama compare {name} --quick
  delama compare {name} --seeds 0 1 2 --error-over sequences --json {name}.json
  delama compare {name} --methods fedavg ditto bayes --setups plain
  delama compare {name} --plugin examples/own_method.py:Gossip --methods gossip bayes
--quick takes 1 to 4 minutes on two cores; without it, a seed takes a quarter of an hour for
regression, about 2.5 hours for mnist and 5 hours for cifar10"""
MAPPING_EXAMPLES = """examples:
  delama compare mapping --plans maps/ --limit 10
  delama compare mapping --plans generated:9000-9010 --json mapping.json"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `compare` subcommand."""
    parser = subparsers.add_parser(
        'compare',
        help='run every method of the paper on the same data',
        description="Run every method of the paper's tables 2 to 6, next to the figures printed "
        'there. Short for `delama eval TASK --methods all` with one process per core.',
        epilog='examples:\n'
        '  delama compare regression --quick\n'
        '  delama compare regression --seeds 0 1 2 --error-over sequences --json regression.json\n'
        '  delama compare mnist --methods fedavg ditto bayes --setups plain\n'
        '  delama compare mapping --plans maps/ --limit 10',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tasks = parser.add_subparsers(metavar='TASK', required=True, action=ComparedParsers)
    add_task_parsers(tasks, add_task_parser)
    add_mapping_parser(tasks)


class ComparedParsers(TaskParsers):
    """Parsers of `delama eval` with the defaults, and the help, of a comparison."""

    def add_parser(self, name: str, **kwargs: Any) -> argparse.ArgumentParser:
        """Add the parser of a task with examples of a comparison."""
        examples = MAPPING_EXAMPLES if name == 'mapping' else TASK_EXAMPLES
        kwargs['epilog'] = examples.format(name=name)
        parser: argparse.ArgumentParser = super().add_parser(name, **kwargs)
        return parser

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
        option_string: str | None = None,
    ) -> None:
        """Set the defaults, then parse."""
        self.add_plugins(values)
        for task in self._name_parser_map.values():
            task.set_defaults(methods=['all'], out='runs/compare', jobs=os.cpu_count() or 1)
            for action in task._actions:
                if action.dest == 'methods':
                    action.help = "methods to run (default all: those of the paper's tables)"
        super().__call__(parser, namespace, values, option_string)
