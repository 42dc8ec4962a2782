import json
import time

import numpy as np
import pytest
from scipy import ndimage

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, UNKNOWN
from delama_sim.plans.edit import thicken_walls
from delama_sim.plans.generator import generate

COUNT = 200


@pytest.fixture(scope='module')
def plans():
    return [generate(seed) for seed in range(COUNT)]


def area(plan):
    return float(plan.map.free.sum() * plan.map.resolution**2)


def test_all_are_connected_for_a_robot(plans):
    for plan in plans:
        thick = thicken_walls(plan.map, 0.05)
        # a robot 0.3 m wide, even after walls have been thickened
        roomy = ndimage.minimum_filter(thick.free.astype(np.uint8), 7, cval=0)
        labels, _ = ndimage.label(roomy)
        sizes = np.bincount(labels.ravel())[1:]
        assert sizes.max() > 0.97 * sizes.sum(), plan.name
        assert (plan.map.cells[[0, -1]] == UNKNOWN).all(), 'nothing touches the frame'
        assert (plan.map.cells[:, [0, -1]] == UNKNOWN).all()


def test_areas_and_doors_are_those_of_real_plans(plans, data_dir):
    real = json.loads((data_dir / 'cubicasa5k' / 'index.json').read_text())['plans'].values()
    areas = [p['indoor_m2'] for p in real]
    doors = [len(p['door_rects_px']) for p in real]
    for plan in plans:
        assert min(areas) <= area(plan) <= max(areas), plan.name
        assert min(doors) <= len(plan.doors) <= max(doors), plan.name
    middle = np.median([area(p) for p in plans])
    assert np.percentile(areas, 25) < middle < np.percentile(areas, 90)
    assert abs(np.median([len(p.doors) for p in plans]) - np.median(doors)) <= 2


def test_no_two_are_alike(plans):
    # moved into one corner, so that placement does not count as a difference
    moved = []
    for plan in plans:
        rows, cols = np.nonzero(plan.map.cells != UNKNOWN)
        moved.append(np.roll(plan.map.solid, (-rows.min(), -cols.min()), (0, 1)).ravel())
    solid = np.array(moved, np.float32)
    both = solid @ solid.T
    size = solid.sum(1)
    overlap = both / (size[:, None] + size - both)
    np.fill_diagonal(overlap, 0)
    assert overlap.max() < 0.7


def test_doors_lead_through_walls(plans):
    for plan in plans:
        for door in plan.doors:
            assert plan.map.value_at(door.mean(0)) == FREE
            width = np.ptp(door, axis=0).max()
            assert 0.75 <= width <= 1.05, plan.name


def test_placement_kinds_and_walls_differ(plans):
    corners = {tuple(np.argwhere(p.map.solid).min(0) // 10) for p in plans}
    assert len(corners) > 30
    inner = []
    for seed in range(40):
        solid = generate(seed, furniture=False).map.solid
        padded = np.pad(solid, ((0, 0), (1, 1))).astype(np.int8)
        runs = np.diff(np.argwhere(np.diff(padded, axis=1))[:, 1].reshape(-1, 2), axis=1)
        inner += [r for r in runs.ravel() * 0.05 if r < 0.3]
    assert np.percentile(inner, 2) <= 0.1
    assert np.percentile(inner, 95) >= 0.2
    assert generate(3, 'flat').name == 'generated:flat:3'
    assert (generate(3, 'flat').map.cells != generate(3, 'office').map.cells).any()


def test_the_seed_is_all_that_matters():
    assert (generate(9).map.cells == generate(9).map.cells).all()
    assert generate(9, furniture=False).map.solid.sum() < generate(9).map.solid.sum()


def test_hundreds_in_seconds():
    begin = time.perf_counter()
    for seed in range(1000, 1050):
        generate(seed)
    # 6 ms each on an idle core; the bound leaves room for a busy machine
    assert (time.perf_counter() - begin) / 50 < 0.05


def test_larger_frames_and_other_resolutions():
    large = generate(4, 'office', frame=30.0, resolution=0.1)
    assert large.map.shape == (300, 300)
    assert large.rooms > 10


def test_wrong_requests_are_refused():
    with pytest.raises(PlanError, match='seed -1'):
        generate(-1)
    with pytest.raises(PlanError, match=r'frame of 3\.0 m'):
        generate(1, frame=3.0)
