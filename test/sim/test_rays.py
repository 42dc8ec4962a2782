import json
import math

import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

from delama_ros.geometry.grid import FREE, OCCUPIED, OccupancyMap
from delama_sim.plans import load
from delama_sim.plans.generator import generate
from delama_sim.rays import RayCaster


def room(rows=20, cols=30, resolution=0.1, origin=(0.0, 0.0, 0.0)):
    """An empty room with walls one cell thick."""
    cells = np.full((rows, cols), OCCUPIED, np.int8)
    cells[1:-1, 1:-1] = FREE
    return OccupancyMap(cells, resolution, origin)


def boxes(occupancy):
    """The solid cells as rectangles: runs along rows."""
    solid = np.pad(occupancy.solid, ((0, 0), (1, 1))).astype(np.int8)
    rows, begins = np.nonzero(np.diff(solid, axis=1) == 1)
    _, ends = np.nonzero(np.diff(solid, axis=1) == -1)
    r = occupancy.resolution
    return shapely.box(begins * r, rows * r, ends * r, (rows + 1) * r)


def by_geometry(occupancy, origins, angles, limit):
    """Distances by intersecting line segments with rectangles."""
    ends = origins + limit * np.stack([np.cos(angles), np.sin(angles)], -1)
    rays = shapely.linestrings(np.stack([origins, ends], 1))
    walls = boxes(occupancy)
    which, what = shapely.STRtree(walls).query(rays, predicate='intersects')
    parts = shapely.intersection(rays[which], walls[what])
    away = shapely.distance(shapely.points(origins[which]), parts)
    nearest = np.full(len(origins), np.inf)
    np.minimum.at(nearest, which, away)
    return nearest


def free_points(occupancy, count, rng):
    rows, cols = np.nonzero(occupancy.free)
    pick = rng.integers(len(rows), size=count)
    corner = np.stack([cols[pick], rows[pick]], -1)
    return occupancy.to_world(corner + rng.random((count, 2)))


def test_equal_to_geometry_in_ten_real_plans(data_dir):
    index = json.loads((data_dir / 'cubicasa5k' / 'index.json').read_text())['plans']
    rng = np.random.default_rng(0)
    for name in list(index)[:10]:
        occupancy = load(data_dir / 'cubicasa5k' / 'rosmap' / f'{name}.yaml').map
        origins = free_points(occupancy, 1000, rng)
        angles = rng.uniform(-math.pi, math.pi, 1000)
        ranges = RayCaster(occupancy).ranges(origins, angles[:, None], 30.0)[:, 0]
        expected = by_geometry(occupancy, origins, angles, 30.0)
        assert (np.isfinite(ranges) == np.isfinite(expected)).all(), name
        met = np.isfinite(ranges)
        assert met.mean() > 0.5
        # the required half a cell, and what an exact traversal really keeps
        error = np.abs(ranges[met] - expected[met]).max()
        assert error < occupancy.resolution / 2
        assert error < 1e-9


@settings(max_examples=200, deadline=None)
@given(
    x=st.integers(3, 57),
    y=st.integers(3, 37),
    angle=st.one_of(
        st.integers(-8, 8).map(lambda k: k * math.pi / 8), st.floats(-math.pi, math.pi)
    ),
)
@example(x=3, y=4, angle=-2.2e-311)  # a slope whose inverse overflows
@example(x=4, y=3, angle=math.pi / 2)
def test_rays_from_corners_along_edges_and_diagonals_end(x, y, angle):
    # positions on cell corners and edges, directions through corners: where rounding bites
    origin = (x * 0.05, y * 0.05)
    distance = RayCaster(room()).ranges([origin], [[angle]])[0, 0]
    dx, dy = math.cos(angle), math.sin(angle)
    walls = [((2.9 if dx > 0 else 0.1) - origin[0]) / dx] if abs(dx) > 1e-12 else []
    walls += [((1.9 if dy > 0 else 0.1) - origin[1]) / dy] if abs(dy) > 1e-12 else []
    assert distance == pytest.approx(min(walls), abs=1e-6)


def test_many_robots_poses_never_hang():
    occupancy = generate(3, 'office', frame=16.0).map
    rng = np.random.default_rng(1)
    origins = np.round(free_points(occupancy, 3000, rng) / 0.05) * 0.05
    angles = rng.integers(0, 360, (3000, 1)) * math.pi / 180 + np.arange(8) * math.pi / 4
    assert np.isfinite(RayCaster(occupancy).ranges(origins, angles)).any()


def test_turned_and_shifted_maps_see_the_same():
    plain = room()
    turned = room(origin=(5.0, -3.0, 0.7))
    points = np.array([(5.5, 8.2), (20.1, 3.3)])
    angles = np.linspace(-3, 3, 50)
    a = RayCaster(plain).ranges(plain.to_world(points), np.tile(angles, (2, 1)))
    b = RayCaster(turned).ranges(turned.to_world(points), np.tile(angles + 0.7, (2, 1)))
    assert np.allclose(a, b, atol=1e-9)


def test_limits_edges_and_starts():
    caster = RayCaster(room())
    assert caster.ranges([(1.5, 1.0)], [[0.0]]) == pytest.approx(1.4)
    assert caster.ranges([(1.5, 1.0)], [[0.0]], 1.3)[0, 0] == math.inf
    assert caster.ranges([(1.5, 1.0)], [[0.0]], 1.41)[0, 0] == pytest.approx(1.4)
    assert caster.ranges([(0.05, 1.0)], [[0.0]])[0, 0] == 0.0, 'inside a wall'
    assert caster.ranges([(-1.0, 1.0)], [[0.0]])[0, 0] == math.inf, 'outside the map'
    empty = RayCaster(OccupancyMap(np.zeros((5, 5), np.int8), 0.1))
    assert empty.ranges([(0.2, 0.2)], [[1.0]])[0, 0] == math.inf
    with pytest.raises(ValueError, match=r'angles \(3,\), expected'):
        caster.ranges([(1.0, 1.0)], [0.0, 1.0, 2.0])


def test_discs_stop_rays_but_not_the_own_one():
    caster = RayCaster(room())
    discs = [(0.5, 1.0, 0.2), (1.5, 1.0, 0.2)]
    ranges = caster.ranges(
        [(0.5, 1.0), (1.5, 1.0)], [[0.0, 1.5], [math.pi, 0.0]], discs=discs, own=[0, 1]
    )
    assert ranges[0, 0] == pytest.approx(0.8)
    assert ranges[1, 0] == pytest.approx(0.8)
    assert ranges[1, 1] == pytest.approx(1.4)
    near = caster.ranges([(0.5, 1.0)], [[0.0]], 0.5, discs=discs, own=[0])
    assert near[0, 0] == math.inf
    overlapping = caster.ranges([(0.5, 1.0)], [[0.0]], discs=[(0.6, 1.0, 0.2)])
    assert overlapping[0, 0] == pytest.approx(2.4)


def test_walls_between_counts_each_wall_once():
    occupancy = room()
    occupancy.cells[1:15, 10:13] = OCCUPIED
    occupancy.cells[1:15, 20] = OCCUPIED
    counts = RayCaster(occupancy).walls_between(
        [(0.5, 0.5), (0.5, 0.5), (0.5, 1.7), (2.5, 0.5)],
        [(2.5, 0.5), (1.5, 0.6), (2.5, 1.7), (0.5, 0.5)],
    )
    assert counts.tolist() == [2, 1, 0, 2]
