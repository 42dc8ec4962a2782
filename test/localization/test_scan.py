import dataclasses
import math
import time

import numpy as np
import pytest

from delama_ros.data.bag import read_bag
from delama_ros.geometry.grid import FREE, OCCUPIED, OccupancyMap
from delama_ros.geometry.poses import compose, relative
from delama_ros.localization.no_return import NoReturnFilter
from delama_ros.localization.scan import Sweep, prepare
from delama_sim.lidar import Lidar
from delama_sim.plans.edit import add_blocks
from delama_sim.plans.generator import generate
from delama_sim.protocol import drive
from delama_sim.protocol import prepare as furnish
from delama_sim.rays import RayCaster


def hall(size, blocks=0, seed=0):
    n = round(size / 0.05)
    cells = np.full((n, n), OCCUPIED, np.int8)
    cells[1:-1, 1:-1] = FREE
    occupancy = OccupancyMap(cells, 0.05)
    return add_blocks(occupancy, blocks, np.random.default_rng(seed)) if blocks else occupancy


def sweep_of(lidar, ranges):
    return Sweep(
        ranges,
        lidar.angle_min,
        lidar.angle_increment,
        lidar.range_min,
        lidar.range_max,
        lidar.time_increment,
    )


def poses_on(begin, end, lidar):
    """Poses (1, beams, 3) of an even motion during one sweep."""
    share = np.arange(lidar.beams)[:, None] / lidar.beams
    return (np.asarray(begin) + share * (np.asarray(end) - begin))[None]


def off_walls(points, pose, size=10.0):
    """Distance of points in base_link from the walls of a hall."""
    c, s = math.cos(pose[2]), math.sin(pose[2])
    x = pose[0] + c * points[:, 0] - s * points[:, 1]
    y = pose[1] + s * points[:, 0] + c * points[:, 1]
    gaps = [np.abs(v - wall) for v in (x, y) for wall in (0.05, size - 0.05)]
    return np.min(gaps, axis=0)


@pytest.mark.parametrize('seed', range(12))
def test_deskewing_by_the_true_motion_straightens_walls(seed):
    rng = np.random.default_rng(seed)
    mount = (*rng.uniform(-0.2, 0.2, 2).tolist(), float(rng.uniform(-3, 3)))
    lidar = Lidar(
        beams=int(rng.choice([90, 360, 721])),
        field_of_view=float(rng.choice([math.pi, 2 * math.pi])),
        range_noise=0.0,
        sweep=0.2,
        mount=mount,
    )
    begin = np.array([*rng.uniform(3, 7, 2), rng.uniform(-3, 3)])
    end = begin + rng.uniform(-1, 1, 3) * [0.15, 0.15, 0.4]
    ranges, _ = lidar.scan(RayCaster(hall(10.0)), poses_on(begin, end, lidar), None)
    sweep = sweep_of(lidar, ranges[0])
    # odometry has a frame of its own, and headings that wrap
    frame = np.array([20.0, -7.0, 2.5])
    odometry = [compose(frame, pose) for pose in (begin, end)]
    straight = prepare(sweep, NoReturnFilter(), begin=odometry[0], end=odometry[1], mount=mount)
    assert np.isfinite(straight.points).all()
    assert off_walls(straight.points, begin).max() < 0.01
    skewed = prepare(sweep, NoReturnFilter(), begin=odometry[0], mount=mount)
    assert off_walls(skewed.points, begin).max() > 0.02, 'without de-skewing walls are bent'
    # what mapping gets is the same scan, seen from where the laser was at the stamp
    angles = straight.angle_min + straight.angle_increment * np.arange(straight.ranges.size)
    known = np.isfinite(straight.ranges)
    assert known.mean() > 0.85
    x, y, yaw = straight.mount
    at = np.stack([np.cos(angles + yaw), np.sin(angles + yaw)], -1) * straight.ranges[:, None]
    # a range may be up to half an angular step off the bin it is put into
    slack = 0.01 + 0.5 * abs(straight.angle_increment) * straight.ranges[known]
    assert (off_walls(at[known] + [x, y], begin) < slack).mean() > 0.99


def test_a_laser_upside_down_turns_the_other_way():
    lidar = Lidar(beams=360, range_noise=0.0, mount=(0.1, 0.2, 0.5))
    pose = np.array([4.0, 6.0, 0.3])
    ranges, _ = lidar.scan(RayCaster(hall(10.0)), pose[None], None)
    plain = sweep_of(lidar, ranges[0])
    # the same beams in opposite order, as a laser that hangs and spins the other way sends them
    hanging = dataclasses.replace(
        plain,
        ranges=plain.ranges[::-1],
        angle_min=float(lidar.angles[-1]),
        angle_increment=-plain.angle_increment,
    )
    one, other = (prepare(s, NoReturnFilter(), mount=lidar.mount) for s in (plain, hanging))
    assert other.points[::-1] == pytest.approx(one.points, abs=1e-9)
    assert other.origin.tolist() == [0.1, 0.2]
    thin = prepare(hanging, NoReturnFilter(), mount=lidar.mount, map_beams=90)
    assert thin.angle_increment == pytest.approx(-4 * plain.angle_increment)
    angles = thin.angle_min + thin.angle_increment * np.arange(90) + pose[2] + 0.5
    x, y, _ = lidar.laser_poses(pose)
    ends = np.stack([x + thin.ranges * np.cos(angles), y + thin.ranges * np.sin(angles)], -1)
    assert np.median(off_walls(ends, np.zeros(3))) < 0.1


def kinds(ranges):
    """N: NaN, F: free, 0..9 m."""
    return ''.join('N' if np.isnan(r) else 'F' if np.isinf(r) else str(int(r)) for r in ranges)


@pytest.mark.parametrize(('mode', 'told'), [('free', '1NFFFNN1'), ('unknown', '1NNNNNN1')])
def test_the_parameter_decides_without_looking(mode, told):
    ranges = np.array([1.5, np.nan, np.inf, 12.0, 81.83, 0.0, -np.inf, 1.5])
    found = prepare(Sweep(ranges, 0.0, 0.1, 0.05, 12.0), NoReturnFilter(mode))
    assert kinds(found.ranges) == told
    assert np.isfinite(found.points).all(1).tolist() == [True, *[False] * 6, True]


def judged(occupancy, seed, lidar, odometry='turtlebot', robots=2, code=math.inf):
    """Share of dropouts that are NaN, and of beams into open space that are free."""
    caster = RayCaster(occupancy)
    clean = dataclasses.replace(lidar, dropout=0.0, range_noise=0.0)
    lost, gone, opened, kept = 0, 0, 0, 0
    for stream in drive(occupancy, seed, robots=robots, odometry=odometry, lidar=lidar):
        rule = NoReturnFilter()
        truth, _ = clean.scan(caster, np.array([m.true_pose for m in stream]), None)
        for measured, true in zip(stream, truth, strict=True):
            nothing = np.isposinf(measured.scan)
            ranges = np.where(nothing, code, measured.scan)
            said = prepare(sweep_of(lidar, ranges), rule, begin=measured.odom_pose).ranges
            dropout, open_space = nothing & (true < lidar.range_max - 0.1), np.isposinf(true)
            lost += int(np.isnan(said[dropout]).sum())
            gone += int(dropout.sum())
            kept += int(np.isposinf(said[nothing & open_space]).sum())
            opened += int((nothing & open_space).sum())
    assert gone > 1000 or lidar.dropout == 0
    return lost / max(gone, 1), kept / max(opened, 1)


@pytest.mark.parametrize('code', [math.inf, 6.0, 81.83, 0.0])
@pytest.mark.parametrize(('share', 'streak'), [(0.1, 1), (0.25, 1), (0.25, 5)])
def test_dropouts_say_nothing_and_open_space_is_free(share, streak, code):
    lidar = Lidar(range_max=6.0, dropout=share, dropout_streak=streak)
    nan, free = judged(hall(30.0, 8, seed=31), 31, lidar, code=code)
    assert nan > 0.95
    assert free > 0.9


@pytest.mark.parametrize('seed', [41, 42, 43])
def test_dropouts_say_nothing_in_flats(seed):
    lidar = Lidar(dropout=0.25)
    nan, _ = judged(furnish(generate(seed), seed), seed, lidar)
    assert nan > 0.95


def test_open_space_is_free_without_dropouts():
    _, free = judged(hall(40.0, 4, seed=51), 51, Lidar())
    assert free > 0.9


def test_a_surface_lost_for_good_is_not_free_once_it_was_seen_from_elsewhere():
    """A dark panel that returns nothing beyond 3 m, as a TurtleBot's LiDAR sees it."""
    lidar = Lidar(range_noise=0.01)
    caster, rule = RayCaster(hall(10.0)), NoReturnFilter()
    free = np.zeros(360, np.bool_)
    for x in np.concatenate([np.arange(7.5, 3.0, -0.1)]):
        pose = np.array([x, 5.0, 0.0])
        ranges, _ = lidar.scan(caster, pose[None], np.random.default_rng(int(10 * x)))
        ranges = np.where((ranges[0] > 3.0) & (np.abs(lidar.angles) < 0.5), np.inf, ranges[0])
        free = np.isposinf(prepare(sweep_of(lidar, ranges), rule, begin=pose).ranges)
    assert np.isposinf(ranges).sum() > 50
    assert not free.any()


def test_a_real_turtlebot_loses_surfaces_and_its_walls_stay(data_dir):
    pytest.importorskip('rosbags', reason='reading bags needs rosbags')
    log = read_bag(data_dir / 'ros_bags' / 'macfirst_floor_take_2', delay=None)
    rule, gone, free = NoReturnFilter(), 0, 0
    for reading in log.readings:
        scan = reading.scan
        sweep = Sweep(
            scan.ranges, scan.angle_min, scan.angle_increment, scan.range_min, scan.range_max
        )
        free += int(np.isposinf(prepare(sweep, rule, begin=reading.pose).ranges).sum())
        gone += int((scan.ranges >= scan.range_max).sum())
    assert gone > 0.2 * 720 * len(log.readings)
    assert free < 0.05 * gone


def test_the_rule_is_deterministic_and_bounded():
    stream = drive(hall(30.0, 5), 3, robots=1, lidar=Lidar(range_max=6.0, dropout=0.2))[0]
    runs = []
    for _ in range(2):
        rule = NoReturnFilter()
        before = rule.nbytes
        runs.append(
            [
                prepare(sweep_of(Lidar(range_max=6.0), m.scan), rule, begin=m.odom_pose).ranges
                for m in stream
            ]
        )
        assert rule.nbytes == before < 100_000
    assert np.array_equal(runs[0], runs[1], equal_nan=True)


def test_isolated_returns_are_outliers_and_grazed_walls_are_not():
    lidar = Lidar(range_noise=0.005, range_max=30.0)
    pose = np.array([[1.0, 6.0, 0.2]])
    ranges, _ = lidar.scan(RayCaster(hall(12.0)), pose, np.random.default_rng(0))
    clean = ranges[0].astype(float)
    assert prepare(sweep_of(lidar, clean), NoReturnFilter()).valid.mean() > 0.98
    speckled = clean.copy()
    wrong = np.arange(5, 360, 11)
    speckled[wrong] = 0.5 * clean[wrong]
    valid = prepare(sweep_of(lidar, speckled), NoReturnFilter()).valid
    assert valid[wrong].mean() < 0.1
    assert np.delete(valid, wrong).mean() > 0.95


def test_many_beams_are_thinned_for_mapping():
    lidar = Lidar(beams=4000, range_noise=0.02)
    caster, pose = RayCaster(hall(10.0)), np.array([[5.0, 4.0, 0.3]])
    ranges, _ = lidar.scan(caster, pose, np.random.default_rng(1))
    found = prepare(sweep_of(lidar, ranges[0]), NoReturnFilter())
    assert found.ranges.shape == (720,)
    angles = pose[0, 2] + found.angle_min + found.angle_increment * np.arange(720)
    true = caster.ranges(pose[:, :2], angles[None])[0]
    error = found.ranges - true
    assert abs(error.mean()) < 0.005, 'thinning adds no bias'
    assert error.std() < 0.03, 'and hardly any error to the noise of a beam'
    far = np.concatenate([ranges[0][:2000], np.full(2000, np.inf)])
    half = prepare(sweep_of(lidar, far), NoReturnFilter('free')).ranges
    assert np.isfinite(half[:360]).all()
    assert np.isposinf(half[360:]).all()


def test_few_beams_that_stood_still_stay_as_they_are():
    ranges = np.array([1.0, 2.0, np.nan, 3.0])
    found = prepare(Sweep(ranges, -0.1, 0.2, 0.05, 12.0), NoReturnFilter('free'))
    assert np.array_equal(found.ranges, ranges, equal_nan=True)
    assert (found.angle_min, found.angle_increment) == (-0.1, 0.2)


@pytest.mark.parametrize('beams', [1, 2, 3])
def test_scans_of_few_beams(beams):
    rule = NoReturnFilter()
    for k in range(4):
        sweep = Sweep(np.full(beams, np.inf), 0.0, 0.1, 0.1, 5.0)
        found = prepare(sweep, rule, begin=(0.1 * k, 0.0, 0.0), end=(0.1 * k + 0.05, 0.0, 0.0))
        assert not found.valid.any()
        assert not np.isfinite(found.ranges).any()


def test_it_is_fast():
    lidar = Lidar(beams=720, range_max=12.0, dropout=0.2, sweep=0.1)
    stream = drive(furnish(generate(5), 5), 5, robots=1, lidar=lidar)[0]
    rule, taken = NoReturnFilter(), []
    for m in stream:
        began = time.perf_counter()
        prepare(sweep_of(lidar, m.scan), rule, begin=m.odom_pose, end=m.odom_end)
        taken.append(time.perf_counter() - began)
    assert np.median(taken) < 2e-3  # 0.2 ms on an idle core


GOOD = {
    'ranges': np.ones(8),
    'angle_min': 0.0,
    'angle_increment': 0.1,
    'range_min': 0.1,
    'range_max': 5.0,
}


@pytest.mark.parametrize(
    ('change', 'part'),
    [
        ({'ranges': np.ones((2, 2))}, r'\(2, 2\)'),
        ({'ranges': np.ones(0)}, r'\(0,\)'),
        ({'ranges': np.ones(30_000)}, '30000'),
        ({'angle_min': math.nan}, 'angle_min is nan'),
        ({'angle_increment': 0.0}, 'angle_increment is 0'),
        ({'angle_increment': 2.0}, 'more than a turn'),
        ({'range_max': 0.05}, 'range_max 0.05'),
        ({'time_increment': -1.0}, 'time_increment is -1'),
    ],
)
def test_impossible_scans_are_refused(change, part):
    with pytest.raises(ValueError, match=part):
        Sweep(**(GOOD | change))


def test_impossible_poses_and_modes_are_refused():
    with pytest.raises(ValueError, match='begin is'):
        prepare(Sweep(**GOOD), NoReturnFilter(), begin=(0.0, math.nan, 0.0))
    with pytest.raises(ValueError, match='end is'):
        prepare(Sweep(**GOOD), NoReturnFilter(), end=(1e300, 0.0, 0.0))
    with pytest.raises(ValueError, match='map_beams is 0'):
        prepare(Sweep(**GOOD), NoReturnFilter(), map_beams=0)
    with pytest.raises(ValueError, match="'perhaps'"):
        NoReturnFilter('perhaps')


def test_motion_of_half_a_turn_is_taken_the_short_way():
    begin, end = np.array([0.0, 0.0, 3.1]), np.array([0.0, 0.0, -3.1])
    found = prepare(Sweep(**GOOD), NoReturnFilter(), begin=begin, end=end)
    turned = relative(begin, end)[2]
    last = math.atan2(found.points[-1, 1], found.points[-1, 0])
    assert last == pytest.approx(0.7 + turned * 7 / 8)
