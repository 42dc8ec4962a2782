"""What a scan says of the cells around it."""

import math

import numpy as np
import pytest

from delama_ros.mapping.scan import BEHIND_1, HIT, PASSED, Scan, scan_marks, within

CELL, SIZE = 0.05, 24


def look(*ranges: float, **changes: object) -> 'dict[tuple[int, int], int]':
    """Marks by cell of beams at 0, 90, … degrees from (0.025, 0.025)."""
    step = 2 * math.pi / max(len(ranges), 1)
    scan = Scan(np.array(ranges), 0.0, step, 0.1, 4.0)
    keys, marks = scan_marks(
        scan, (0.025, 0.025, 0.0), resolution=CELL, tile_cells=SIZE, **changes
    )
    return {
        (int(kx) * SIZE + x, int(ky) * SIZE + y): int(tile[y, x])
        for (kx, ky), tile in zip(keys, marks, strict=True)
        for y, x in np.argwhere(tile)
    }


def test_a_beam_passes_hits_and_says_what_is_behind() -> None:
    marks = look(1.0)
    assert all(marks[x, 0] == PASSED for x in range(19))
    assert marks[20, 0] == HIT
    assert marks[21, 0] == BEHIND_1
    assert max(marks) == (26, 0)
    assert all(y == 0 for _, y in marks)


def test_directions_and_negative_tiles() -> None:
    marks = look(1.0, 0.5, 2.0, 0.5)
    assert marks[0, 10] & HIT
    assert marks[-40, 0] & HIT
    assert marks[0, -10] & HIT


@pytest.mark.parametrize('nothing', [math.nan, -math.inf, 0.05, 5.0])
def test_beams_that_say_nothing(nothing: float) -> None:
    assert look(nothing) == {}


@pytest.mark.parametrize('free', [math.inf, 4.0])
def test_no_return_means_free_up_to_the_maximum(free: float) -> None:
    marks = look(free)
    assert set(marks.values()) == {PASSED}
    assert max(marks)[0] in (78, 79)


def test_a_peer_is_no_wall() -> None:
    marks = look(1.0, peers=[(1.1, 0.0)])
    assert set(marks.values()) == {PASSED}
    assert look(1.0, peers=[(2.0, 0.0)]) == look(1.0)
    assert look(1.0, peers=[]) == look(1.0)


def test_a_limited_reach() -> None:
    scan = within(Scan(np.array([1.0, 3.0, np.inf, 50.0]), 0.0, 1.0, 0.1, 10.0), 2.0)
    assert scan.range_max == 2.0
    assert scan.ranges[:3].tolist() == [1.0, np.inf, np.inf]
    assert np.isnan(scan.ranges[3])
    assert within(scan, 30.0) is scan


@pytest.mark.parametrize(
    ('ranges', 'low', 'high', 'words'),
    [
        ([], 0.1, 4.0, r'shape \(0,\)'),
        ([1.0], 4.0, 1.0, 'range_min 4.0 and range_max 1.0'),
        ([1.0], 0.1, math.inf, 'finite'),
    ],
)
def test_wrong_scans_are_named(ranges: list[float], low: float, high: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Scan(np.array(ranges), 0.0, 0.1, low, high)


def test_a_pose_that_is_not_finite() -> None:
    with pytest.raises(ValueError, match='pose'):
        scan_marks(
            Scan(np.ones(1), 0.0, 0.1, 0.1, 4.0),
            (math.nan, 0.0, 0.0),
            resolution=CELL,
            tile_cells=SIZE,
        )
