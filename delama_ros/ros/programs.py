"""Entry points of the node programs: each installs its signal handler before any large import."""

from __future__ import annotations

import sys
from importlib import import_module

from delama_ros.extras import cure
from delama_ros.signals import signal_handler


def robot() -> int:
    """Run one robot."""
    return main('delama_ros.ros.robot')


def recorder() -> int:
    """Record a swarm as a rosbag2."""
    return main('delama_ros.ros.recorder')


def replay() -> int:
    """Replay logs as robots."""
    return main('delama_ros.ros.replay')


def viewer() -> int:
    """Serve the page that shows a swarm."""
    return main('delama_ros.ros.viewer')


def main(module: str) -> int:
    """Run the `main` function of a module."""
    signal_handler()
    try:
        return int(import_module(module).main())
    except ModuleNotFoundError as error:
        if not (line := cure(error.name or '')):
            raise
        print(f'{module}: error: {line}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
