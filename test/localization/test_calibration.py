from __future__ import annotations

import math

import numpy as np
import pytest
from world import box, drive, scan

from delama_ros.localization import Localizer
from delama_ros.localization.calibration import MOST, ROBOTS, Calibration
from delama_ros.localization.se2 import compose, relative, relatives, wrap

ERRORS = np.array([-0.04, math.radians(2.0), 0.06])  # of scale, straight lines and turns


def raw(step):
    """What odometry with these errors makes of a true step."""
    x, y = step[:2] / (1 + ERRORS[0])
    return np.array([x, y, (step[2] - ERRORS[1] * x) / (1 + ERRORS[2])])


def drive_about(calibration, rng, steps, slip=0.0):
    for _ in range(steps):
        true = np.array([0.4, 0.0, rng.choice([0.0, 0.35, -0.35])])
        step = raw(true) + rng.standard_normal(3) * [0.01, 0.01, math.radians(0.5)]
        if rng.random() < slip:
            step += [0.5, 0.0, math.radians(20)]
        before = calibration.pose
        calibration.learn(relative(before, calibration.advance(step)), true, True, True)


@pytest.mark.parametrize(('slip', 'tolerance'), [(0.0, 1.0), (0.05, 2.0)])
def test_systematic_errors_are_learned_and_slips_are_not(slip, tolerance):
    calibration = Calibration()
    drive_about(calibration, np.random.default_rng(3), 300, slip)
    off = np.abs(calibration.mean - ERRORS)
    assert (off < tolerance * np.array([0.01, math.radians(0.4), 0.02])).all()
    assert (np.sqrt(np.diag(calibration.covariance)) < 0.5 * ROBOTS).all()
    assert np.linalg.eigvalsh(calibration.covariance)[0] > 0


def test_wheels_that_stand_still_teach_nothing():
    calibration = Calibration()
    for _ in range(100):
        calibration.learn(np.zeros(3), np.array([0.4, 0.0, 0.1]), True, True)
    assert np.array_equal(calibration.mean, np.zeros(3))
    assert np.array_equal(np.sqrt(np.diag(calibration.covariance)), ROBOTS)


def test_what_is_believed_is_bounded():
    calibration = Calibration()
    for _ in range(1000):
        calibration.learn(np.array([1.0, 0.0, 0.3]), np.array([3.0, 0.0, -1.5]), True, True)
    assert (np.abs(calibration.mean) <= MOST).all()


def test_a_blank_corridor_is_straight_and_of_the_right_length_after_a_room():
    """Odometry alone bends 20 m of corridor by 50°; what the room taught keeps it straight."""
    room = box(0, 0, 6, 5)[1:]  # the wall towards the corridor is left open ...
    walls = room + box(1.0, 3.5, 2.0, 4.2) + [[0, 0, 2, 0], [4, 0, 6, 0]]
    walls = np.array([*walls, [2, 0, 2, -40], [4, 0, 4, -40]])  # ... and leads into a long one
    lap = [(1.0, 1.5), (5.0, 1.5), (5.0, 4.2), (3.0, 4.0), (3.0, 2.0)]
    poses = drive([*lap, *lap, (3.0, -20.0)], 0.2)
    rng, localizer = np.random.default_rng(4), Localizer()
    odom = np.zeros(3)
    for i, pose in enumerate(poses):
        if i:
            odom = compose(odom, raw(relative(poses[i - 1], pose)))
        # The laser sees 6 m: nothing but two parallel walls in the corridor.
        estimate = localizer.add(0.2 * i, odom, scan(walls, pose, rng, reach=6.0))
    true = relatives(poses[0], poses)[-1]
    assert np.hypot(*(estimate.pose - true)[:2]) < 0.3
    assert abs(wrap(float(estimate.pose[2] - true[2]))) < math.radians(2)
    assert localizer.own.calibration.mean == pytest.approx(ERRORS, abs=0.02)
