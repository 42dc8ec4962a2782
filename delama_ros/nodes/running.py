"""How our node programs run: spin until asked to end, end quietly, say what was wrong in a line."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from delama_ros.nodes.ending import listening


def run(program: str, make: Callable[[], Node], close: Callable[[Node], None]) -> int:
    """Make a node, spin it, close it and end the process: 0, or 2 for wrong parameters."""
    ending = listening()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make()
    except (ValueError, ParameterException) as error:
        print(f'{program}: error: {error}', file=sys.stderr)
        ending.finish(2, rclpy.try_shutdown)
    gc.freeze()  # or Python would look through all that was loaded, again and again, in mid-step
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    ending.started(lambda: executor.create_task(lambda: None))  # so that spin_once returns
    try:
        while not ending.asked:
            executor.spin_once()
    finally:
        close(node)

    def farewell() -> None:
        node.destroy_node()
        rclpy.try_shutdown()

    ending.finish(0, farewell)
