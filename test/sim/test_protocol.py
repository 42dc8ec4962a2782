import numpy as np
import pytest

from delama_sim.grid import FREE
from delama_sim.plans.generator import generate
from delama_sim.protocol import mapping_run, prepare


def test_the_protocol_is_the_stated_one():
    plan = generate(11, furniture=False)
    run = mapping_run(prepare(plan, 4), 4)
    assert run.poses.shape == (12, 5, 3)
    assert run.ranges.shape == (12, 5, 360)
    assert run.angles.shape == (360,)
    assert run.truth.resolution == 0.1
    assert run.map.solid.sum() > plan.map.solid.sum()
    steps = np.hypot(*np.diff(run.poses, axis=0)[..., :2].transpose(2, 0, 1))
    assert (steps <= 1.2 + 1e-6).all()
    assert np.median(steps) > 0.9
    assert (run.map.value_at(run.poses[..., :2]) == FREE).all()


def test_beams_end_on_surfaces():
    run = mapping_run(prepare(generate(12), 1), 1)
    met = np.isfinite(run.ranges)
    angles = run.poses[..., 2:] + run.angles
    reach = np.where(met, run.ranges, 0) + 0.05
    x = run.poses[..., :1] + reach * np.cos(angles)
    y = run.poses[..., 1:2] + reach * np.sin(angles)
    rows, cols = (np.floor(v / 0.1).astype(int) for v in (y, x))
    assert run.truth.occupied[rows[met], cols[met]].mean() > 0.85


def test_the_seed_decides():
    occupancy = prepare(generate(13), 2)
    assert (prepare(generate(13), 2).cells == occupancy.cells).all()
    one, same, other = (mapping_run(occupancy, seed) for seed in (5, 5, 6))
    assert one.ranges.tobytes() == same.ranges.tobytes()
    assert one.ranges.tobytes() != other.ranges.tobytes()


@pytest.mark.parametrize('seed', range(8))
def test_one_to_three_blocks(seed):
    plan = generate(seed, furniture=False).map
    from delama_sim.plans.edit import thicken_walls

    added = prepare(plan, seed).solid.sum() - thicken_walls(plan, 0.05).solid.sum()
    assert 0.15 < added * 0.05**2 < 3 * 0.9 * 1.7
