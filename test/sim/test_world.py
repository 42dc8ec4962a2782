import math

import numpy as np
import pytest

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE
from delama_sim.lidar import Lidar
from delama_sim.motion import Body
from delama_sim.odometry import Odometry
from delama_sim.plans import load
from delama_sim.plans.generator import generate
from delama_sim.protocol import prepare
from delama_sim.radio import Radio
from delama_sim.world import World

SMALL = Lidar(beams=36)


def stream(scans):
    return [(s.robot, s.stamp, s.ranges.tobytes()) for s in scans]


def in_wall(occupancy, poses, radius):
    angles = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    ring = radius * np.stack([np.cos(angles), np.sin(angles)], -1)
    return (occupancy.value_at(poses[..., None, :2] + ring) != FREE).any()


def test_hundred_runs_never_in_a_wall_and_repeatable():
    for seed in range(100):
        occupancy = prepare(generate(seed), seed)
        worlds = [World(occupancy, 3, seed=seed, lidar=SMALL, scan_rate=1.0) for _ in range(2)]
        scans = [[], []]
        for _ in range(60):
            scans[0] += worlds[0].advance(0.25)
            assert not in_wall(occupancy, worlds[0].poses, worlds[0].body.radius), seed
        scans[1] += worlds[1].advance(15.0)  # the same time in one piece
        assert len(scans[0]) == 45
        assert stream(scans[0]) == stream(scans[1]), seed
    assert stream(World(occupancy, 3, seed=0, lidar=SMALL).advance(1.0)) != stream(
        World(occupancy, 3, seed=1, lidar=SMALL).advance(1.0)
    )


def test_real_plans_never_in_a_wall(data_dir):
    for name in ('2', '3', '13', '728', '1'):
        occupancy = prepare(load(data_dir / 'cubicasa5k' / 'rosmap' / f'{name}.yaml'), 1)
        world = World(occupancy, 4, lidar=SMALL, scan_rate=1.0)
        for _ in range(100):
            world.advance(0.3)
            assert not in_wall(occupancy, world.poses, world.body.radius), name
        assert np.hypot(*(world.odometry[:, :2]).T).max() > 1, 'they move'


def test_robots_obey_their_speed_limits():
    world = World(generate(4), 4, body=Body(speed=0.3, turn_rate=1.0), lidar=SMALL)
    last = world.poses
    for _ in range(200):
        world.advance(0.1)
        poses = world.poses
        assert np.hypot(*(poses - last)[:, :2].T).max() <= 0.03 + 1e-9
        turn = np.abs((poses - last)[:, 2] + math.pi) % (2 * math.pi) - math.pi
        assert np.abs(turn).max() <= 0.1 + 1e-9
        speeds = world.speeds
        assert (speeds[:, 0] <= 0.3 + 1e-9).all()
        assert (np.abs(speeds[:, 1]) <= 1.0 + 1e-9).all()
        last = poses


def test_scans_are_on_time_whatever_the_rate():
    world = World(generate(1), ['a', 'b'], lidar=SMALL, scan_rate=3.0, odometry_rate=7.0)
    scans = world.advance(2.0)
    assert [s.robot for s in scans] == ['a', 'b'] * 6
    assert [s.stamp for s in scans[::2]] == [k * 333_333_333 for k in range(1, 7)]
    assert world.time == 2_000_000_000
    with pytest.raises(ValueError, match='cannot run back'):
        world.advance_to(5)


def test_ground_truth_and_odometry_are_apart():
    world = World(generate(2), 2, lidar=SMALL, odometry=Odometry(slip=0.05, turn_slip=0.02))
    start = world.poses
    assert world.odometry.tolist() == [[0, 0, 0]] * 2
    assert world.corrections() == pytest.approx(start)
    world.advance(20.0)
    for pose, seen, frame in zip(world.poses, world.odometry, world.corrections(), strict=True):
        c, s = math.cos(frame[2]), math.sin(frame[2])
        x, y = frame[0] + c * seen[0] - s * seen[1], frame[1] + s * seen[0] + c * seen[1]
        assert (x, y) == pytest.approx(pose[:2], abs=1e-9)
    assert np.hypot(*(world.corrections() - start)[:, :2].T).max() > 0.02


def test_peers_are_seen_as_discs():
    occupancy = generate(3).map
    free = World(occupancy, 1, lidar=SMALL).poses[0]
    starts = {'a': tuple(free)}
    alone = World(occupancy, ['a'], starts=starts, lidar=Lidar(range_noise=0.0))
    clear = alone.scan()[0].ranges
    ahead = int(np.argmax(np.where(np.isfinite(clear), clear, 0)))
    angle = free[2] + alone.lidar.angles[ahead]
    peer = (free[0] + 0.8 * math.cos(angle), free[1] + 0.8 * math.sin(angle), 0.0)
    both = {'a': tuple(free), 'b': peer}
    for visible in (True, False):
        world = World(
            occupancy, ['a', 'b'], starts=both, lidar=Lidar(range_noise=0.0), peers_visible=visible
        )
        seen = world.scan()[0].ranges[ahead]
        assert seen == pytest.approx(0.8 - 0.11 if visible else clear[ahead], abs=1e-3)


def test_two_buildings_have_frames_of_their_own():
    plans = [generate(1), generate(2)]
    world = World(plans, ['a', 'b', 'c', 'd'], lidar=SMALL, radio=Radio(range=0.001))
    assert world.building.tolist() == [0, 1, 0, 1]
    for _ in range(40):
        world.advance(0.5)
        for i, pose in enumerate(world.poses):
            assert not in_wall(plans[i % 2].map, pose[None], world.body.radius)
    assert world.links.hears[0, 1]
    assert not world.links.hears[0, 2]
    chosen = World(plans, {'a': 1, 'b': 1, 'c': 0}, lidar=SMALL)
    assert chosen.building.tolist() == [1, 1, 0]


def test_a_robot_does_not_disturb_the_noise_of_others():
    plan = generate(5)
    pose = {'a': tuple(World(plan, 1).poses[0])}
    one = World(plan, ['a'], starts=pose, peers_visible=False).advance(2.0)
    two = World(plan, ['a', 'b'], starts=pose, peers_visible=False).advance(2.0)
    assert stream(one) == stream(s for s in two if s.robot == 'a')


def test_reset_starts_again():
    world = World(generate(6), 3, lidar=SMALL, radio=Radio(loss=0.3))
    first = stream(world.advance(5.0))
    world.reset()
    assert world.time == 0
    assert stream(world.advance(5.0)) == first
    world.reset(seed=99)
    assert stream(world.advance(5.0)) != first


def test_waypoints_replace_exploration():
    plan = generate(7)
    world = World(plan, 1, lidar=SMALL)
    goals = []
    for _ in range(3):
        world.advance(8.0)
        goals.append(world.poses[0, :2])
    start = {'a': tuple(world.poses[0])}
    tour = World(plan, ['a'], starts=start, waypoints={'a': np.array(goals)}, lidar=SMALL)
    way = []
    for _ in range(200):
        tour.advance(0.5)
        way.append(tour.poses[0, :2])
    for goal in goals:
        assert np.hypot(*(np.array(way) - goal).T).min() < 0.3


@pytest.mark.parametrize(
    ('arguments', 'part'),
    [
        ({'robots': []}, 'at least one robot'),
        ({'robots': ['a', 'a']}, 'not all different'),
        ({'robots': {'a': 3}}, r'building 3, expected 0\.\.0'),
        ({'scan_rate': 0.0}, 'scan_rate is 0.0 Hz'),
        ({'starts': {'zoe': (1, 1, 0)}}, "no robot 'zoe'"),
        ({'plans': []}, 'at least one plan'),
    ],
)
def test_impossible_worlds_are_refused(arguments, part):
    with pytest.raises(ValueError, match=part):
        World(**{'plans': generate(1), 'robots': 2, **arguments})


def test_a_start_in_a_wall_is_refused():
    with pytest.raises(PlanError, match='robot 1 cannot start'):
        World(generate(1), ['a', 'b'], starts={'b': (0.0, 0.0, 0.0)})


def test_figures_of_a_world_stay_the_same():
    world = World(
        generate(7),
        2,
        seed=3,
        lidar=Lidar(dropout=0.1),
        odometry=Odometry(slip=0.03, turn_slip=0.03, scale=0.02),
    )
    scans = world.advance(10.0)
    total = sum(s.ranges[np.isfinite(s.ranges)].sum(dtype=float) for s in scans)
    assert total == pytest.approx(66708.617, abs=0.01)
    assert world.odometry[0] == pytest.approx([-2.2672867, 1.1398847, 2.4086872], abs=1e-6)
    assert world.odometry[1] == pytest.approx([1.6140611, -1.3848239, 0.2212149], abs=1e-6)


def test_a_sweep_ends_when_the_scan_is_there_and_is_stamped_with_its_first_beam():
    plan = generate(7)
    swept = World(plan, 2, seed=3, lidar=Lidar(beams=90, sweep=0.1, range_noise=0.0))
    whole = World(plan, 2, seed=3, lidar=Lidar(beams=90, range_noise=0.0))
    scans, at_once = swept.advance(8.0), whole.advance(8.0)
    assert [s.stamp for s in scans] == [s.stamp - 100_000_000 for s in at_once]
    assert (swept.poses == whole.poses).all()
    ends = [0, 89]
    ours, theirs = (np.array([s.ranges[ends] for s in some]) for some in (scans, at_once))
    seen = np.isfinite(ours) & np.isfinite(theirs)
    gaps = [np.median(np.abs(ours[seen[:, k], k] - theirs[seen[:, k], k])) for k in (0, 1)]
    assert gaps[1] < 0.005 < gaps[0], 'the last beam is of now, the first is the oldest'
    in_pieces = World(plan, 2, seed=3, lidar=Lidar(beams=90, sweep=0.1, range_noise=0.0))
    assert stream([s for _ in range(40) for s in in_pieces.advance(0.2)]) == stream(scans)
    assert swept.scan()[0].stamp == 7_900_000_000
    assert World(plan, 1, lidar=Lidar(sweep=0.1)).scan()[0].stamp == 0


def test_a_sweep_longer_than_the_scan_period_is_refused():
    with pytest.raises(ValueError, match=r'sweep is 0\.3 s, .* one scan period, 0\.2 s'):
        World(generate(7), 1, lidar=Lidar(sweep=0.3))
