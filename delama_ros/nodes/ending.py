"""Ctrl-C and SIGTERM, heard at any moment of a program's life and acted upon in one place.

Python would raise KeyboardInterrupt wherever the program happens to be, and rclpy would take ROS
away behind the node's back: in an import, in a lifecycle transition, in the middle of closing a
file. Here a signal is a byte in a pipe, whichever thread it has interrupted, and a thread that does
nothing else reads it. Only the standard library is needed, so that this can be there before
anything large is loaded.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LIMIT = 1.0  # s for DDS to take leave of the others, once all that matters is done


class Ending:
    """Hears signals from now on; whoever starts a process may have blocked them until here."""

    def __init__(self) -> None:
        """Listen; call it in the main thread."""
        self.asked = False
        # While a program starts there is nothing to lose yet, and nothing that could be asked.
        self._ask: Callable[[], object] = lambda: leave(0)
        self._lock = threading.Lock()
        heard, told = os.pipe()
        os.set_blocking(told, False)
        signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)  # also where a shell has had it ignored
        threading.Thread(target=self._listen, args=(heard,), name='ending', daemon=True).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def started(self, ask: Callable[[], object]) -> None:
        """From now on a signal sets `asked` and calls this, from another thread."""
        with self._lock:
            self._ask = ask

    def finish(self, code: int, farewell: Callable[[], object]) -> NoReturn:
        """End the process: after the farewell, or without if that takes too long."""
        last = threading.Timer(LIMIT, leave, (code,))
        last.daemon = True
        last.start()
        try:
            farewell()
        finally:
            leave(code)

    def _listen(self, heard: int) -> None:
        while os.read(heard, 1)[0] not in SIGNALS:
            continue
        with self._lock:  # once: it is on its way then
            self.asked = True
            self._ask()


def leave(code: int) -> NoReturn:
    """End the process at once.

    Python would tear down its modules first, which takes it a second, and DDS threads that are
    still there then end it with an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


_here: list[Ending] = []


def listening() -> Ending:
    """Return the process's own, which listens since this was called first."""
    if not _here:
        _here.append(Ending())
    return _here[0]
