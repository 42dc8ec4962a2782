"""Bent maps: windows that follow one another, and those that contradict."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from delama_ros.rendezvous.attempt import check
from delama_ros.rendezvous.chain import NEAR, lay
from delama_ros.rendezvous.closures import find_closures
from delama_ros.rendezvous.outcome import Reason, Rule
from delama_ros.rendezvous.se2 import IDENTITY

spec = importlib.util.spec_from_file_location('worlds', Path(__file__).parent / 'worlds.py')
assert spec is not None
assert spec.loader is not None
worlds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worlds)
pose, rows_of_rooms, surface = worlds.pose, worlds.rows_of_rooms, worlds.surface

BEND = math.radians(0.5)  # per metre: 13° from end to end
SEEN = (-1.0, -1.0, 28.0, 9.0)
ROOMS = rows_of_rooms(3, 3, 99.0)


def test_windows_follow_one_another_far_beyond_what_one_may_be_off() -> None:
    straight, bent = (surface(ROOMS, IDENTITY, SEEN, bend) for bend in (0.0, BEND))
    laid = lay(bent, straight, IDENTITY, Rule(), overlapping=True)
    turns = np.array([placed.transform[2] for placed in laid.found])
    centres = np.array([placed.centre for placed in laid.found])
    assert np.abs(turns - BEND * centres[:, 0]).max() < math.radians(2.0)
    assert turns.max() > 2.5 * NEAR[1]
    assert len(laid.found) > 0.8 * len(laid.found + laid.failed)
    assert len(laid.opposed) < 0.1 * len(laid.found)


def test_a_bent_map_stands_and_another_building_does_not() -> None:
    bent, straight = surface(ROOMS, IDENTITY, SEEN, BEND), surface(ROOMS, IDENTITY, SEEN)
    outcome = check(straight, bent, pose(0.1, -0.1, 0.5))
    assert outcome.accepted
    assert outcome.bent
    other = surface(rows_of_rooms(8, 8, 99.0), IDENTITY, SEEN)
    assert check(other, bent, IDENTITY).reason is Reason.CONTRADICTED


def test_closures_say_where_all_of_a_bent_map_belongs() -> None:
    straight, bent = (surface(ROOMS, IDENTITY, SEEN, bend) for bend in (0.0, BEND))
    closures = find_closures(bent, straight, pose(0.05, 0.05, 0.3))
    off = np.array([closure.off for closure in closures])
    assert np.hypot(*off[:, :2].T).max() > 3 * NEAR[0]
    for closure in closures:  # the world as a bent map shows it is an arc
        x, y = closure.centre
        radius, turn = 1 / BEND - y, BEND * x
        right = (radius * math.sin(turn), 1 / BEND - radius * math.cos(turn))
        assert closure.pose[:2] == pytest.approx(right, abs=0.25)
