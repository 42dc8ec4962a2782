"""A robot without ROS: what it sends, what it knows of its peers, what it keeps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serialised import serialised

from delama_ros.core.agent.messages import Label
from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.localization.scan import Sweep
from delama_ros.robot.driver import Report
from delama_ros.robot.localization import Located
from delama_ros.robot.parameters import ROBOT
from delama_ros.robot.rendezvous import frame_id
from delama_ros.robot.runtime import Runtime
from delama_ros.robot.status import LocalizationState, PeerState, Status
from delama_ros.robot.timed_scan import TimedScan
from delama_ros.transport.port import Wire

ORIGIN = (0.0, 0.0, 0.0)
LIMITS = (0.0, np.pi / 180, 0.1, 8.0)  # angle_min, angle_increment, range_min, range_max
SIZE = 100  # bytes of every message
DEFAULTS = {'localization': 'tf'}


# Corners of a room, with a niche so that it looks the same from no two poses.
CORNERS = np.array([(-2, -1.5), (3, -1.5), (3, 2.5), (1.8, 2.5), (1.8, 1.6), (-2, 1.6)], float)


def room(x: float, y: float, yaw: float) -> Sweep:
    """Return the scan of the room from a pose in it."""
    angles = np.arange(360) * (np.pi / 180) + yaw
    beams = np.stack([np.cos(angles), np.sin(angles)], -1)[:, None]  # (B, 1, 2)
    begin, wall = CORNERS - (x, y), np.roll(CORNERS, -1, 0) - CORNERS  # (W, 2)
    with np.errstate(divide='ignore', invalid='ignore'):
        cross = beams[..., 0] * wall[:, 1] - beams[..., 1] * wall[:, 0]
        distance = (begin[:, 0] * wall[:, 1] - begin[:, 1] * wall[:, 0]) / cross
        along = (begin[:, 0] * beams[..., 1] - begin[:, 1] * beams[..., 0]) / cross
        hit = (distance > 0) & (along >= 0) & (along <= 1)
    return Sweep(np.where(hit, distance, np.inf).min(1), *LIMITS)


def seen(
    stamp: float, odometry: Pose = ORIGIN, truth: Pose = ORIGIN, mode: str = 'tf'
) -> TimedScan:
    return TimedScan(stamp, room(*truth), odometry, None, ORIGIN, mode, [])


class Pair:
    """Two robots in one process."""

    def __init__(self, **options: Any) -> None:
        self.queue: list[Wire] = []
        self.reports: list[Report] = []
        self.located: list[Located] = []
        self.log: list[str] = []
        self.a, self.b = (self.make(name, **options) for name in 'ab')

    def make(self, name: str, **options: Any) -> Runtime:
        return Runtime(
            name,
            {key: option.default for key, option in ROBOT.items()} | DEFAULTS | options,
            send=self.send,
            located=self.located.append,
            step_done=self.end_step,
            info=self.log.append,
            warn=self.log.append,
        )

    def end_step(self, report: Report, draw: Callable[[], OccupancyMap]) -> None:
        self.reports.append(report)
        self.draw = draw

    def send(self, wire: Wire) -> int:
        self.queue.append(wire)
        return SIZE

    def deliver(self) -> None:
        while self.queue:
            wire = self.queue.pop(0)
            for robot in (self.a, self.b):
                if wire.robot != robot.name and admit(robot, wire, 0.1):
                    robot.add_message(wire)

    def step(self, number: int) -> None:
        for robot in (self.a, self.b):
            robot.add_scan(seen(2.0 * number - 0.5))
            robot.add_scan(seen(2.0 * number + 0.01))
        self.deliver()


def admit(robot: Runtime, wire: Label, offset: float) -> bool:
    return robot.admit(serialised(wire, SIZE), 'params', wire.robot.encode(), offset)


def peer(status: Status) -> PeerState:
    return status.peers[0].state


def test_a_step_is_counted_by_phase_and_peer() -> None:
    pair = Pair()
    pair.step(1)  # they learn of each other
    pair.step(2)
    status = pair.a.status(['the laser is dirty'])
    assert (status.step, status.steps, status.neighbours) == (2, 2, 1)
    assert status.scans == 4
    assert status.bytes_local == SIZE
    assert status.bytes_relation > 0
    assert status.bytes_step == status.bytes_local + status.bytes_relation + status.bytes_update
    assert status.bytes_total == status.bytes_step + 2 * SIZE  # two messages in step 1
    assert status.tiles > 0
    assert status.problems == ('the laser is dirty',)
    assert status.summary == 'the laser is dirty'
    (b,) = status.peers
    assert (b.robot, b.state, b.weight) == ('b', PeerState.COLLABORATING, 1.0)
    assert b.bytes == SIZE * (b.messages + sum(status.refused.values()))
    assert b.clock_offset == 0.1
    assert [report.step for report in pair.reports] == [1, 1, 2, 2]


def test_states_of_a_peer() -> None:
    pair = Pair(deadline=0.001)
    everybody = frozenset('ab')
    pair.a.set_links(0.0, frozenset('b'), everybody - {'a'})
    assert peer(pair.a.status([])) is PeerState.OUT_OF_RANGE
    pair.step(1)
    assert peer(pair.a.status([])) is PeerState.COLLABORATING
    pair.a.set_links(4.0, frozenset(), everybody - {'a'})
    pair.step(2)
    assert peer(pair.a.status([])) is PeerState.OUT_OF_RANGE
    assert not admit(pair.a, Label('b', 2, 0, 0, 0), 0.0)
    pair.a.set_links(6.0, frozenset('b'), everybody - {'a'})
    pair.a.add_scan(seen(6.01))  # b is silent
    while pair.a.wakes_at is not None:
        pair.a.wake()
    assert peer(pair.a.status([])) is PeerState.SILENT
    wire = Label('b', 3, 0, 0, pair.a.mapper.agent.fingerprint)
    assert admit(pair.a, wire, 0.9)
    pair.a.add_malformed('b', 'only half of it')
    status = pair.a.status([])
    assert peer(status) is PeerState.REJECTED
    assert status.peers[0].refusal == 'malformed'
    assert status.refused['malformed'] == 1
    assert status.problems == ('clocks differ: b is 0.90 s behind',)
    assert admit(pair.a, wire, -0.9)
    assert pair.a.status([]).problems == ('clocks differ: b is 0.90 s ahead',)
    assert "message of 'b' rejected: malformed: only half of it" in pair.log


def test_diagnostics_are_made_of_the_status() -> None:
    pair = Pair()
    pair.step(1)
    pair.step(2)
    status = pair.a.status([])
    figures = status.diagnostics()
    assert figures['step'] == status.step
    assert figures['bytes'] == status.bytes_step
    assert figures['state of b'] == 'collaborating'
    assert figures['weight of b'] == 1.0
    assert 'match quality' not in figures  # poses come from somebody else


def test_memory_survives_a_restart(tmp_path: Path) -> None:
    file = str(tmp_path / 'memory.npz')
    pair = Pair()
    first = pair.make('a', memory_file=file)
    first.add_scan(seen(1.0))
    first.tick(4.0)
    first.save_memory()
    second = pair.make('a', memory_file=file)
    assert second.tiles == first.tiles > 0
    assert f'resumed with {first.tiles} tiles from {file}' in pair.log
    second.reset()
    assert second.tiles == 0
    with pytest.raises(ValueError, match='memory_file'):
        pair.make('a', memory_file='~nobody_of_this_name/memory.npz')


def test_a_clock_that_jumps_back_is_reported_once() -> None:
    pair = Pair()
    pair.a.tick(100.0)
    pair.a.tick(10.0)
    pair.a.tick(11.0)
    assert [line for line in pair.log if 'jumped back to 10.0 s' in line] == pair.log
    assert pair.a.status([]).clock_jumps == 1


def drive(robot: Runtime, first: int, last: int, *, drift: float = 1.05) -> None:
    """Drive ahead at 0.05 m per scan; odometry says more."""
    for k in range(first, last):
        odometry = (0.05 * drift * k, 0.0, 0.001 * k)
        robot.add_scan(seen(0.1 * (k + 1), odometry, (0.05 * k - 1.0, 0.0, 0.0), 'slam'))


def test_slam_corrects_odometry_and_maps_where_the_robot_was() -> None:
    pair = Pair()
    robot = pair.make('a', localization='slam', start_pose=[-1.0, 0.0, 0.0])
    drive(robot, 0, 40)
    last = pair.located[-1]
    assert last.pose == pytest.approx((0.95, 0.0, 0.0), abs=0.02)
    assert last.covariance is not None
    assert last.correction is not None  # of odom in the map
    assert last.correction[2] == pytest.approx(-0.039, abs=0.01)
    status = robot.status([]).localization
    assert status.state is LocalizationState.TRACKING
    assert status.match_quality > 0.8
    assert status.keyframes >= 3
    robot.tick(6.0)
    drawn = pair.draw()
    assert drawn.value_at([3.05, 0.0]) > 60
    assert drawn.value_at([2.6, 0.0]) < 20
    assert robot.status([]).diagnostics()['localization'] == 'tracking'
    assert robot.frame == ''


def test_a_rough_start_is_said_in_the_name_of_the_frame() -> None:
    pair = Pair()
    robot = pair.make(
        'a', localization='slam', start_pose=[-1.0, 0.0, 0.0], start_uncertainty=[0.2, 0.05]
    )
    drive(robot, 0, 2)
    assert robot.frame.startswith('a:')
    assert robot.frame.endswith('~0.2,0.05')
    assert pair.located[-1].pose == pytest.approx((-0.95, 0.0, 0.0), abs=0.02)


def test_a_lost_robot_maps_nothing_and_finds_itself() -> None:
    pair = Pair()
    robot = pair.make('a', localization='slam', start_pose=[-1.0, 0.0, 0.0])
    drive(robot, 0, 40)
    tiles = robot.tiles
    keyframes = robot.status([]).localization.keyframes
    elsewhere = Sweep(np.full(360, 0.7), *LIMITS)  # a cell in what is known to be free
    for k in range(40, 60):
        pose = (0.05 * 1.05 * k, 0.0, 0.001 * k)
        robot.add_scan(TimedScan(0.1 * (k + 1), elsewhere, pose, None, ORIGIN, 'slam', []))
    status = robot.status([])
    assert status.localization.state is LocalizationState.LOST
    assert status.localization.keyframes == keyframes
    assert any(text.startswith('lost') for text in status.problems)
    for k in range(60, 130):  # put down elsewhere in the room, turning once and a bit
        turn = 0.1 * (k - 60)
        odometry, truth = (3.15, 0.0, 0.06 + turn), (0.4, 0.3, 0.5 + turn)
        robot.add_scan(seen(0.1 * (k + 1), odometry, truth, 'slam'))
    assert robot.status([]).localization.state is LocalizationState.TRACKING
    assert pair.located[-1].pose == pytest.approx((0.4, 0.3, 7.4 - 2 * np.pi), abs=0.05)
    robot.tick(20.0)
    assert robot.tiles >= tiles


def test_a_restart_continues_in_the_same_map(tmp_path: Path) -> None:
    file = str(tmp_path / 'memory.npz')
    pair = Pair()
    options: dict[str, Any] = {
        'localization': 'slam', 'start_pose': [-1.0, 0.0, 0.0], 'memory_file': file,
    }
    whole = pair.make('a', **{**options, 'memory_file': ''})
    drive(whole, 0, 30)
    whole.tick(3.6)
    drive(whole, 30, 60)
    whole.tick(8.0)
    expected = pair.located[-1].pose
    first = pair.make('a', **options)
    drive(first, 0, 30)
    first.tick(3.6)  # a step has taken all keyframes in
    first.save_memory()
    second = pair.make('a', **options)
    drive(second, 30, 60)
    second.tick(8.0)
    assert pair.located[-1].pose == expected
    one, other = whole.occupancy(), second.occupancy()
    assert other.origin == one.origin
    assert np.array_equal(other.cells, one.cells)
    assert second.status([]).localization.keyframes == whole.status([]).localization.keyframes
    second.reset()
    assert second.status([]).localization.keyframes == 0


def test_a_memory_that_is_loaded_later_brings_its_frame_along(tmp_path: Path) -> None:
    file = tmp_path / 'memory.npz'
    robot = Pair().make('a', localization='slam')
    drive(robot, 0, 20)
    first = robot.frame
    robot.tick(3.6)
    robot.save_memory(file)
    used = {first}
    for _ in range(2):
        robot.forget_frame('')
        robot.learn()
        assert robot.frame not in used
        used.add(robot.frame)
    robot.load_memory(file)
    drive(robot, 40, 45)
    assert robot.rendezvous is not None
    assert robot.frame == frame_id(robot.rendezvous.choice.tag) == first
    robot.forget_frame('')
    robot.learn()
    assert robot.frame not in used


def test_a_laser_whose_transform_is_900_m_off() -> None:
    """Neither its robot's map nor that of its peer becomes large, and both say why."""
    pair = Pair(complete=True)
    pair.step(1)
    before = [robot.occupancy().shape for robot in (pair.a, pair.b)]
    for number in (2, 3, 4):
        pair.a.add_scan(seen(2.0 * number - 0.5, (900.0, 0.0, 0.0)))
        pair.b.add_scan(seen(2.0 * number - 0.5))
        for robot in (pair.a, pair.b):
            robot.add_scan(seen(2.0 * number + 0.01))
        pair.deliver()
    assert pair.a.status([]).tiles > pair.b.status([]).tiles
    for robot, shape in zip((pair.a, pair.b), before, strict=True):
        assert max(robot.occupancy().shape) <= max(shape)
        completed = robot.completed()
        assert completed is not None
        assert max(completed.shape) <= max(shape)
    (problem,) = pair.a.status([]).problems
    assert problem.startswith('the map leaves out ')
    assert 'the nearest at x 8' in problem or 'the nearest at x 9' in problem


def test_a_memory_that_cannot_be_saved(tmp_path: Path) -> None:
    file = tmp_path / 'folder' / 'memory.npz'
    pair = Pair(memory_file=str(file))
    pair.step(1)
    pair.a.keep_memory()
    file.unlink()
    file.mkdir()
    pair.a.keep_memory()
    assert f'the memory was not saved to {file}: Is a directory' in pair.a.status([]).problems
    assert [item.name for item in file.parent.iterdir()] == ['memory.npz']
    file.rmdir()
    pair.a.keep_memory()
    assert pair.a.status([]).problems == ()


def test_a_lone_robot_is_well_and_a_large_number_of_a_step_is_not_shown() -> None:
    pair = Pair(quiet=0.0)
    pair.a.add_scan(seen(1.8e9 - 0.5))
    pair.a.add_scan(seen(1.8e9 + 0.01))
    status = pair.a.status([])
    assert status.step > 1_000_000
    assert (status.problems, status.summary) == ((), '2 steps, no peer received so far')
    pair.b.add_scan(seen(1.8e9 + 1.5))
    pair.b.add_scan(seen(1.8e9 + 2.01))
    pair.deliver()
    assert pair.a.status([]).problems == ('no peer received for 0 s',)
