"""Bytes that a robot has sent, by phase, and the rates of scans and bytes."""

from __future__ import annotations

import time
from collections import Counter, deque

from delama_ros.core.agent.messages import Phase

WINDOW = 5.0  # s over which rates are measured


class Traffic:
    """Counts what a robot sends; steps are counted apart."""

    def __init__(self) -> None:
        """Start with nothing sent."""
        self.in_step: Counter[Phase] = Counter()  # bytes of the last step
        self._sent: Counter[Phase] = Counter()  # bytes since the start
        self._before: Counter[Phase] = Counter()  # at the end of the last step
        self._past: deque[tuple[float, int, int]] = deque()  # monotonic s, scans, bytes sent

    @property
    def total(self) -> int:
        """Bytes since the start."""
        return sum(self._sent.values())

    def add(self, phase: Phase, size: int) -> None:
        """Count a message of so many bytes."""
        self._sent[phase] += size

    def end_step(self) -> None:
        """Take note that what was sent until now belongs to the step that is over."""
        self.in_step = self._sent - self._before
        self._before = self._sent.copy()

    def rates(self, scans: int) -> tuple[float, float]:
        """Return scans and bytes per second of late; scans: how many there were until now."""
        now, sent = time.monotonic(), self.total
        self._past.append((now, scans, sent))
        while len(self._past) > 2 and self._past[1][0] < now - WINDOW:
            self._past.popleft()
        then, scans_then, sent_then = self._past[0]
        passed = max(now - then, 1e-3)
        return (scans - scans_then) / passed, (sent - sent_then) / passed
