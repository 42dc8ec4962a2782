"""A robot that also measures round trips between its steps: the cost of messages alone.

In a round trip a group of robots all send at once, each answers when it has received all others,
and the trip ends for a robot when it has all answers. Between two robots that is a ping. Message
type, QoS, node and thread are those of the robot's own messages.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.node import Node

from delama_ros.msg import DualVar
from delama_ros.robot.parameters import Option
from delama_ros.ros.exchange import QOS
from delama_ros.ros.options import declare
from delama_ros.ros.robot import Robot, start
from delama_ros.ros.running import run

OPTIONS = {'ping_folder': Option('.', 'folder for the times of round trips in s, as JSON')}
PAUSE = 0.05  # s between round trips
LOST = 1.0  # s after which a round trip is given up
IDLE = (0.3, 0.9)  # share of a period in which no step is in progress
START, REQUEST, REPLY = 0, 1, 2


class Ping:
    """One robot's part in round trips of two robots and of all, in turn."""

    def __init__(
        self,
        node: Node,
        robot: str,
        known: Callable[[], frozenset[str]],
        idle: Callable[[], bool],
    ) -> None:
        self.times: dict[str, list[float]] = {'two': [], 'all': []}  # s
        self._robot, self._known, self._idle = robot, known, idle
        self._trip, self._began = 0, 0.0
        self._members: frozenset[str] = frozenset()  # of the trip in progress
        self._received: dict[int, set[str]] = {}
        self._out = node.create_publisher(DualVar, '/ping', QOS)
        node.create_subscription(DualVar, '/ping', self._on_message, QOS)
        node.create_timer(PAUSE, self._on_pause, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_pause(self) -> None:
        """Start a round trip if that is this robot's task and none is in progress."""
        robots = sorted(self._known() | {self._robot})
        free = not self._members or time.monotonic() - self._began > LOST
        if self._robot == robots[0] and len(robots) > 1 and free and self._idle():
            members = robots[:2] if self._trip % 2 else robots
            self._send(START, self._trip + 1, members)

    def _send(self, kind: int, trip: int, members: list[str]) -> None:
        numbers = [0.0] * len(members)
        self._out.publish(
            DualVar(robot=self._robot, step=trip, phase=kind, names=members, x=numbers, y=numbers)
        )

    def _on_message(self, message: DualVar) -> None:
        members = list(message.names)
        if self._robot not in members or message.step < self._trip:
            return
        if message.step > self._trip:
            self._trip, self._began = message.step, time.monotonic()
            self._members, self._received = frozenset(members), {REQUEST: set(), REPLY: set()}
            self._send(REQUEST, self._trip, members)
        if message.phase == START or message.robot == self._robot:
            return
        received = self._received[message.phase]
        received.add(message.robot)
        if received == self._members - {self._robot}:
            if message.phase == REQUEST:
                self._send(REPLY, self._trip, members)
            else:
                if self._idle():
                    group = 'two' if len(members) == 2 else 'all'
                    self.times[group].append(time.monotonic() - self._began)
                self._members = frozenset()


class PingingRobot(Robot):
    """A robot that also takes part in round trips, on its worker."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._folder = Path(declare(self, OPTIONS)['ping_folder'])

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start mapping and measuring."""
        done = super().on_activate(state)
        self._ping = Ping(self._rounds, self.robot, lambda: self.runtime.known, self._is_idle)
        return done

    def _is_idle(self) -> bool:
        now, period = self.get_clock().now().nanoseconds * 1e-9, self.options['period']
        early, late = IDLE
        return self.runtime.wakes_at is None and early < (now / period) % 1.0 < late

    def stop(self) -> None:
        """Stop, and write the measurements."""
        super().stop()
        (self._folder / f'{self.robot}.json').write_text(json.dumps(self._ping.times))


def main() -> int:
    """Run until interrupted."""
    return run('delama_ping', lambda: start(PingingRobot()), PingingRobot.stop)


if __name__ == '__main__':
    sys.exit(main())
