import numpy as np
import pytest

from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, OccupancyMap
from delama_ros.geometry.truth import surface_truth
from delama_sim.plans.generator import generate


def test_a_thick_wall_is_a_surface_only_as_deep_as_asked():
    cells = np.full((40, 40), FREE, np.int8)
    cells[:, 20:36] = OCCUPIED  # 0.8 m thick, free on both sides
    cells[:, 36:] = UNKNOWN
    truth = surface_truth(OccupancyMap(cells, 0.05, (1.0, 2.0, 0.3)))
    assert truth.occupied.shape == (20, 20)
    assert truth.origin == (1.0, 2.0, 0.3)
    # cell centres up to 0.25 m from a free centre: columns 20..24, so coarse 10, 11 and half of 12
    assert (truth.occupied.any(0) == np.isin(np.arange(20), [10, 11, 12])).all()
    assert (truth.known.any(0) == (np.arange(20) <= 12)).all()


def brute_force(occupancy, depth):
    """Surface by measuring to every free cell."""
    rows, cols = np.nonzero(occupancy.free)
    surface = np.zeros(occupancy.shape, np.bool_)
    for r, c in np.argwhere(occupancy.solid):
        near = np.hypot(rows - r, cols - c).min() * occupancy.resolution
        surface[r, c] = near <= depth + 1e-9
    return surface


def test_equal_to_brute_force():
    plan = generate(12, resolution=0.1).map
    truth = surface_truth(plan, resolution=0.1, depth=0.25)
    assert (truth.occupied == brute_force(plan, 0.25)).all()


@pytest.mark.parametrize('resolution', [0.05, 0.1, 0.12, 0.2])
def test_any_resolution_covers_the_map_and_keeps_areas(resolution):
    plan = generate(5).map
    truth = surface_truth(plan, resolution=resolution)
    rows, cols = truth.occupied.shape
    assert rows * resolution == pytest.approx(15, abs=resolution)
    assert cols * resolution == pytest.approx(15, abs=resolution)
    fine = surface_truth(plan, resolution=plan.resolution)
    share = truth.occupied.sum() * resolution**2 / (fine.occupied.sum() * plan.resolution**2)
    assert 0.85 < share < 1.3, 'cells half covered count, so walls may be a little thicker'


def test_without_free_space_there_is_no_surface():
    truth = surface_truth(OccupancyMap(np.full((10, 10), OCCUPIED, np.int8), 0.05))
    assert not truth.occupied.any()
    assert not truth.known.any()
