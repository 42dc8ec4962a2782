"""Free space is believed only where beams have passed or where one can get to."""

import numpy as np

from delama_ros.mapping.passed import CellMarks, hide_unreached
from delama_sim.grid import UNKNOWN


def room_and_outside() -> tuple[np.ndarray, np.ndarray]:
    """Two rooms with a door between them, walls around, and more 'free' cells outside."""
    cells = np.zeros((40, 60), np.int8)
    cells[[10, 30], 10:51] = 100
    cells[10:31, [10, 30, 50]] = 100
    cells[17:24, 30] = 0  # the door
    passed = np.zeros(cells.shape, np.bool_)
    passed[15:20, 12:20] = True
    return cells, passed


def test_what_lies_behind_walls_is_unknown() -> None:
    cells, passed = room_and_outside()
    shown = hide_unreached(cells, passed, 2)
    assert (shown[12:29, 12:29] == 0).all()
    assert (shown[12:29, 33:49] == 0).all()  # the neighbour's room, through the door
    assert (shown[:9] == UNKNOWN).all()
    assert (shown[:, 52:] == UNKNOWN).all()
    assert np.array_equal(shown == 100, cells == 100)


def test_a_small_gap_in_a_drawn_wall_does_not_let_the_outside_in() -> None:
    cells, passed = room_and_outside()
    cells[10, 20] = 0
    assert (hide_unreached(cells, passed, 2)[:8] == UNKNOWN).all()


def test_where_own_beams_passed_is_always_free() -> None:
    cells, passed = room_and_outside()
    passed[5, 5] = True
    shown = hide_unreached(cells, passed, 2)
    assert shown[5, 5] == 0
    cells, passed = room_and_outside()
    assert (hide_unreached(cells, passed & False, 2) <= 0).sum() == (cells == 0).sum()


def test_marks_add_up_and_survive_a_restart() -> None:
    marks = CellMarks(8)
    one, two = np.zeros((2, 8, 8), np.bool_)
    one[1, 2], two[3, 4] = True, True
    marks.add(np.array([[0, 0]], np.int32), one[None])
    marks.add(np.array([[-3, 2], [0, 0]], np.int32), np.stack([two, two]))
    keys = np.array([[0, 0], [5, 5], [-3, 2]], np.int32)
    expected = np.stack([one | two, np.zeros_like(one), two])
    assert np.array_equal(marks.on(keys), expected)
    again = CellMarks(8)
    again.restore(marks.state())
    assert np.array_equal(again.on(keys), expected)
