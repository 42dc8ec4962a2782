"""Runs a node program: spin until a signal arrives, shut down, report bad parameters."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from delama_ros.errors import UserError
from delama_ros.signals import signal_handler


def run(program: str, make: Callable[[], Node], close: Callable[[Node], None]) -> int:
    """Create a node, spin it until a signal arrives, close it and end the process.

    Args:
        program: name of the program, for error messages.
        make: creates the node; a ValueError or ParameterException is reported to the user.
        close: stops what the node has started; called before the node is destroyed. A UserError
            that it or a callback raises is reported to the user.

    Returns:
        Never: the process ends with code 0, 1 after a UserError, or 2 if `make` failed.
    """
    signals = signal_handler()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make()
    except (ValueError, ParameterException) as error:
        print(f'{program}: error: {error}', file=sys.stderr)
        signals.exit_after(2, rclpy.try_shutdown)
    gc.freeze()  # keeps the garbage collector from scanning every loaded module in mid-step
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    signals.on_request(lambda: executor.create_task(lambda: None))  # makes spin_once return
    code = 0
    try:
        try:
            while not signals.requested:
                executor.spin_once()
        finally:
            close(node)
    except UserError as error:
        print(f'{program}: error: {error}', file=sys.stderr)
        code = 1

    def shut_down() -> None:
        node.destroy_node()
        rclpy.try_shutdown()

    signals.exit_after(code, shut_down)
