"""Time that follows the wall clock at some speed: how the simulator and the replay go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

NANO = 10**9
TICK = 0.005  # s of wall time between looks at the clock
BUDGET = 0.1  # s of wall time one look may work off; what is left over slips
SETTLE = 1.0  # s of wall time for robots to find each other before time begins


class Pace:
    """Calls `advance` when the next event is due; begins when all scans have a subscriber."""

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
        """Start; scans: publishers by robot, options: speed and start_wait, times in ns."""
        self._node, self._scans, self._options = node, scans, options
        self._now, self._next_event, self._advance = now, next_event, advance
        self.paused = False
        self._born = time.monotonic()
        self._begin: float | None = None if options['start_wait'] > 0 else self._born
        self._anchor: tuple[float, int] | None = None  # wall s and time in ns that belong together
        node.create_timer(TICK, self._on_tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def restart(self) -> None:
        """Count from now on, as after a change of speed."""
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
                # What could not be done in time is not made up for: time just runs slower.
                self._anchor = time.monotonic(), self._now()
                self._node.get_logger().warning(
                    f'cannot keep up with speed {self._options["speed"]}',
                    throttle_duration_sec=10.0,
                )
                return

    def _ready(self) -> bool:
        """Whether time may begin: scans have listeners, or waiting has lasted long enough."""
        if self._begin is None:
            deaf = [n for n, out in self._scans.items() if not out.get_subscription_count()]
            if deaf and time.monotonic() - self._born < self._options['start_wait']:
                self._node.get_logger().info(
                    f'waiting for subscribers to the scans of {", ".join(deaf)}, '
                    f'at most {self._options["start_wait"]:g} s (start_wait)',
                    throttle_duration_sec=5.0,
                )
                return False
            if deaf:
                self._node.get_logger().warning(f'nobody listens to the scans of {", ".join(deaf)}')
            self._begin = time.monotonic() + SETTLE
        return time.monotonic() >= self._begin
