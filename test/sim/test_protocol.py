from itertools import pairwise

import numpy as np
import pytest

from delama_ros.geometry.grid import FREE
from delama_ros.geometry.poses import compose, relative
from delama_sim.lidar import Lidar
from delama_sim.plans.generator import generate
from delama_sim.protocol import drive, mapping_run, prepare


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


def test_figures_of_the_protocol_stay_the_same():
    run = mapping_run(prepare(generate(11), 4), 4)
    some = run.ranges[[0, 5, 11], [0, 2, 4], [7, 100, 300]]
    assert some == pytest.approx([0.6677878, 0.7018489, 3.9052107], abs=1e-6)
    assert run.ranges[np.isfinite(run.ranges)].sum(dtype=float) == pytest.approx(43744.4, abs=0.1)


def test_a_drive_goes_the_ways_of_the_protocol():
    occupancy = prepare(generate(11), 4)
    run, streams = mapping_run(occupancy, 4), drive(occupancy, 4)
    assert len(streams) == 5
    for i, stream in enumerate(streams):
        last = {measured.step: measured for measured in stream}
        assert sorted(last) == list(range(12))
        where = np.array([last[k].true_pose[:2] for k in range(12)])
        assert where == pytest.approx(run.poses[:, i, :2], abs=1e-9)
        poses = np.array([measured.true_pose for measured in stream])
        moves = np.array([relative(a, b) for a, b in pairwise(poses)])
        assert np.hypot(moves[:, 0], moves[:, 1]).max() <= 0.1 + 1e-9
        assert np.abs(moves[:, 2]).max() <= np.deg2rad(15) + 1e-9
        assert (np.diff([measured.stamp for measured in stream]) > 0).all()


def test_a_drive_has_the_odometry_it_is_asked_for():
    occupancy = prepare(generate(12), 1)
    exact, real = (drive(occupancy, 1, robots=3, odometry=name) for name in ('exact', 'turtlebot'))
    for stream in exact:
        start = stream[0].true_pose
        for measured in stream:
            off = relative(compose(start, measured.odom_pose), measured.true_pose)
            assert off == pytest.approx([0, 0, 0], abs=1e-9)
    gaps = [
        np.hypot(*relative(compose(s[0].true_pose, s[-1].odom_pose), s[-1].true_pose)[:2])
        for s in real
    ]
    assert max(gaps) > 0.2, 'it has drifted'
    for one, other in zip(exact, real, strict=True):  # errors of odometry change nothing else
        assert all((a.scan == b.scan).all() for a, b in zip(one, other, strict=True))


def test_a_sweeping_laser_gets_odometry_at_its_end():
    occupancy = prepare(generate(12), 1)
    lidar = Lidar(sweep=0.15, beams=90, range_noise=0.0)
    stream = drive(occupancy, 1, robots=1, odometry='exact', lidar=lidar)[0]
    moved = [np.abs(relative(m.odom_pose, m.odom_end)) for m in stream]
    assert 0.03 < np.median([m[0] for m in moved]) <= 0.075 + 1e-6
    still = drive(occupancy, 1, robots=1, odometry='exact', lidar=Lidar(beams=90))[0]
    assert all((m.odom_pose == m.odom_end).all() for m in still)


def test_the_seed_decides_a_drive():
    occupancy = prepare(generate(13), 2)
    one, same, other = (drive(occupancy, s, robots=2, steps=4) for s in (5, 5, 6))
    assert [m.scan.tobytes() for m in one[1]] == [m.scan.tobytes() for m in same[1]]
    assert (one[1][-1].odom_pose == same[1][-1].odom_pose).all()
    assert (one[0][0].true_pose != other[0][0].true_pose).any()
    with pytest.raises(ValueError, match='steps is 0'):
        drive(occupancy, 5, steps=0)
    with pytest.raises(ValueError, match="'tricycle'"):
        drive(occupancy, 5, odometry='tricycle')
