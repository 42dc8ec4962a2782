"""A robot that also measures round trips, between its steps: what messages take without computing.

For a round trip some robots all say something at once, each answers when it has heard all others,
and the trip ends for a robot when it has all answers. Between two robots that is a ping. Type, QoS,
node and thread are those of the robot's own messages.
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
from delama_ros.nodes.exchange import QOS
from delama_ros.nodes.options import declare
from delama_ros.nodes.robot import Robot, start
from delama_ros.nodes.running import run
from delama_ros.swarm.options import Option

OPTIONS = {'ping_folder': Option('.', 'where the s that round trips took are written, as JSON')}
PAUSE = 0.05  # s between round trips
LOST = 1.0  # s after which a round trip is given up
QUIET = (0.3, 0.9)  # share of a period in which no step is to be expected
START, SAY, ANSWER = 0, 1, 2


class Ping:
    """One robot's part in round trips of two robots and of all, in turn."""

    def __init__(
        self, node: Node, robot: str, known: Callable[[], set[str]], quiet: Callable[[], bool]
    ) -> None:
        self.times: dict[str, list[float]] = {'two': [], 'all': []}  # s
        self._robot, self._known, self._quiet = robot, known, quiet
        self._trip, self._began = 0, 0.0
        self._members: frozenset[str] = frozenset()  # of the trip under way
        self._heard: dict[int, set[str]] = {}
        self._out = node.create_publisher(DualVar, '/ping', QOS)
        node.create_subscription(DualVar, '/ping', self._on_message, QOS)
        node.create_timer(PAUSE, self._on_pause, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_pause(self) -> None:
        """Start a round trip, if it is this robot that does so, and none is under way."""
        robots = sorted(self._known() | {self._robot})
        free = not self._members or time.monotonic() - self._began > LOST
        if self._robot == robots[0] and len(robots) > 1 and free and self._quiet():
            members = robots[:2] if self._trip % 2 else robots
            self._say(START, self._trip + 1, members)

    def _say(self, what: int, trip: int, members: list[str]) -> None:
        numbers = [0.0] * len(members)
        self._out.publish(
            DualVar(robot=self._robot, step=trip, phase=what, names=members, x=numbers, y=numbers)
        )

    def _on_message(self, message: DualVar) -> None:
        members = list(message.names)
        if self._robot not in members or message.step < self._trip:
            return
        if message.step > self._trip:
            self._trip, self._began = message.step, time.monotonic()
            self._members, self._heard = frozenset(members), {SAY: set(), ANSWER: set()}
            self._say(SAY, self._trip, members)
        if message.phase == START or message.robot == self._robot:
            return
        heard = self._heard[message.phase]
        heard.add(message.robot)
        if heard == self._members - {self._robot}:
            if message.phase == SAY:
                self._say(ANSWER, self._trip, members)
            else:
                if self._quiet():
                    group = 'two' if len(members) == 2 else 'all'
                    self.times[group].append(time.monotonic() - self._began)
                self._members = frozenset()


class PingingRobot(Robot):
    """A robot as it is, and round trips through its worker."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._folder = Path(declare(self, OPTIONS)['ping_folder'])

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start mapping and measuring."""
        done = super().on_activate(state)
        self._ping = Ping(self._rounds, self.robot, lambda: self._exchange.known, self._is_quiet)
        return done

    def _is_quiet(self) -> bool:
        now, period = self.get_clock().now().nanoseconds * 1e-9, self.options['period']
        early, late = QUIET
        return self._driver.wakes_at is None and early < (now / period) % 1.0 < late

    def stop(self) -> None:
        """Stop, and write what was measured."""
        super().stop()
        (self._folder / f'{self.robot}.json').write_text(json.dumps(self._ping.times))


def main() -> int:
    """Run until interrupted."""
    return run('delama_ping', lambda: start(PingingRobot()), PingingRobot.stop)


if __name__ == '__main__':
    sys.exit(main())
