"""A robot's localization: where its map frame is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from delama_ros.geometry.poses import compose, relative
from delama_ros.localization.scan import Sweep
from delama_ros.robot.localization import Localization
from delama_ros.robot.parameters import ROBOT, check
from delama_ros.robot.timed_scan import TimedScan

START, ODOMETRY = (3.0, -2.0, 1.0), (0.4, 0.1, 0.3)
NOW = (1.0, 0.3, 0.8)  # odometry when the first scan arrives


def first_scan(mode: str) -> TimedScan:
    """Return a scan of a round room."""
    sweep = Sweep(np.full(90, 3.0), -math.pi, math.tau / 90, 0.1, 12.0, 0.0)
    return TimedScan(5.0, sweep, NOW, None, (0.0, 0.0, 0.0), mode, [])


def start(mode: str, **changes: Any) -> np.ndarray:
    options = {name: option.default for name, option in ROBOT.items()}
    localization = Localization({**options, 'localization': mode, **changes})
    located, _ = localization.add(first_scan(mode))
    return np.array(located.pose)


@pytest.mark.parametrize('mode', ['slam', 'odometry'])
def test_motion_before_the_first_scan_received_counts(mode: str) -> None:
    pose = start(mode, start_pose=list(START), start_odometry=list(ODOMETRY))
    assert pose == pytest.approx(compose(START, relative(ODOMETRY, NOW)), abs=1e-6)


@pytest.mark.parametrize('mode', ['slam', 'odometry'])
def test_by_default_the_start_is_at_the_first_scan(mode: str) -> None:
    assert start(mode, start_pose=list(START)) == pytest.approx(START, abs=1e-6)


@pytest.mark.parametrize('name', ['start_pose', 'start_odometry'])
@pytest.mark.parametrize('value', [[1.0, 2.0], [0.0, math.nan, 0.0], [0.0, 0.0, math.inf]])
def test_a_bad_pose_is_named(name: str, value: list[float]) -> None:
    with pytest.raises(ValueError, match=f'{name} is .*expected'):
        check({name: value})


@pytest.mark.parametrize(
    ('changes', 'free', 'spread'),
    [
        ({}, True, None),
        ({'start_uncertainty': [0.2, 0.05]}, True, None),  # of a start that is not known
        ({'start_pose': list(START)}, False, None),
        ({'start_pose': list(START), 'start_uncertainty': [0.2, 0.05]}, True, (0.2, 0.05)),
        ({'start_pose': list(START), 'start_uncertainty': [0.0, 0.05]}, True, (0.0, 0.05)),
    ],
)
def test_a_start_that_is_not_exact_gives_a_frame_of_its_own(
    changes: dict[str, list[float]], free: bool, spread: tuple[float, float] | None
) -> None:
    options = {name: option.default for name, option in ROBOT.items()}
    localization = Localization({**options, 'localization': 'slam', **changes})
    located, _ = localization.add(first_scan('slam'))
    assert localization.free is free
    assert localization.spread == spread
    if 'start_pose' in changes:
        assert located.pose == pytest.approx(START, abs=1e-6)
