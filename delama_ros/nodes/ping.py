"""Round trips beside a running swarm: what the network and the machine take for them just then.

Some processes make a group. Its first member starts a round trip: all say something at once, each
answers when it has heard all others, and the trip ends for a member when it has all answers. With
two members that is a ping. Messages have the type and QoS of the robots' own.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from delama_ros.cli.output import write_json
from delama_ros.msg import Collaboration, DualVar, ModelParams
from delama_ros.nodes.exchange import QOS
from delama_ros.nodes.maps import LATCHED
from delama_ros.nodes.options import declare
from delama_ros.nodes.running import run
from delama_ros.swarm.options import Option

OPTIONS = {
    'group': Option(['a', 'b'], 'names of the members, of which the first starts round trips'),
    'member': Option('a', 'name of this one'),
    'in_steps': Option(True, 'also while robots are in a step; otherwise only between steps'),
    'robots': Option(['robot1'], 'names of the robots of the swarm'),
    'swarm': Option('/delama', 'namespace of the topics that robots share'),
    'path': Option('ping.json', 'file for the s that round trips took: busy (in steps), quiet'),
}
PAUSE = 0.02  # s between round trips
REST = 0.3  # s after a step's end that belong neither to it nor to the quiet
LOST = 1.0  # s after which a round trip is given up
START, SAY, ANSWER = 0, 1, 2


class Ping(Node):
    """One member of a group."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('ping', start_parameter_services=False, enable_rosout=False, **kwargs)
        options = declare(self, OPTIONS)
        self._member, self._path = options['member'], Path(options['path'])
        self._in_steps = options['in_steps']
        self._others = set(options['group']) - {self._member}
        self._times: dict[str, list[float]] = {'busy': [], 'quiet': []}
        self._trip = 0
        self._began: float | None = None
        self._heard: dict[int, set[str]] = {SAY: set(), ANSWER: set()}
        self._robots = len(options['robots'])
        self._done: set[str] = set(options['robots'])  # who has ended the step
        self._step, self._ended = 0, 0.0
        topic = f'/ping/{options["group"][0]}'
        self._out = self.create_publisher(DualVar, topic, QOS)
        self.create_subscription(DualVar, topic, self._on_message, QOS)
        self._starts = self._member == options['group'][0]
        if self._starts:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self.create_timer(PAUSE, self._on_pause, clock=steady)
        # A step begins with the first local model heard and ends with the last row of the graph.
        params = f'{options["swarm"]}/params'
        self.create_subscription(ModelParams, params, self._on_params, QOS)
        for robot in options['robots']:
            ended = partial(self._on_end, robot)
            topic = f'/{robot}/collaboration'
            self.create_subscription(Collaboration, topic, ended, LATCHED)

    @property
    def _state(self) -> str | None:
        """Whether robots are busy in a step, or quiet; None if something in between."""
        if len(self._done) < self._robots:
            return 'busy'
        return 'quiet' if time.monotonic() - self._ended > REST else None

    def _on_params(self, message: ModelParams) -> None:
        if message.step > self._step:
            self._step, self._done = message.step, set()
            if self._starts:
                self._on_pause()

    def _on_end(self, robot: str, message: Collaboration) -> None:
        if message.step == self._step:
            self._done.add(robot)
            self._ended = time.monotonic()

    def _on_pause(self) -> None:
        waiting = self._began is not None and time.monotonic() - self._began < LOST
        if not waiting and (self._in_steps or self._state == 'quiet'):
            self._say(START, self._trip + 1)

    def _say(self, what: int, trip: int) -> None:
        message = DualVar(robot=self._member, step=trip, phase=what, names=['x'], x=[0.0], y=[0.0])
        self._out.publish(message)

    def _on_message(self, message: DualVar) -> None:
        if message.step > self._trip:
            self._trip, self._began, self._state_then = message.step, time.monotonic(), self._state
            self._heard = {SAY: set(), ANSWER: set()}
            self._say(SAY, self._trip)
        if message.step < self._trip or message.phase == START or message.robot == self._member:
            return
        heard = self._heard[message.phase]
        heard.add(message.robot)
        if heard == self._others:
            if message.phase == SAY:
                self._say(ANSWER, self._trip)
            elif self._began is not None:
                if self._state_then is not None:
                    self._times[self._state_then].append(time.monotonic() - self._began)
                self._began = None

    def close(self) -> None:
        """Write what was measured."""
        write_json(self._path, self._times)


def main() -> int:
    """Run until interrupted."""
    return run('delama_ping', Ping, Ping.close)


if __name__ == '__main__':
    sys.exit(main())
