"""Registration of two models: surfaces, what is found, what is refused and why."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from delama_ros.rendezvous.attempt import Search, check
from delama_ros.rendezvous.outcome import Outcome, Reason, Rule
from delama_ros.rendezvous.patches import patches_of, search_patches_of
from delama_ros.rendezvous.se2 import Floats, compose, difference
from delama_ros.rendezvous.surface import MAX_TILES, surface_of, tiles_of

spec = importlib.util.spec_from_file_location('worlds', Path(__file__).parent / 'worlds.py')
assert spec is not None
assert spec.loader is not None
worlds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worlds)
FLAT, pose, rows_of_rooms, surface = (
    worlds.FLAT, worlds.pose, worlds.rows_of_rooms, worlds.surface,
)


def errors(outcome: Outcome, truth: Floats) -> tuple[float, float]:
    centre = np.array([*outcome.centre.tolist(), 0.0])
    gap = difference(compose(truth, centre), compose(outcome.transform, centre))
    return math.hypot(gap[0], gap[1]), abs(math.degrees(gap[2]))


def test_a_room_has_the_surface_of_its_walls() -> None:
    room = surface([(0.0, 0.0, 4.0, 3.0)], pose(0.37, -1.2, 33.0))
    assert room.length == pytest.approx(14.0, abs=0.8)
    at = np.abs(compose_points(pose(0.37, -1.2, 33.0), room.points) - np.array([2.0, 1.5]))
    off = np.minimum(np.abs(at[:, 0] - 2.0), np.abs(at[:, 1] - 1.5))
    assert np.percentile(off, 95) < 0.06
    assert np.allclose(np.hypot(*room.normals.T), 1.0)


def compose_points(frame: Floats, points: Floats) -> Floats:
    return np.array([compose(frame, [x, y, 0.0])[:2] for x, y in points])


@pytest.mark.parametrize('degrees', [0.0, 46.5, 133.0, -91.0])
def test_the_frame_of_a_peer_is_found(degrees: float) -> None:
    mine, theirs = pose(3.0, -2.0, 12.0), pose(-20.0, 11.0, 12.0 + degrees)
    own = surface(FLAT, mine, (-1.0, -1.0, 9.0, 6.0))
    peer = surface(FLAT, theirs, (2.9, -1.0, 9.0, 10.0))
    outcome = Search(own, peer).run()
    assert outcome.accepted, outcome.reason
    metres, turn = errors(outcome, difference(mine, theirs))
    assert metres < 0.02
    assert turn < 0.2
    assert outcome.matched > 15.0
    assert np.sqrt(np.linalg.eigvalsh(outcome.covariance)[0]) > 0


def test_metres_that_nothing_else_explains_decide() -> None:
    own = surface(FLAT, pose(3.0, -2.0, 12.0), (-1.0, -1.0, 9.0, 6.0))
    peer = surface(FLAT, pose(-20.0, 11.0, 80.0), (2.9, -1.0, 9.0, 10.0))
    found = Search(own, peer).run()
    assert found.lead < found.strength - 1.0  # a corner of one room is also one of another
    assert found.lead < found.strength - found.second
    above = Search(own, peer, Rule(lead=found.lead + 0.1)).run()
    below = Search(own, peer, Rule(lead=found.lead - 0.1)).run()
    assert (below.accepted, below.reason) == (True, Reason.MATCHED)
    assert (above.accepted, above.promising) == (False, True)
    assert above.reason in (Reason.REPEATED, Reason.LITTLE_SHARED)
    # A rival decides against a match also where it is too short for the attempt to be ambiguous.
    share = 0.9 * found.second / found.score
    rivalled = Search(own, peer, Rule(ambiguous=share, least=99.0)).run()
    assert (rivalled.accepted, rivalled.reason) == (False, Reason.LITTLE_SHARED)


def test_other_buildings_are_refused() -> None:
    other = [(0.0, 0.0, 5.2, 2.7), (5.4, 0.0, 9.0, 4.9), (0.0, 2.9, 2.1, 7.0), (2.3, 2.9, 5.2, 7.0),
             (5.1, 1.0, 5.5, 1.9), (1.0, 2.6, 1.9, 3.0), (3.0, 2.6, 3.8, 3.0)]  # fmt: skip
    outcome = Search(surface(FLAT, pose(0, 0, 5)), surface(other, pose(1, 2, 80))).run()
    assert not outcome.accepted
    assert outcome.reason in (Reason.LITTLE_SHARED, Reason.CONTRADICTED, Reason.AMBIGUOUS)


def test_a_rectangle_is_ambiguous() -> None:
    room = [(0.0, 0.0, 6.0, 4.0)]
    outcome = Search(surface(room, pose(0, 0, 5)), surface(room, pose(1, 2, 80))).run()
    assert not outcome.accepted
    assert outcome.reason is Reason.AMBIGUOUS
    assert outcome.second > 0.8 * outcome.score


def test_a_corridor_leaves_one_direction_open() -> None:
    hall = [(0.0, 0.0, 14.0, 2.0)]
    part = (1.0, -1.0, 13.0, 3.0)  # neither end
    outcome = Search(surface(hall, pose(0, 0, 5), part), surface(hall, pose(1, 2, 80), part)).run()
    assert not outcome.accepted
    assert outcome.reason in (Reason.AMBIGUOUS, Reason.WEAK_DIRECTION)


def test_little_or_nothing_is_not_an_error() -> None:
    nothing = np.zeros((0, 2)), np.zeros((0, 3)), np.zeros((0, 36))
    empty = surface_of(tiles_of(*nothing, np.ones((3, 24, 24)), 0.0))
    assert Search(empty, surface(FLAT, pose(0, 0, 0))).run().reason is Reason.LITTLE_MAPPED
    assert check(empty, empty, np.zeros(3)).reason is Reason.LITTLE_MAPPED


def test_a_check_follows_small_changes_and_contradicts_wrong_transforms() -> None:
    mine, theirs = pose(3.0, -2.0, 12.0), pose(-4.0, 5.0, 70.0)
    own, peer = surface(FLAT, mine), surface(FLAT, theirs, (-1.0, -1.0, 9.0, 7.0))
    truth = difference(mine, theirs)
    outcome = check(own, peer, truth + np.array([0.05, -0.04, 0.004]))
    assert outcome.accepted
    assert errors(outcome, truth)[0] < 0.02
    wrong = compose(truth, pose(1.1, 0.6, 15.0))
    assert check(own, peer, wrong).reason is Reason.CONTRADICTED
    assert not check(own, peer, truth + np.array([90.0, 0.0, 0.0])).accepted


def test_large_maps_are_cut_into_bounded_windows() -> None:
    rows = [(9.0 * i + dx, 9.0 * j + dy, 9.0 * i + ex, 9.0 * j + ey)
            for i in range(3) for j in range(3) for dx, dy, ex, ey in FLAT]  # fmt: skip
    whole = surface(rows, pose(0, 0, 0), (-1.0, -1.0, 28.0, 28.0))
    windows, searched = patches_of(whole), search_patches_of(whole)
    assert len(windows) > len(searched) > 1
    assert max(max(p.open.shape) for p in windows) <= 8 * 24
    assert max(max(p.open.shape) for p in searched) <= 16 * 24
    assert [p.length for p in windows] == sorted((p.length for p in windows), reverse=True)
    steps = []
    for pairs in (2, 10):
        bounded = Search(whole, whole, Rule(pairs=pairs, windows=99))  # never enough
        steps.append(1)
        while bounded.step() is None:
            steps[-1] += 1
        assert not bounded.complete
    assert steps[1] - steps[0] == 8  # one window per step, after places were described


def test_windows_that_agree_do_not_count_where_most_of_the_map_contradicts() -> None:
    mine, theirs = pose(3.0, -2.0, 12.0), pose(-4.0, 5.0, 70.0)
    seen = (-1.0, -1.0, 28.0, 28.0)
    outcomes = [
        Search(
            surface(rows_of_rooms(3, 4, change), mine, seen),
            surface(rows_of_rooms(3, 5, change), theirs, seen),
        ).run()
        for change in (8.0, 20.0)
    ]
    assert not outcomes[0].accepted
    assert outcomes[1].accepted  # what differs there is the smaller part


def test_windows_that_agree_join_large_maps_and_one_alone_does_not() -> None:
    rooms = rows_of_rooms(3, 3, 99.0)
    mine, theirs = pose(3.0, -2.0, 12.0), pose(-4.0, 5.0, 70.0)
    own = surface(rooms, mine, (-1.0, -1.0, 28.0, 24.0))
    peer = surface(rooms, theirs, (2.0, 2.0, 28.0, 28.0))
    outcome = Search(own, peer).run()
    assert outcome.accepted, outcome.reason
    assert outcome.windows >= 2
    metres, turn = errors(outcome, difference(mine, theirs))
    assert metres < 0.05
    assert turn < 0.3
    search = Search(own, peer, Rule(pairs=1))
    assert not search.run().accepted
    moved = check(own, peer, outcome.transform)
    assert moved.accepted
    assert moved.windows >= 2


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'keys': np.zeros((2, 3), int)}, r'\(2, 3\)'),
        ({'theta': np.full((2, 3), np.nan)}, 'NaN'),
        ({'evidence': np.zeros((2, 35))}, '35'),
        ({'keys': np.array([[0, 0], [2**31 - 1, 0]])}, '2147483647'),
        ({'keys': np.zeros((MAX_TILES + 1, 2), int), 'theta': np.zeros((MAX_TILES + 1, 3)),
          'evidence': np.zeros((MAX_TILES + 1, 36))}, str(MAX_TILES)),
    ],
)  # fmt: skip
def test_bad_models_are_refused(change: dict[str, np.ndarray], message: str) -> None:
    given = {'keys': np.array([[0, 0], [1, 0]]), 'theta': np.zeros((2, 3)),
             'evidence': np.zeros((2, 36)), **change}  # fmt: skip
    with pytest.raises(ValueError, match=message):
        tiles_of(given['keys'], given['theta'], given['evidence'], np.ones((3, 24, 24)), 0.0)
