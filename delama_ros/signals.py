"""SIGINT and SIGTERM, caught at any point of a program's life and handled in one place.

By default Python raises KeyboardInterrupt wherever the program happens to be, and rclpy shuts its
context down behind the node's back: during an import, in a lifecycle transition, while a file is
being closed. Here a signal only writes a byte to a pipe, whichever thread it interrupts, and a
dedicated thread reads that pipe. The module needs nothing but the standard library, so that it can
be installed before any large import.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
CLEANUP_LIMIT = 1.0  # s that DDS may take to announce the shutdown to other participants


class SignalHandler:
    """Handles signals from its creation on; a parent process may have blocked them until then."""

    def __init__(self) -> None:
        """Install the handler; must be called in the main thread."""
        self.requested = False
        # While the program is starting there is nothing to clean up and nobody to notify.
        self._callback: Callable[[], object] = lambda: exit_now(0)
        self._lock = threading.Lock()
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)  # also where a shell has set it to ignore
        threading.Thread(target=self._wait, args=(reader,), name='signals', daemon=True).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def on_request(self, callback: Callable[[], object]) -> None:
        """From now on a signal sets `requested` and calls this, in another thread."""
        with self._lock:
            self._callback = callback

    def exit_after(self, code: int, cleanup: Callable[[], object]) -> NoReturn:
        """Clean up and end the process; a cleanup that takes too long is abandoned."""
        timer = threading.Timer(CLEANUP_LIMIT, exit_now, (code,))
        timer.daemon = True
        timer.start()
        try:
            cleanup()
        finally:
            exit_now(code)

    def _wait(self, reader: int) -> None:
        while os.read(reader, 1)[0] not in SIGNALS:
            continue
        with self._lock:  # only the first signal counts: shutdown is under way afterwards
            self.requested = True
            self._callback()


def exit_now(code: int) -> NoReturn:
    """End the process without Python's own shutdown.

    Python would tear down its modules first, which takes about a second, and DDS threads that are
    still running then crash the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


_installed: list[SignalHandler] = []


def signal_handler() -> SignalHandler:
    """Return the handler of this process; the first call installs it."""
    if not _installed:
        _installed.append(SignalHandler())
    return _installed[0]
