from __future__ import annotations

import numpy as np
import pytest
from world import box, drive, scan

from delama_ros.localization import Localizer, Status
from delama_ros.localization.relocate import Hypothesis, Relocator
from delama_ros.localization.se2 import compose, relative, relatives


@pytest.mark.parametrize(
    ('travelled', 'turned', 'confirmed', 'through', 'hint', 'believed'),
    [
        (2.1, 0.0, 12, 0, None, True),
        (1.0, 0.0, 12, 0, None, False),  # other rooms fit for a metre, too
        (0.1, 6.3, 12, 0, None, True),
        (2.1, 0.0, 6, 0, None, False),
        (2.1, 0.0, 12, 30, None, False),  # 3 % seen through: drive on ...
        (8.1, 0.0, 12, 30, None, True),  # ... until nothing else is left
        (99.0, 9.0, 99, 90, None, False),  # 9 % is too much, however far
        (0.0, 0.0, 5, 30, np.zeros(3), True),  # somebody said where the robot is
        (0.0, 0.0, 5, 90, np.zeros(3), False),
    ],
)
def test_the_more_is_seen_through_the_farther_a_place_must_fit(
    travelled, turned, confirmed, through, hint, believed
):
    relocator = Relocator(hint, None if hint is None else 1.0)
    relocator._swept = True
    place = Hypothesis(np.zeros(3), 0.9, confirmed, 0, travelled, turned, 1000, through)
    relocator.hypotheses = [place]
    assert (relocator._verdict() is not None) is believed


def test_a_room_of_the_same_size_in_another_building_is_not_taken_for_a_known_one():
    here = np.array(box(0, 0, 6, 5) + box(1.0, 3.5, 2.0, 4.2) + box(4.5, 0.5, 5.2, 1.0))
    there = np.array(box(0, 0, 6, 5) + box(1.2, 1.0, 2.2, 1.7) + box(3.8, 3.9, 5.0, 4.4))
    poses = drive([(1.0, 1.5), (3.5, 1.5), (5.0, 2.5), (3.5, 3.5), (3.0, 2.0), (1.0, 1.5)])
    rng, localizer = np.random.default_rng(6), Localizer()
    for i, pose in enumerate(poses):
        localizer.add(0.1 * i, relatives(poses[0], pose), scan(here, pose, rng))
    before, start = localizer.own.keyframes.next_id, localizer.odometry
    localizer.relocalize()
    way = drive([(3.0, 2.5), (5.3, 2.6), (5.2, 1.5), (3.0, 2.4)] * 3)
    for i, pose in enumerate(way):
        odom = compose(start, relative(way[0], pose))
        estimate = localizer.add(100 + 0.1 * i, odom, scan(there, pose, rng))
        assert estimate.status is Status.LOST
    assert localizer.own.keyframes.next_id == before


@pytest.mark.parametrize('door', [False, True])
def test_a_robot_whose_view_was_blocked_goes_on_where_odometry_says(door):
    """Somebody stands around the robot, or a door swings open, on the way into the unknown."""
    rng, localizer = np.random.default_rng(3), Localizer()
    furniture = box(1.0, 0, 1.8, 0.5) + box(2.5, 3.4, 4.2, 4.0) + box(7, 3, 8, 4)
    room = [[0, 0, 5, 0], [0, 0, 0, 4], [0, 4, 5, 4], [5, 0, 5, 1.5], [5, 2.7, 5, 4]]
    opened = np.array(room + furniture + box(5, -3, 11, 6)[:3])
    closed = np.array([*opened, [5, 1.5, 5, 2.7]])
    before, wait = drive([(1.0, 2.0), (4.0, 2.0)]), np.tile([4.0, 2.0, 0.0], (10, 1))
    after = drive([(4.0, 2.0), (9.0, 2.0)])
    states, errors = [], []
    for i, pose in enumerate(np.concatenate([before, wait, after])):
        seen = closed if door and i < len(before) + len(wait) else opened
        if len(before) <= i < len(before) + len(wait):
            seen = np.array([*seen, *box(pose[0] - 0.4, 1.5, pose[0] + 0.5, 2.4)])
        odom = relatives(before[0], pose)
        known = localizer.own.keyframes.next_id
        estimate = localizer.add(0.1 * i, odom, scan(seen, pose, rng))
        states.append(estimate.status)
        errors.append(np.hypot(*(estimate.pose - odom)[:2]))
        if estimate.status in (Status.FAILED, Status.LOST):
            assert localizer.own.keyframes.next_id == known
    assert Status.LOST in states[len(before):]
    back = states.index(Status.RELOCALISED) - len(before) - len(wait)
    assert back <= 6
    assert not {Status.LOST, Status.FAILED} & {*states[len(before) + len(wait) + back:]}
    assert max(errors) < 0.05


def test_a_robot_that_was_carried_off_behind_a_cover_stays_lost():
    """It wakes up in a room of the same size that is furnished differently; its wheels stood."""
    here = np.array(box(0, 0, 6, 5) + box(1.0, 3.5, 2.0, 4.2) + box(4.5, 0.5, 5.2, 1.0))
    there = np.array(box(0, 0, 6, 5) + box(1.2, 1.0, 2.2, 1.7) + box(3.8, 3.9, 5.0, 4.4))
    rng, localizer = np.random.default_rng(8), Localizer()
    poses = drive([(1.0, 1.5), (3.5, 1.5), (5.0, 2.5), (3.5, 3.5), (3.0, 2.0)])
    end = poses[-1]
    covered = np.array(box(end[0] - 0.4, end[1] - 0.4, end[0] + 0.4, end[1] + 0.5))
    views = [here] * len(poses) + [covered] * 10 + [there] * 30
    at = np.concatenate([poses, np.tile(end, (40, 1))])
    states = [
        localizer.add(0.1 * i, relatives(poses[0], pose), scan(walls, pose, rng)).status
        for i, (walls, pose) in enumerate(zip(views, at, strict=True))
    ]
    assert set(states[-30:]) == {Status.LOST}
