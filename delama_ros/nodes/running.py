"""How our node programs run: spin until interrupted, end quietly, say what was wrong in a line."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node


def run(program: str, make: Callable[[], Node], close: Callable[[Node], None]) -> int:
    """Make a node, spin it and close it; 0 for an ordinary end, 2 for wrong parameters."""
    rclpy.init()
    node = None
    try:
        node = make()
        rclpy.spin(node)
    except (ValueError, ParameterException) as error:
        print(f'{program}: error: {error}', file=sys.stderr)
        return 2
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        if node is not None:
            close(node)
            node.destroy_node()
        # The signal handler of rclpy may be shutting down at this moment, in its own thread.
        with suppress(RuntimeError):
            rclpy.try_shutdown()
        # Python would look for garbage once more before it ends, which takes it a second.
        gc.freeze()
    return 0
