"""Subcommands for tasks from outside the package, whose names are known once they are loaded."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from delama_ros.cli.options import Parser
from delama_ros.errors import UserError

TASKS = {
    'regression': 'learn hidden functions from samples of varying quality (section 6.1)',
    'mnist': 'learn digits class by class, in two groups (section 6.2)',
    'cifar10': 'learn images class by class, in two groups (section 6.2)',
}

AddTask: TypeAlias = Callable[['argparse._SubParsersAction[Any]', str, str], None]


class TaskParsers(argparse._SubParsersAction):  # type: ignore[type-arg]
    """Loads `--plugin` and entry points before it looks a task up."""

    add_task: AddTask | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.choices: Any = None  # checked after plugins are loaded

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add the parsers of tasks from plugins, then parse."""
        self.add_plugins(values)
        super().__call__(parser, namespace, values, option_string)

    def add_plugins(self, values: Sequence[str]) -> None:
        """Load the plugins on the rest of a command line and add the parsers of their tasks."""
        if self.add_task is not None:
            for name, kind in _plugin_tasks(values).items():
                if name not in self._name_parser_map:
                    text = (kind.__doc__ or name).splitlines()[0]
                    self.add_task(self, name, text)


def add_task_parsers(subparsers: TaskParsers, add_task: AddTask) -> None:
    """Add a parser per learning task, and later for those of plugins.

    Args:
        subparsers: to add them to.
        add_task: adds the parser of one task, by its name and a summary of it.
    """
    for name, summary in TASKS.items():
        add_task(subparsers, name, summary)
    subparsers.add_task = add_task


def _plugin_tasks(values: Sequence[str]) -> dict[str, type[Any]]:
    """Return the tasks of plugins named on the rest of the command line, and of entry points."""
    from delama_ros.experiments import plugins

    finder = Parser(prog='delama', add_help=False)
    add_plugin_argument(finder)
    specs = finder.parse_known_args(values[1:])[0].plugin
    try:
        plugins.load(*specs)
        return plugins.tasks()
    except ValueError as error:
        raise UserError(str(error)) from error


def add_plugin_argument(parser: argparse.ArgumentParser) -> None:
    """Add --plugin."""
    parser.add_argument(
        '--plugin', metavar='MODULE:CLASS', action='append', default=[],
        help='your own task or comparison method, also as FILE.py:CLASS; may be repeated',
    )


def add_settings_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Add --config and --set."""
    parser.add_argument(
        '--config', metavar='FILE',
        help=f'YAML file with settings (default: the packaged config/train_{name}.yaml)',
    )
    parser.add_argument(
        '--set', metavar='NAME=VALUE', action='append', default=[],
        help='replace a setting of the file; may be repeated',
    )
