import math

import numpy as np
import pytest

from delama_ros.geometry.grid import FREE, OCCUPIED, OccupancyMap
from delama_sim.lidar import Lidar
from delama_sim.rays import RayCaster

CENTRE = np.array([[5.0, 5.0, 0.3]])


def hall(size=10.0, resolution=0.05):
    n = round(size / resolution)
    cells = np.full((n, n), OCCUPIED, np.int8)
    cells[1:-1, 1:-1] = FREE
    return RayCaster(OccupancyMap(cells, resolution))


def test_a_full_circle_has_no_beam_twice_and_a_sector_both_ends():
    full = Lidar(beams=360)
    assert full.angle_increment == pytest.approx(math.pi / 180)
    assert full.angles[-1] < math.pi - 0.01
    sector = Lidar(beams=181, field_of_view=math.pi)
    assert sector.angles[[0, -1]] == pytest.approx([-math.pi / 2, math.pi / 2])
    assert Lidar(beams=1).angles.tolist() == [0.0]


@pytest.mark.parametrize('beams', [1, 2, 7, 720, 5000])
def test_any_number_of_beams(beams):
    ranges, _ = Lidar(beams=beams).scan(hall(), CENTRE, None)
    assert ranges.shape == (1, beams)
    assert ranges.dtype == np.float32


def test_noise_has_the_asked_spread_and_no_bias():
    lidar = Lidar(beams=3600, range_noise=0.02)
    clean, _ = lidar.scan(hall(), CENTRE, None)
    noisy, _ = lidar.scan(hall(), CENTRE, [np.random.default_rng(0)])
    error = noisy - clean
    assert error.std() == pytest.approx(0.02, rel=0.05)
    assert abs(error.mean()) < 0.002


def test_rep_117():
    lidar = Lidar(range_min=5.2, range_max=6.0, range_noise=0.0)
    ranges, _ = lidar.scan(hall(), CENTRE, None)
    assert (ranges == -math.inf).any()
    assert (ranges == math.inf).any()
    seen = ranges[np.isfinite(ranges)]
    assert ((seen >= 5.2) & (seen <= 6.0)).all()
    assert not np.isnan(ranges).any()


def test_dropout_gives_infinity():
    ranges, _ = Lidar(beams=5000, dropout=0.3).scan(hall(), CENTRE, [np.random.default_rng(1)])
    assert np.isposinf(ranges).mean() == pytest.approx(0.3, abs=0.03)


def test_angle_noise_moves_beams_not_walls():
    lidar = Lidar(beams=2000, range_noise=0.0, angle_noise=0.01)
    clean, _ = lidar.scan(hall(), CENTRE, None)
    moved, _ = lidar.scan(hall(), CENTRE, [np.random.default_rng(2)])
    assert 0.001 < np.abs(moved - clean).mean() < 0.2
    assert moved.min() >= clean.min() - 1e-3


def test_the_mount_is_a_pose_in_base_link():
    lidar = Lidar(range_noise=0.0, beams=4, mount=(1.0, 0.0, math.pi / 2))
    ranges, _ = lidar.scan(hall(), np.array([[5.0, 5.0, 0.0]]), None)
    # beams at -180, -90, 0, 90 degrees of a laser 1 m ahead that looks left
    assert ranges[0] == pytest.approx([4.95, 3.95, 4.95, 5.95], abs=1e-5)


def test_intensities_are_the_cosine_of_incidence():
    lidar = Lidar(beams=360, range_noise=0.0, intensities=True)
    ranges, strength = lidar.scan(hall(), np.array([[5.0, 5.0, 0.0]]), None)
    assert strength is not None
    assert strength[0, 180] == pytest.approx(1.0)
    assert strength[0, 180 + 30] == pytest.approx(math.cos(math.radians(30)), abs=1e-6)
    gone = Lidar(beams=8, range_max=1.0, intensities=True).scan(hall(), CENTRE, None)
    assert gone[1] is not None
    assert not gone[1].any()
    assert Lidar().scan(hall(), CENTRE, None)[1] is None
    assert np.isfinite(ranges).all()


@pytest.mark.parametrize(
    ('arguments', 'part'),
    [
        ({'beams': 0}, 'beams is 0'),
        ({'field_of_view': 7.0}, '7.0'),
        ({'range_min': 3.0, 'range_max': 2.0}, 'range_max 2.0'),
        ({'range_noise': -0.1}, '-0.1'),
        ({'range_noise': math.nan}, 'nan'),
        ({'dropout': 1.1}, '1.1'),
        ({'dropout_streak': 0.5}, 'dropout_streak is 0.5'),
        ({'range_bias': math.inf}, 'range_bias is inf'),
        ({'outliers': -0.1}, 'outliers is -0.1'),
        ({'sweep': -1.0}, 'sweep is -1.0'),
    ],
)
def test_impossible_sensors_are_refused(arguments, part):
    with pytest.raises(ValueError, match=part):
        Lidar(**arguments)


@pytest.mark.parametrize('streak', [1.0, 3.0, 10.0])
def test_dropouts_come_in_streaks_of_the_asked_length(streak):
    lidar = Lidar(beams=2000, dropout=0.2, dropout_streak=streak)
    rngs = [np.random.default_rng(k) for k in range(20)]
    ranges, _ = lidar.scan(hall(), np.repeat(CENTRE, 20, 0), rngs)
    out = np.isposinf(ranges)
    assert out.mean() == pytest.approx(0.2, abs=0.02)
    begins = (out[:, 1:] & ~out[:, :-1]).sum()
    # independent beams have streaks too: 1 / (1 - share) long
    assert out.sum() / begins == pytest.approx(max(streak, 1.25), rel=0.1)


def test_bias_shifts_every_range():
    lidar = Lidar(range_noise=0.0, range_bias=0.03)
    clean, _ = Lidar(range_noise=0.0).scan(hall(), CENTRE, None)
    shifted, _ = lidar.scan(hall(), CENTRE, [np.random.default_rng(0)])
    assert shifted - clean == pytest.approx(np.full((1, 360), 0.03), abs=1e-5)


def test_outliers_lie_before_the_surface():
    lidar = Lidar(beams=4000, range_noise=0.0, outliers=0.2)
    clean, _ = lidar.scan(hall(), CENTRE, None)
    ranges, _ = lidar.scan(hall(), CENTRE, [np.random.default_rng(3)])
    wrong = ranges != clean
    assert wrong.mean() == pytest.approx(0.2, abs=0.03)
    assert (ranges <= clean).all()
    assert (clean - ranges)[wrong].mean() > 1.0


def test_a_sweep_of_a_robot_at_rest_is_a_scan_at_once():
    at_once, sweeping = Lidar(beams=90), Lidar(beams=90, sweep=0.1, intensities=True)
    poses = np.repeat(CENTRE[:, None], 90, 1)
    one, _ = at_once.scan(hall(), CENTRE, [np.random.default_rng(4)])
    same, strength = sweeping.scan(hall(), poses, [np.random.default_rng(4)])
    assert (one == same).all()
    assert strength is not None
    assert strength.shape == (1, 90)
    assert sweeping.time_increment == pytest.approx(0.1 / 90)
    with pytest.raises(ValueError, match='poses for 5 beams, expected 90'):
        sweeping.scan(hall(), poses[:, :5], None)


def test_each_beam_of_a_sweep_is_measured_from_its_own_pose():
    lidar = Lidar(beams=36, range_noise=0.0)
    share = np.linspace(0, 1, 36)[:, None]
    poses = np.array([3.0, 4.0, 0.1]) + share * [0.5, -0.2, 0.6]
    swept, _ = lidar.scan(hall(), poses[None], None)
    single, _ = lidar.scan(hall(), poses, None)
    assert swept[0] == pytest.approx(np.diag(single))
