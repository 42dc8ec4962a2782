"""Entry points of the node programs: each listens for signals before it loads anything large."""

from __future__ import annotations

import sys
from importlib import import_module

from delama_ros.nodes.ending import listening


def robot() -> int:
    """Run one robot."""
    return main('delama_ros.nodes.robot')


def recorder() -> int:
    """Record a bag."""
    return main('delama_ros.nodes.recorder')


def replay() -> int:
    """Play logs as robots."""
    return main('delama_ros.nodes.replay')


def simulator() -> int:
    """Simulate the robots' world."""
    return main('delama_ros.nodes.simulator')


def viewer() -> int:
    """Serve the page that shows a swarm."""
    return main('delama_ros.nodes.viewer')


def main(module: str) -> int:
    """Run any module with a main of its own."""
    listening()
    return int(import_module(module).main())


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
