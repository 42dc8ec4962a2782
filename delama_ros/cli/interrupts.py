"""Ctrl-C for commands that have something to put away: heard at once, acted upon between steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from delama_ros.nodes.ending import SIGNALS


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C and SIGTERM set, and do nothing else, as long as this lasts.

    A KeyboardInterrupt may come while processes are being ended or results written, is lost where
    Python can only say that it ignores it, and just before signal.pause() ends nothing.
    """
    asked = threading.Event()
    before = {number: signal.signal(number, lambda *_: asked.set()) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
