import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, OccupancyMap

coordinate = st.floats(-50, 50)


@given(
    origin=st.tuples(coordinate, coordinate, st.floats(-4, 4)),
    resolution=st.sampled_from([0.01, 0.05, 0.1, 0.37]),
    cell=st.tuples(st.integers(0, 8), st.integers(0, 12)),
)
def test_cell_centres_lie_in_their_cells(origin, resolution, cell):
    occupancy = OccupancyMap(np.zeros((9, 13), np.int8), resolution, origin)
    row, col = occupancy.cell_of(occupancy.centre_of(*cell))
    assert (int(row), int(col)) == cell


@given(point=st.tuples(coordinate, coordinate), yaw=st.floats(-4, 4))
def test_world_to_grid_and_back(point, yaw):
    occupancy = OccupancyMap(np.zeros((3, 3), np.int8), 0.05, (3.0, -2.0, yaw))
    assert occupancy.to_world(occupancy.to_grid(point)) == pytest.approx(point, abs=1e-9)


def test_yaw_turns_the_map_about_its_origin():
    occupancy = OccupancyMap(np.zeros((10, 10), np.int8), 0.1, (1.0, 2.0, math.pi / 2))
    # along the map's x axis, which points along the world's y
    assert occupancy.to_world((5.0, 0.0)) == pytest.approx((1.0, 2.5))


def test_value_at_reads_rows_upwards_and_unknown_outside():
    cells = np.full((2, 3), FREE, np.int8)
    cells[1, 2] = OCCUPIED
    occupancy = OccupancyMap(cells, 1.0)
    values = occupancy.value_at([(2.5, 1.5), (2.5, 0.5), (-0.1, 0.5), (0.5, 2.1)])
    assert values.tolist() == [OCCUPIED, FREE, UNKNOWN, UNKNOWN]


def test_reducing_keeps_wall_thickness_and_extent():
    cells = np.full((103, 207), FREE, np.int8)
    cells[:, 50:70] = OCCUPIED  # 0.2 m
    cells[:, 200:] = UNKNOWN
    small = OccupancyMap(cells, 0.01, (1.0, 2.0, 0.0)).reduced_to(0.05)
    assert small.shape == (21, 42)
    assert small.origin == (1.0, 2.0, 0.0)
    assert small.solid.sum(1) * 0.05 == pytest.approx(0.2)
    assert (small.cells[:, 41] == UNKNOWN).all()
    assert small.reduced_to(0.02) is small


def test_reducing_takes_any_ratio():
    cells = np.full((100, 100), FREE, np.int8)
    cells[40:60] = OCCUPIED
    assert OccupancyMap(cells, 0.03).reduced_to(0.05).solid.mean() == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ('cells', 'resolution', 'origin', 'part'),
    [
        (np.zeros(4, np.int8), 0.05, (0, 0, 0), r'\(4,\)'),
        (np.zeros((2, 2)), 0.05, (0, 0, 0), 'float64'),
        (np.zeros((2, 2), np.int8), 0.0, (0, 0, 0), '0.0 m'),
        (np.zeros((2, 2), np.int8), 0.05, (0, math.nan, 0), 'nan'),
    ],
)
def test_bad_maps_are_refused_by_value(cells, resolution, origin, part):
    with pytest.raises(PlanError, match=part):
        OccupancyMap(cells, resolution, origin)
