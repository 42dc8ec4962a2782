"""Where frames are in a building: what robots' poses say together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from delama_ros.geometry.anchors import Anchors
from delama_ros.geometry.grid import Pose
from delama_ros.geometry.poses import as_pose, best_fit, compose, relative

FRAME = 'ann:1'
TRUE: Pose = (4.0, -2.0, 0.7)  # of the frame in the building


def drive(anchors: Anchors, robot: str, poses: list[Pose], frame: Pose = TRUE) -> None:
    """Let a robot publish what it believes; frame: where it takes the frame to be."""
    for second, pose in enumerate(poses):
        anchors.add_true(robot, float(second), as_pose(compose(TRUE, pose)))
        anchors.add_pose(robot, float(second), as_pose(relative(frame, compose(TRUE, pose))))
    anchors.begin(robot, FRAME)


def line(x: float, y: float, count: int = 12) -> list[Pose]:
    return [(x, y + 0.8 * k, 0.1 * k) for k in range(count)]


def off(anchors: Anchors) -> float:
    """Return how far, in m, a point 10 m away is from where it should be."""
    found = anchors.of(FRAME)
    assert found is not None
    far = (10.0, 0.0, 0.0)
    return math.dist(compose(found, far)[:2], compose(TRUE, far)[:2])


def test_a_frame_begins_with_the_first_pose_of_its_maker() -> None:
    anchors = Anchors()
    assert anchors.of(FRAME) is None
    drive(anchors, 'ann', line(1.0, 0.0, 1))
    assert off(anchors) < 1e-9


def test_the_error_of_one_heading_does_not_turn_the_building() -> None:
    anchors = Anchors()
    tilted = as_pose(compose(compose(TRUE, (1.0, 0.0, math.radians(0.5))), (-1.0, 0.0, 0.0)))
    drive(anchors, 'ann', line(1.0, 0.0, 1), tilted)  # the first scan's heading is off by 0.5°
    alone = off(anchors)
    assert alone == pytest.approx(9.0 * math.radians(0.5), rel=0.01)
    drive(anchors, 'bob', line(8.0, 1.0))
    drive(anchors, 'cid', line(5.0, -9.0))
    assert off(anchors) < 0.2 * alone


def test_who_joined_wrongly_has_no_say() -> None:
    anchors = Anchors()
    drive(anchors, 'ann', line(1.0, 0.0))
    drive(anchors, 'bob', line(8.0, 1.0), as_pose(compose(TRUE, (0.0, 3.0, 0.5))))
    assert off(anchors) < 1e-9
    error = anchors.error('bob', FRAME)
    assert error is not None
    assert error > 2.0


def test_poses_of_an_earlier_frame_are_forgotten() -> None:
    anchors = Anchors()
    drive(anchors, 'ann', line(1.0, 0.0))
    earlier = as_pose(compose(TRUE, (0.4, 0.0, 0.0)))
    for second, pose in enumerate([*line(8.0, 1.0), (8.0, 12.0, 0.0)]):
        frame = earlier if second < 12 else TRUE
        anchors.add_true('bob', float(second), as_pose(compose(TRUE, pose)))
        anchors.add_pose('bob', float(second), as_pose(relative(frame, compose(TRUE, pose))))
        anchors.begin('bob', 'bob:1' if second < 12 else FRAME)
    assert off(anchors) < 1e-9


def test_best_fit_finds_a_known_transform() -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(30, 2)) * 4
    targets = compose(TRUE, np.column_stack([points, np.zeros(30)]))[:, :2]
    assert best_fit(points, targets) == pytest.approx(np.array(TRUE))
    targets[0] += 50.0
    weights = np.ones(30)
    weights[0] = 0.0
    assert best_fit(points, targets, weights) == pytest.approx(np.array(TRUE))
