"""Keyframes whose poses are corrected: the memory follows exactly, and no ghost stays anywhere."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delama_ros.core.blocks import encode
from delama_ros.geometry.poses import as_pose, compose
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.keyframes import AT_ONCE
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan
from delama_ros.robot.memory_file import load_memory, save_memory
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import STEP_BYTES, Encoding

MOUNT = (0.1, 0.0, 0.3)


def room_scan(width: float, depth: float, beams: int = 180) -> Scan:
    """Return what a laser in the middle of an empty room sees."""
    angles = np.linspace(-np.pi, np.pi, beams, endpoint=False)
    with np.errstate(divide='ignore'):
        ranges = np.minimum(
            0.5 * width / np.abs(np.cos(angles)), 0.5 * depth / np.abs(np.sin(angles))
        )
    return Scan(ranges, -np.pi, 2 * np.pi / beams, 0.05, 20.0)


def hall_scan(pose: tuple[float, float, float], beams: int = 180) -> Scan:
    """Return what the laser of a robot at a pose sees in a hall, x from -8 to 8, y from -3 to 3."""
    x, y, yaw = compose(pose, MOUNT)
    angles = yaw + np.linspace(-np.pi, np.pi, beams, endpoint=False)
    c, s = np.cos(angles), np.sin(angles)
    with np.errstate(divide='ignore'):
        ranges = np.minimum(
            np.where(c > 0, 8 - x, -8 - x) / c, np.where(s > 0, 3 - y, -3 - y) / s
        )
    return Scan(ranges, -np.pi, 2 * np.pi / beams, 0.05, 20.0)


def in_hall(mapper: Mapper, name: int, pose: tuple[float, float, float]) -> None:
    add(mapper, name, pose, hall_scan(pose))


def add(mapper: Mapper, name: int, pose: tuple[float, float, float], scan: Scan) -> None:
    mapper.add_keyframe(name, pose, as_pose(compose(pose, MOUNT)), scan)


def step(mapper: Mapper, number: int) -> None:
    mapper.begin(number, [])
    while not mapper.agent.done:
        mapper.agent.advance()


poses = st.tuples(
    st.floats(-6, 6), st.floats(-6, 6), st.floats(-3.1, 3.1)
)


@settings(max_examples=15, deadline=None)
@given(
    first=st.lists(poses, min_size=3, max_size=3),
    last=st.lists(poses, min_size=3, max_size=3),
    retention=st.sampled_from([1.0, 0.8]),
)
def test_a_moved_keyframe_is_as_if_it_had_always_been_there(first, last, retention):
    scans = [room_scan(3.0, 5.0), room_scan(4.4, 2.7), room_scan(6.1, 3.3)]
    moved, direct = (default_mapper('r', retention=retention) for _ in range(2))
    for mapper, where in ((moved, first), (direct, last)):
        for k in range(3):
            add(mapper, k, where[k], scans[k])
            if retention == 1.0:
                step(mapper, k + 1)
        if retention != 1.0:  # all learned in one step: then tiles fade alike wherever they are
            step(mapper, 1)
    moved.move_keyframes(dict(enumerate(last)))
    step(moved, 10)
    step(direct, 10)
    for name in ('keys', 'A', 'b', 'evidence'):
        a, b = moved.state()[name], direct.state()[name]
        if name == 'keys':
            np.testing.assert_array_equal(a, b)
        elif retention == 1.0:
            np.testing.assert_allclose(a, b, atol=1e-9 * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize('retention', [1.0, 0.8])
def test_there_and_back_leaves_no_trace(retention):
    mapper = default_mapper('r', retention=retention)
    for k in range(4):
        add(mapper, k, (1.3 * k, 0.2 * k, 0.4 * k), room_scan(3.0 + k, 4.0))
        step(mapper, k + 1)
    still = default_mapper('r', retention=retention)
    still.restore(mapper.state())
    here = {k: (1.3 * k, 0.2 * k, 0.4 * k) for k in range(4)}
    away = {k: (1.3 * k + 30.0, -7.0, 1.0) for k in range(4)}
    mapper.move_keyframes(away)
    mapper.move_keyframes(here)
    step(mapper, 5)
    step(still, 5)
    for name in ('A', 'b', 'evidence', 'theta'):
        np.testing.assert_allclose(
            mapper.state()[name], still.state()[name], rtol=1e-9, atol=1e-9, err_msg=name
        )


def test_tiles_that_nothing_is_left_in_vanish():
    mapper = default_mapper('r')
    add(mapper, 0, (0.0, 0.0, 0.0), room_scan(3.0, 3.0))
    step(mapper, 1)
    before = set(encode(mapper.agent.memory[0]).tolist())
    mapper.move_keyframes({0: (24.0, 0.0, 0.0)})
    step(mapper, 2)
    after = set(encode(mapper.agent.memory[0]).tolist())
    assert after
    assert not before & after
    assert not before & set(encode(mapper.agent.theta[0]).tolist())
    mapper.remove_keyframes([0])
    step(mapper, 3)
    assert len(mapper.agent.memory[0]) == 0


def test_a_scan_without_keyframe_holds_its_tiles():
    mapper = default_mapper('r')
    mapper.add_scan(room_scan(3.0, 3.0), (0.0, 0.0, 0.0))
    add(mapper, 0, (0.0, 0.0, 0.0), room_scan(3.0, 3.0))
    step(mapper, 1)
    before = len(mapper.agent.memory[0])
    mapper.remove_keyframes([0])
    step(mapper, 2)
    assert len(mapper.agent.memory[0]) == before
    with pytest.raises(ValueError, match='without keyframes'):
        mapper.reframe('other', (1.0, 0.0, 0.0))


def test_a_restart_can_still_move_keyframes():
    mapper, other = default_mapper('r'), default_mapper('r')
    for k in range(3):
        add(mapper, k, (2.0 * k, 0.0, 0.1), room_scan(3.0, 4.0))
        step(mapper, k + 1)
    other.restore(mapper.state())
    for m in (mapper, other):
        m.move_keyframes({1: (2.5, 1.0, 0.4)})
        step(m, 5)
    np.testing.assert_allclose(mapper.state()['A'], other.state()['A'])
    np.testing.assert_array_equal(mapper.state()['keys'], other.state()['keys'])


def test_wrong_files_are_named():
    mapper = default_mapper('r')
    add(mapper, 0, (0.0, 0.0, 0.0), room_scan(3.0, 4.0))
    step(mapper, 1)
    good = mapper.state()
    for name, bad in (
        ('keyframe_poses', np.full((1, 6), np.nan)),
        ('keyframe_ranges', good['keyframe_ranges'][:-1]),
        ('fade', np.ones((2, 2))),
    ):
        with pytest.raises(ValueError, match=name):
            default_mapper('r').restore({**good, name: bad})
    with pytest.raises(ValueError, match='keyframe 0'):
        add(mapper, 0, (0.0, 0.0, 0.0), room_scan(3.0, 4.0))


NAMES = ('ann', 'bob', 'cid')
LINE = {'ann': ['bob'], 'bob': ['ann', 'cid'], 'cid': ['bob']}
FULL = {name: [n for n in NAMES if n != name] for name in NAMES}


def team(links):
    """Three robots in rooms side by side; returns mappers and a function that runs a step."""
    mappers = {name: default_mapper(name) for name in NAMES}
    transport = LocalTransport((m.agent for m in mappers.values()), encoding=Encoding.DELTA)
    count = [0]

    def run(names=NAMES):
        count[0] += 1
        for name in names:
            mappers[name].prepare()
        return transport.run_step(count[0], {n: [p for p in links[n] if p in names] for n in names})

    return mappers, run


def tiles(mapper: Mapper) -> set[int]:
    return set(encode(mapper.agent.theta[0]).tolist())


@pytest.mark.parametrize('links', [FULL, LINE], ids=['full', 'line'])
def test_a_correction_leaves_no_ghost_in_any_map(links):
    mappers, run = team(links)
    for k, name in enumerate(NAMES):
        in_hall(mappers[name], 0, (3.0 * k - 3.0, 0.5 * k, 0.7 * k))
    add(mappers['ann'], 1, (0.0, 12.0, 0.0), room_scan(3.0, 3.0))
    for _ in range(3):
        run()
    wrong = set(encode(mappers['ann'].agent.memory[0]).tolist())
    mappers['ann'].move_keyframes({1: (0.0, -24.0, 0.0)})
    run()
    wrong -= set(encode(mappers['ann'].agent.memory[0]).tolist())
    assert wrong
    for _ in range(3):
        run()
    truth = tiles(mappers['bob'])
    for name in NAMES:
        assert not wrong & tiles(mappers[name]), name
        assert set(encode(mappers['ann'].agent.memory[0]).tolist()) <= tiles(mappers[name])
        assert tiles(mappers[name]) == truth


def test_a_robot_that_leaves_after_a_correction_leaves_no_ghost():
    mappers, run = team(LINE)
    for k, name in enumerate(NAMES):
        in_hall(mappers[name], 0, (3.0 * k - 3.0, 0.5 * k, 0.7 * k))
    add(mappers['ann'], 1, (0.0, 12.0, 0.0), room_scan(3.0, 3.0))
    for _ in range(3):
        run()
    wrong = set(encode(mappers['ann'].agent.memory[0]).tolist())
    mappers['ann'].move_keyframes({1: (0.0, -24.0, 0.0)})
    run()
    right = set(encode(mappers['ann'].agent.memory[0]).tolist())
    wrong -= right
    for _ in range(3):
        run(('bob', 'cid'))
    for name in ('bob', 'cid'):
        assert not wrong & tiles(mappers[name]), name
        assert right <= tiles(mappers[name])


def test_the_burst_after_a_correction_is_bounded_and_ends():
    mappers, run = team(FULL)
    rng = np.random.default_rng(3)
    where = {k: (2.5 * (k % 8), 2.5 * (k // 8), rng.uniform(-3, 3)) for k in range(64)}
    for k, pose in where.items():  # a maze that only one robot has seen
        add(mappers['ann'], k, as_pose(compose((20.0, 0.0, 0.0), pose)),
            room_scan(*rng.uniform(2, 6, 2)))
    for name in NAMES:
        in_hall(mappers[name], 99, (0.0, 0.0, 0.0))
    for _ in range(12):
        assert run().bytes['ann'] <= 8192
    mappers['ann'].move_keyframes(
        {k: as_pose(compose((20.3, -0.2, 0.05), pose)) for k, pose in where.items()}
    )
    sent = [run().bytes['ann'] for _ in range(14)]
    assert max(sent) <= 8192
    assert max(sent) > 0.6 * STEP_BYTES  # it was a burst
    assert sent[-1] < 1000
    assert set(encode(mappers['ann'].agent.memory[0]).tolist()) <= tiles(mappers['bob'])


def test_another_frame_moves_everything_and_separates_from_peers():
    mappers, run = team(FULL)
    for k, name in enumerate(NAMES):
        in_hall(mappers[name], 0, (1.5 * k, 0.5 * k, 0.3 * k))
    run()
    assert mappers['bob'].agent.weights
    mappers['ann'].reframe('elsewhere', (40.0, 0.0, 1.0))
    run()
    assert not mappers['ann'].agent.weights
    assert 'ann' not in mappers['bob'].agent.weights
    assert set(mappers['bob'].agent.foreign) == {'ann'}
    keys = mappers['ann'].agent.theta[0]
    assert (keys[:, 0] > 20).all()
    assert not tiles(mappers['ann']) & tiles(mappers['bob'])


def test_the_map_follows_what_becomes_known_of_the_lasers_bias(tmp_path: Path) -> None:
    """As if it had been known from the first keyframe on, in steps of a few keyframes each."""
    bias, number = 0.03, AT_ONCE + 5
    places = [(0.1 * k - 2.0, 0.02 * k, 0.05 * k) for k in range(number)]
    late, known = default_mapper('late'), default_mapper('known')
    for name, pose in enumerate(places):
        exact = hall_scan(pose)
        wrong = replace(exact, ranges=exact.ranges + bias)
        add(late, name, pose, wrong)
        add(known, name, pose, replace(exact, ranges=wrong.ranges - bias))
    for mapper in (late, known):
        step(mapper, 1)
    late.set_range_bias(0.001)  # not worth the work
    step(late, 2)
    assert not equal(late, known)
    late.set_range_bias(bias)
    step(late, 3)
    assert not equal(late, known)  # some are left for the next step
    step(late, 4)
    assert equal(late, known)

    path = tmp_path / 'memory.npz'
    save_memory(path, late)
    again = default_mapper('late')
    load_memory(path, again)
    again.set_range_bias(bias)
    step(again, 5)
    assert equal(again, known)


def equal(first: Mapper, second: Mapper) -> bool:
    (keys, A, b), (others, C, d) = first.agent.memory, second.agent.memory
    return np.array_equal(keys, others) and np.allclose(A, C) and np.allclose(b, d)
