import numpy as np
import pytest
from scipy import ndimage

from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, OccupancyMap
from delama_sim.plans.edit import add_blocks, crop, drop_small, thicken_walls
from delama_sim.plans.generator import generate


def hall(rows=60, cols=80):
    cells = np.full((rows, cols), OCCUPIED, np.int8)
    cells[4:-4, 4:-4] = FREE
    return OccupancyMap(cells, 0.05)


def test_walls_grow_on_each_side():
    cells = np.full((20, 20), FREE, np.int8)
    cells[:, 9:11] = OCCUPIED
    plan = OccupancyMap(cells, 0.05)
    assert (thicken_walls(plan, 0.05).solid.sum(1) == 4).all()
    assert (thicken_walls(plan, 0.1).solid.sum(1) == 6).all()
    assert thicken_walls(plan, 0.0) is plan
    with pytest.raises(ValueError, match=r'-0\.1'):
        thicken_walls(plan, -0.1)


def test_small_structures_go_and_large_ones_stay():
    plan = hall()
    plan.cells[20:22, 20:22] = OCCUPIED  # 0.01 m²
    plan.cells[30:40, 30:40] = OCCUPIED  # 0.25 m²
    after = drop_small(plan, 0.1)
    assert (after.cells[20:22, 20:22] == FREE).all()
    assert (after.cells[30:40, 30:40] == OCCUPIED).all()
    assert after.solid.sum() == plan.solid.sum() - 4


def test_what_stood_in_the_unknown_becomes_unknown():
    cells = np.full((20, 20), UNKNOWN, np.int8)
    cells[5, 5] = OCCUPIED
    assert (drop_small(OccupancyMap(cells, 0.05), 0.1).cells == UNKNOWN).all()


def test_blocks_are_added_without_cutting_anything_off():
    for seed in range(20):
        plan = generate(seed, furniture=False).map
        after = add_blocks(plan, 3, np.random.default_rng(seed))
        added = after.solid & ~plan.solid
        assert 1 <= ndimage.label(added)[1] <= 3
        assert (plan.cells[added] == FREE).all()
        roomy = ndimage.minimum_filter(after.free.astype(np.uint8), 9, cval=0)
        before = ndimage.minimum_filter(plan.free.astype(np.uint8), 9, cval=0)
        assert ndimage.label(roomy)[1] <= max(1, ndimage.label(before)[1]), seed


def test_blocks_need_room():
    full = OccupancyMap(np.full((10, 10), OCCUPIED, np.int8), 0.05)
    assert add_blocks(full, 3, np.random.default_rng(0)) is full
    corridor = hall(rows=18)  # 0.5 m wide: any block would close it
    assert (add_blocks(corridor, 3, np.random.default_rng(0)).cells == corridor.cells).all()


def test_cropping_keeps_places():
    plan = generate(6).map
    cut = crop(plan, 0.2)
    assert cut.shape < plan.shape
    rows, cols = np.nonzero(plan.solid)
    points = plan.centre_of(rows, cols)
    assert (cut.value_at(points) == OCCUPIED).all()
    assert cut.solid.sum() == plan.solid.sum()
