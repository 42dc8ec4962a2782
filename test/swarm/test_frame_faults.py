"""The common frame of robots that start anywhere, under faults: real processes over DDS.

One swarm lives through all of it, in this order: two pairs that do not hear each other meet; they
are parted and meet again; the robot that made the frame is killed and comes back without a memory;
one comes back that joins in a wrong place.
"""

import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from live import LiveSwarm
from misled import ERROR
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from delama_ros.geometry.frame_id import maker_of
from delama_ros.geometry.grid import Floats, Pose
from delama_ros.geometry.poses import compose, relative, yaw_of
from delama_ros.msg import Links, RobotStatus
from delama_ros.ros.conversions import LATCHED
from delama_ros.swarm.description import from_mapping
from delama_ros.swarm.observer import OUTPUTS

PAIRS = (['ann', 'bob'], ['cid', 'dot'])
ROBOTS = [name for pair in PAIRS for name in pair]
JUMP = 0.3  # m or rad that no correction of a pose within a frame reaches here


def is_jump(step: Floats) -> bool:
    """Whether a step (3,) is longer than any correction of a pose within a frame here."""
    return bool(np.hypot(step[0], step[1]) > JUMP or abs(step[2]) > JUMP)


class Watch:
    """What robots say of their frames, and how map → odom moves with them."""

    def __init__(self, swarm: LiveSwarm) -> None:
        self.status: dict[str, RobotStatus] = {}
        self.frames: dict[str, list[str]] = {name: [] for name in ROBOTS}  # as they follow
        self.shifts: dict[str, list[Pose]] = {name: [] for name in ROBOTS}  # that go with them
        # of map → odom: where the robot was in the map, before and after
        self.jumps: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in ROBOTS}
        self._swarm = swarm
        self._odom: dict[str, Floats] = {}
        self._base: dict[str, Floats] = {}
        self._gone: dict[str, set[str]] = {}  # robots that were killed, and frames they were in
        self._clock = Clock()
        node = swarm.node
        for name in ROBOTS:
            node.create_subscription(RobotStatus, f'/{name}/status', self._on_status, OUTPUTS)
        node.create_subscription(TFMessage, '/tf', self._on_tf, QoSProfile(depth=1000))
        node.create_subscription(Clock, '/clock', self._on_clock, QoSProfile(depth=100))
        self._links = node.create_publisher(Links, '/delama/links', LATCHED)

    def let_hear(self, *groups: list[str]) -> None:
        """Let only robots of the same group receive each other from now on, as a radio would."""
        group_of = {name: i for i, group in enumerate(groups) for name in group}
        hears = [group_of[a] == group_of[b] for a in ROBOTS for b in ROBOTS]
        message = Links(robots=ROBOTS, hears=hears)
        message.header.stamp = self._clock.clock
        self._links.publish(message)

    def kill(self, name: str) -> None:
        """Kill a robot, and take note of nothing until it has a new frame."""
        self._swarm.processes.kill(name)
        self._gone[name] = set(self.frames[name])
        self.frames[name], self.shifts[name], self.jumps[name] = [], [], []
        self._odom.pop(name, None)
        self.status.pop(name)

    def frame(self, name: str) -> str:
        return self.frames[name][-1] if self.frames[name] else ''

    def share_a_frame(self, names: list[str]) -> bool:
        """Whether robots share a frame, and map → odom has moved there."""
        frames = {self.frame(name) for name in names}
        return len(frames) == 1 and '' not in frames and all(map(self.is_shown, names))

    def is_shown(self, name: str) -> bool:
        """Whether all changes of a robot's frame have been seen on its topics, and on TF."""
        seen, status = len(self.frames[name]) - 1, self.status.get(name)
        moving = sum(np.hypot(x, y) + abs(yaw) > JUMP for x, y, yaw in self.shifts[name])
        return status is not None and status.frame_changes == seen and (
            len(self.jumps[name]) >= moving
        )

    def _on_status(self, message: RobotStatus) -> None:
        name, frame = message.robot, message.frame
        if name in self._gone and frame and frame not in self._gone[name]:
            del self._gone[name]
        if name in self._gone:
            return
        self.status[name] = message
        if frame and frame != self.frame(name):
            if self.frames[name]:
                self.shifts[name].append(tuple(message.frame_shift))
            self.frames[name].append(frame)

    def _on_clock(self, message: Clock) -> None:
        self._clock = message

    def _on_tf(self, message: TFMessage) -> None:
        for link in message.transforms:
            name, _, child = link.child_frame_id.partition('/')
            shift, turn = link.transform.translation, link.transform.rotation
            pose = np.array([shift.x, shift.y, yaw_of(turn.x, turn.y, turn.z, turn.w)])
            if child == 'base_link':
                self._base[name] = pose
            elif child == 'odom' and name not in self._gone:
                last, self._odom[name] = self._odom.get(name, pose), pose
                base = self._base.get(name, np.zeros(3))
                before, after = compose(last, base), compose(pose, base)
                if is_jump(relative(before, after)):
                    self.jumps[name].append((before, after))


@pytest.fixture
def swarm(tmp_path: Path, ros_environment: dict[str, str]) -> Iterator[LiveSwarm]:
    paths = [str(Path(__file__).parent), os.environ.get('PYTHONPATH', '')]
    environment = {
        **ros_environment,
        'PYTHONPATH': os.pathsep.join(filter(None, paths)),  # where misled.py is
        ERROR: '1.2 0.9 25',
    }
    description = from_mapping(
        {
            'robots': ROBOTS,
            'plan': 'generated:6',
            'seed': 1,
            'starts': 'unknown',
            'steps': 1000,
            'period': 2.0,
            'deadline': 1.0,
            'simulator': {
                'thicken_walls': 0.05, 'odometry_preset': 'turtlebot', 'scan_rate': 5.0,
            },
        }
    )
    with LiveSwarm(description, tmp_path, environment) as running:
        yield running


def test_the_common_frame_outlives_what_happens_to_robots(swarm: LiveSwarm) -> None:
    watch, record = Watch(swarm), swarm.record
    began = time.monotonic()

    def tell(what: str) -> None:
        f1 = {name: round(100 * swarm.f1(name), 1) for name in ROBOTS if watch.frame(name)}
        print(f'{time.monotonic() - began:.0f} s, step {swarm.step_of("bob")}: {what}, F1 {f1}')

    def wait(names: list[str], steps: int) -> None:
        """Let robots take some steps."""
        end = max(swarm.step_of(name) for name in names) + steps
        swarm.until(lambda: min(swarm.step_of(name) for name in names) >= end)

    def collaborate(*groups: list[str]) -> None:
        """Wait until each robot uses the models of all others of its group, and of nobody else."""
        swarm.until(lambda: all(
            swarm.peers(name) == set(group) - {name} for group in groups for name in group
        ))

    watch.let_hear(*PAIRS)
    for name in ROBOTS:
        swarm.start_robot(name)
    swarm.until(lambda: len(watch.status) == len(ROBOTS))
    swarm.start_simulator([('/delama/links', '/sim/links')])  # the test decides on links

    # Two pairs that do not hear each other each find a frame of their own.
    swarm.until(lambda: all(watch.share_a_frame(pair) for pair in PAIRS))
    assert [maker_of(watch.frame(pair[0])) for pair in PAIRS] == ['ann', 'cid']
    changes = {name: len(watch.frames[name]) for name in ROBOTS}
    tell('two pairs')

    # They meet: all end in the smaller frame, and whoever changes does so once.
    watch.let_hear(ROBOTS)
    swarm.until(lambda: watch.share_a_frame(ROBOTS))
    collaborate(ROBOTS)
    common = watch.frame('ann')
    assert {name: len(watch.frames[name]) - changes[name] for name in ROBOTS} == {
        'ann': 0, 'bob': 0, 'cid': 1, 'dot': 1,
    }
    tell('met')

    # Parted, both sides stay in it, and they agree again when they hear each other.
    watch.let_hear(*PAIRS)
    collaborate(*PAIRS)
    wait(ROBOTS, 3)
    assert {watch.frame(name) for name in ROBOTS} == {common}
    watch.let_hear(ROBOTS)
    collaborate(ROBOTS)
    swarm.until(lambda: max(f := [swarm.f1(name) for name in ROBOTS]) - min(f) < 0.03)
    assert {watch.frame(name) for name in ROBOTS} == {common}
    tell('parted and healed')

    # The robot that made the frame is killed: the others stay, and lose nothing of their maps.
    others = [name for name in ROBOTS if name != 'ann']
    before, died = {name: swarm.f1(name) for name in others}, swarm.step_of('bob')
    watch.kill('ann')
    collaborate(others)
    wait(others, 3)
    for step in range(died + 1, min(map(swarm.step_of, others)) + 1):
        for name, f1 in record.f1.get(step, {}).items():
            assert f1 > before.get(name, 0.0) - 0.02, (name, step)
    tell('its maker is gone')

    # It comes back without a memory, begins a new frame, and joins the one that it once made.
    swarm.start_robot('ann')
    swarm.until(lambda: watch.share_a_frame(ROBOTS))
    collaborate(ROBOTS)
    assert watch.frames['ann'][1:] == [common]
    assert maker_of(watch.frames['ann'][0]) == 'ann'
    tell('its maker is back')

    # Another comes back and joins in a wrong place: it is found out, leaves and joins rightly.
    watch.kill('dot')
    swarm.start_robot('dot', module='misled')
    swarm.until(lambda: len(watch.frames['dot']) == 2)
    joined = watch.status['dot'].step
    assert watch.frame('dot') == common
    swarm.until(lambda: len(watch.frames['dot']) == 3)
    left = watch.status['dot'].step
    tell(f'left after {left - joined} steps in a wrong place')
    swarm.until(lambda: watch.share_a_frame(ROBOTS))
    collaborate(ROBOTS)
    swarm.until(lambda: max(f := [swarm.f1(name) for name in ROBOTS]) - min(f) < 0.03)
    assert [maker_of(frame) for frame in watch.frames['dot']] == ['dot', 'ann', 'dot', 'ann']
    # one step more than the rule, as a step may be lost on a busy machine
    assert left - joined <= 6
    tell('found out')

    # Nobody else changed its frame for all that, and all of it was announced.
    assert {name: len(watch.frames[name]) - 1 for name in ROBOTS} == {
        'ann': 1, 'bob': 1, 'cid': 1, 'dot': 3,
    }
    for name in ROBOTS:
        log = swarm.log(name)
        assert 'Traceback' not in log
        assert 'worker failed' not in log
        told = [line.split('map frame ')[1].split(' (')[0] for line in log.splitlines()
                if 'map frame ' in line]
        assert told == [f'{a} → {b}' for a, b in pairwise(watch.frames[name])]
        # map → odom jumped with every change, by what the status said, and at no other time
        moving = [s for s in watch.shifts[name] if np.hypot(s[0], s[1]) + abs(s[2]) > JUMP]
        assert len(watch.jumps[name]) == len(moving)
        for (before, after), shift in zip(watch.jumps[name], moving, strict=True):
            # A loop closure of the same step may reach TF in the same message.
            assert not is_jump(relative(compose(shift, before), after)), (name, shift)
