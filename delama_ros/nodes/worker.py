"""One thread that does a node's work in order, so that ROS callbacks only hand things over."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any


class Worker:
    """Runs tasks one after another, and a wake-up when its time has come."""

    def __init__(
        self,
        wakes_at: Callable[[], float | None],
        wake: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Start; wakes_at gives a time.monotonic() value or None, and is asked after each task."""
        self._wakes_at = wakes_at
        self._wake = wake
        self._failed = failed
        self._tasks: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]] | None] = (
            queue.SimpleQueue()
        )
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name='delama', daemon=True)
        self._thread.start()

    def submit(self, task: Callable[..., Any], *arguments: Any) -> None:
        """Do this after what was submitted before."""
        self._tasks.put((task, arguments))

    def call(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """Do this after what was submitted before, and wait for its result."""
        done = threading.Event()
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append((True, task(*arguments)))
            except Exception as error:
                outcome.append((False, error))
            done.set()

        self.submit(run)
        done.wait()
        succeeded, value = outcome[0]
        if not succeeded:
            raise value
        return value

    def stop(self) -> None:
        """Finish the task in hand, drop the others, and end."""
        self._stopped = True
        self._tasks.put(None)
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            try:
                due = self._wakes_at()
                wait = None if due is None else max(0.0, due - time.monotonic())
                item = self._tasks.get(timeout=wait)
            except queue.Empty:
                item = (self._wake, ())
            if item is None:
                return
            task, arguments = item
            try:
                task(*arguments)
            except Exception as error:
                self._failed(error)
