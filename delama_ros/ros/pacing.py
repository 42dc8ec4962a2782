"""Advances simulated or recorded time with the wall clock, at any speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

NANO = 10**9
TICK = 0.005  # s of wall time between looks at the clock
BUDGET = 0.1  # s of wall time that one look may take; what remains is not caught up
SETTLE = 1.0  # s of wall time for robots to discover each other before time starts


class Pace:
    """Calls `advance` whenever the next event is due; starts when all scans have a subscriber."""

    def __init__(
        self,
        node: Node,
        scans: Mapping[str, Any],
        options: Mapping[str, Any],
        *,
        now: Callable[[], int],
        next_event: Callable[[], int],
        advance: Callable[[], object],
    ) -> None:
        """Start.

        Args:
            node: owner of the timer and the log.
            scans: publishers of scans, by robot.
            options: speed and start_wait.
            now: returns the current time, ns.
            next_event: returns the time of the next event, ns.
            advance: advances to that event.
        """
        self._node, self._scans, self._options = node, scans, options
        self._now, self._next_event, self._advance = now, next_event, advance
        self.paused = False
        self._created = time.monotonic()
        self._start: float | None = None if options['start_wait'] > 0 else self._created
        self._anchor: tuple[float, int] | None = None  # wall s and the ns it corresponds to
        node.create_timer(TICK, self._on_tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def restart(self) -> None:
        """Measure from now on, as after a change of speed."""
        self._anchor = None

    def _on_tick(self) -> None:
        if self.paused or not self._ready():
            return
        wall = time.monotonic()
        if self._anchor is None:
            self._anchor = wall, self._now()
        began, start = self._anchor
        target = start + int((wall - began) * self._options['speed'] * NANO)
        while self._next_event() <= target:
            self._advance()
            if time.monotonic() - wall > BUDGET:
                # Lost time is not caught up: simulated time just runs slower.
                self._anchor = time.monotonic(), self._now()
                self._node.get_logger().warning(
                    f'cannot keep up with speed {self._options["speed"]}',
                    throttle_duration_sec=10.0,
                )
                return

    def _ready(self) -> bool:
        """Tell whether time may start: all scans have subscribers, or start_wait is over."""
        if self._start is None:
            unused = [n for n, out in self._scans.items() if not out.get_subscription_count()]
            if unused and time.monotonic() - self._created < self._options['start_wait']:
                self._node.get_logger().info(
                    f'waiting for subscribers to the scans of {", ".join(unused)}, '
                    f'at most {self._options["start_wait"]:g} s (start_wait)',
                    throttle_duration_sec=5.0,
                )
                return False
            if unused:
                self._node.get_logger().warning(
                    f'starting without subscribers to the scans of {", ".join(unused)}'
                )
            self._start = time.monotonic() + SETTLE
        return time.monotonic() >= self._start
