"""Ctrl-C for commands that must clean up: noted at once, acted on between steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from delama_ros.signals import SIGNALS


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Provide an event that SIGINT and SIGTERM set instead of raising KeyboardInterrupt.

    A KeyboardInterrupt could arrive while processes are being stopped or results are being written,
    is swallowed where Python cannot propagate it (in a destructor, for example), and is lost if it
    arrives just before a blocking call.
    """
    requested = threading.Event()
    before = {number: signal.signal(number, lambda *_: requested.set()) for number in SIGNALS}
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
