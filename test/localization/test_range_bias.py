"""A laser that measures too far: the error is learned, corrected, and never invented."""

from __future__ import annotations

import math

import numpy as np
import pytest
from world import TOUR, box, drive, flat, odometry, scan

from delama_ros.localization import Localizer, restore, save
from delama_ros.localization.align import align
from delama_ros.localization.local_map import build_map
from delama_ros.localization.range_bias import LASERS, MOST, RangeBias
from delama_ros.localization.se2 import relatives
from delama_ros.localization.surfels import make_surfels

ORIGIN = np.zeros(2)


def farther(points, by):
    ranges = np.hypot(*points.T)
    return points * ((ranges + by) / ranges)[:, None]


def surfels(points):
    return make_surfels(points, ORIGIN, 30.0, 0.1)


def tour(by):
    """Drive through the flat with a laser that measures `by` m too far."""
    poses = drive(TOUR[:9])
    odom, rng = odometry(poses, np.random.default_rng(1)), np.random.default_rng(2)
    localizer = Localizer()
    found = [
        localizer.add(0.1 * i, o, farther(scan(flat(), p, rng), by)).pose
        for i, (p, o) in enumerate(zip(poses, odom, strict=True))
    ]
    off = np.array(found) - relatives(poses[0], poses)
    return localizer, float(np.sqrt((off[:, :2] ** 2).sum(1).mean()))


@pytest.mark.parametrize('by', [0.0, 0.03, -0.03])
def test_the_error_is_learned_while_driving(by):
    localizer, error = tour(by)
    bias = localizer.own.range_bias
    assert bias.used == pytest.approx(by, abs=0.005)
    assert math.sqrt(bias.variance) < 0.01
    assert error < 0.008


def test_without_learning_the_path_bends(monkeypatch):
    monkeypatch.setattr(RangeBias, 'learn', lambda *_: 0.0)
    assert tour(0.03)[1] > 0.015


def test_one_match_shows_the_error():
    """A straight wall and a pillar, first seen from one end, then from the other."""
    walls = np.array([[-4.0, 2.0, 4.0, 2.0], *box(-0.3, -2.3, 0.3, -1.7), [-4.0, -4.0, 4.0, -4.0]])
    poses = np.array([[-2.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    scans = [surfels(farther(scan(walls, p, beams=720), 0.03)) for p in poses]
    local = build_map(scans[:1], poses[:1], ORIGIN, 30.0)
    start = poses[1]
    found = align(
        local, scans[1], start, start, np.diag([1e4, 1e4, 1e4]), kernel=0.04, cutoff=0.2, weak=0.02
    )
    assert found.too_far_information > 0
    assert found.too_far == pytest.approx(0.03, abs=0.01)
    same = align(
        local, scans[0], poses[0], poses[0], np.eye(3), kernel=0.04, cutoff=0.2, weak=0.02
    )
    assert same.too_far_information < 0.01 * found.too_far_information


def test_correction_undoes_the_error_in_points_and_in_kept_surfels():
    points = scan(flat(), np.array([1.5, 1.2, 0.3]))
    bias = RangeBias()
    bias.used = 0.03
    assert np.abs(bias.correct(farther(points, 0.03), ORIGIN) - points).max() < 1e-12
    true, kept = surfels(points), surfels(farther(points, 0.03)).nearer(0.03)
    local = build_map([true], np.zeros((1, 3)), ORIGIN, 30.0)
    for own, straight in ((kept, True), (kept.nearer(-0.03), False)):
        found = align(
            local, own, np.zeros(3), np.zeros(3), 1e9 * np.eye(3), kernel=0.04, cutoff=0.2, weak=0.0
        )
        assert (found.residual < 0.004) == straight


def test_nothing_is_learned_from_nothing_nor_from_outliers():
    bias = RangeBias()
    for _ in range(100):
        assert bias.learn(5.0, 0.0) == 0.0
    assert bias.mean == 0.0
    assert bias.learn(5.0, 1e4) < 2 * LASERS
    for _ in range(1000):
        bias.learn(5.0, 1e9)
    assert bias.mean <= MOST


def test_it_survives_a_restart():
    localizer, _ = tour(0.03)
    other = Localizer()
    restore(other, save(localizer))
    assert vars(other.own.range_bias) == vars(localizer.own.range_bias)
