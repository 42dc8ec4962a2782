"""Matches of few points: when they count, and when odometry or nobody is believed."""

from __future__ import annotations

import numpy as np
import pytest
from world import box, scan

from delama_ros.localization import Localizer, Status
from delama_ros.localization.judge import CLEAR, FEW, judge
from delama_ros.localization.local_map import build_map
from delama_ros.localization.matcher import Matcher, Motion
from delama_ros.localization.settings import LocalizationSettings
from delama_ros.localization.surfels import make_surfels

ORIGIN = np.zeros(2)
STEP = Motion(np.array([1.2, 0.0, 0.0]))  # standard deviation of odometry: 0.14 m
CORNER = np.array([[3.0, -2.0, 3.0, 2.0], [-1.0, 2.0, 3.0, 2.0]])  # all that is known


def line(start, end, spacing=0.03):
    start, end = np.array(start, float), np.array(end, float)
    count = round(float(np.hypot(*(end - start))) / spacing)
    return start + np.linspace(0.0, 1.0, count)[:, None] * (end - start)


def surfels(points):
    return make_surfels(points, ORIGIN, 30.0, 0.1)


def around_corner(off, elsewhere):
    """The known corner, seen from `off` beside the pose expected, and walls of another room."""
    walls = CORNER - np.tile(off, 2)
    others = [line((-5, -1), (-5, -6)), line((-5, -6), (4, -6))] if elsewhere else []
    return surfels(np.concatenate([line(w[:2], w[2:]) for w in walls] + others))


@pytest.mark.parametrize(
    ('off', 'elsewhere', 'taken'),
    [
        ((1.15, -1.15), False, True),  # far from odometry, but all of it fits
        ((1.15, -1.15), True, False),  # a third fits: another corner that looks alike
        ((0.3, -0.3), True, True),  # a third fits, and odometry may well be off by as much
    ],
)
def test_far_from_odometry_only_many_points_count(off, elsewhere, taken):
    local = build_map([around_corner(np.zeros(2), False)], np.zeros((1, 3)), ORIGIN, 30.0, 0.05)
    seen = around_corner(np.array(off), elsewhere)
    found = Matcher(LocalizationSettings()).track(local, seen, np.zeros(3), STEP)
    if taken:
        assert found.pose == pytest.approx([*off, 0.0], abs=0.02)
        assert (found.quality < 0.5) == elsewhere
    else:
        assert np.hypot(*(found.pose[:2] - off)) > 0.5


HALL = np.array(box(-3.0, -3.0, 7.0, 3.0))
SEEN = [line((7.0, -2.0), (7.0, 2.0))]  # of its end, from where the robot is
UNKNOWN = [line((-9.0, -8.0), (-9.0, 8.0)), line((-9.0, 8.0), (-1.0, 8.0))]  # beyond its walls


def at_the_end_of_the_hall(off):
    """A robot that knows the hall sees its end and much that is unknown, from `off` m ahead."""
    localizer = Localizer()
    localizer.add(0.0, np.zeros(3), scan(HALL, np.zeros(3)))
    seen = surfels(np.concatenate(SEEN + UNKNOWN) - [off, 0.0])
    found = localizer.matcher.track(localizer.map, seen, np.zeros(3), STEP)
    return localizer.own, found, seen


def test_known_free_space_speaks_for_a_match_of_few_points():
    own, found, seen = at_the_end_of_the_hall(0.45)
    assert 0.05 < found.quality < FEW
    assert found.pose[0] == pytest.approx(0.45, abs=0.03)
    pose, status = judge(own, found, np.zeros(3), seen, STEP)
    assert np.array_equal(pose, found.pose)
    assert status.trusted


def test_it_does_not_speak_for_a_match_that_odometry_rules_out():
    own, found, seen = at_the_end_of_the_hall(0.45)
    short = Motion(np.array([0.1, 0.0, 0.0]))  # standard deviation 0.03 m
    pose, status = judge(own, found, np.zeros(3), seen, short)
    assert np.array_equal(pose, np.zeros(3))
    assert status is Status.FAILED


def test_an_unknown_area_that_contradicts_nothing_is_placed_by_odometry():
    own, found, seen = at_the_end_of_the_hall(0.1)
    assert found.quality < FEW < CLEAR
    pose, status = judge(own, found, np.zeros(3), seen, STEP)
    assert np.array_equal(pose, np.zeros(3))
    assert status is Status.WEAK
