import math

import numpy as np
import pytest
from PIL import Image

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, OccupancyMap
from delama_ros.geometry.map_file import read_map
from delama_sim.explore import Explorer
from delama_sim.motion import Body, along, timed
from delama_sim.paths import Waypoints, load_waypoints, start_poses
from delama_sim.planner import Planner
from delama_sim.plans.edit import thicken_walls
from delama_sim.plans.generator import generate
from delama_sim.rays import RayCaster

RADIUS = 0.11


@pytest.fixture(scope='module')
def planner():
    return Planner(thicken_walls(generate(7).map, 0.05), RADIUS)


def touches(occupancy, points, radius):
    """Whether discs at points (n, 2) reach anything that is not free, by sampling them."""
    angles = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    ring = radius * np.stack([np.cos(angles), np.sin(angles)], -1)
    return (occupancy.value_at(points[:, None] + ring) != FREE).any()


def test_starts_are_free_apart_and_repeatable(planner):
    home = np.zeros(20, np.int64)
    poses = start_poses([planner], home, RADIUS, np.random.default_rng(1), [None] * 20)
    again = start_poses([planner], home, RADIUS, np.random.default_rng(1), [None] * 20)
    assert (poses == again).all()
    assert not touches(planner.map, poses[:, :2], RADIUS)
    apart = np.hypot(*(poses[:, None, :2] - poses[None, :, :2]).transpose(2, 0, 1))
    assert apart[np.triu_indices(20, 1)].min() > 3 * RADIUS
    assert np.ptp(poses[:, 2]) > 3


def test_fixed_starts_are_kept_or_refused(planner):
    good = (*planner.random_point(np.random.default_rng(0)).tolist(), 0.5)
    home = np.zeros(2, np.int64)
    poses = start_poses([planner], home, RADIUS, np.random.default_rng(1), [None, good])
    assert poses[1].tolist() == list(good)
    with pytest.raises(PlanError, match='robot 0 cannot start'):
        start_poses([planner], home, RADIUS, np.random.default_rng(1), [(0.1, 0.1, 0), None])


def test_exploration_is_free_smooth_different_and_repeatable(planner):
    start = planner.random_point(np.random.default_rng(5))
    paths = [Explorer(planner, start, np.random.default_rng(k)).path(40.0) for k in (0, 0, 1)]
    assert (paths[0] == paths[1]).all()
    shorter = min(len(paths[0]), len(paths[2]))
    assert np.hypot(*(paths[0][:shorter] - paths[2][:shorter]).T).max() > 1.0
    for path in paths:
        steps = np.diff(path, axis=0)
        length = np.hypot(*steps.T)
        assert length.sum() >= 40
        assert length.max() < 0.08
        dense = np.concatenate([path[:-1], (path[:-1] + path[1:]) / 2])
        assert not touches(planner.map, dense, RADIUS)
        bearings = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0])[length > 1e-6])
        # smooth: hardly any corner but at the ends of legs
        assert (np.abs(np.diff(bearings)) > 0.5).mean() < 0.03


def test_exploration_sees_the_whole_flat(planner):
    path = Explorer(
        planner, planner.random_point(np.random.default_rng(2)), np.random.default_rng(2)
    ).path(60.0)
    angles = np.linspace(0, 2 * math.pi, 180)
    seen = np.zeros(planner.map.shape, np.bool_)
    stops = path[::10]
    ranges = RayCaster(planner.map).ranges(stops, np.tile(angles, (len(stops), 1)), 5.0)
    for stop, distances in zip(stops, ranges, strict=True):
        for share in np.linspace(0, 0.99, 60):
            reach = np.minimum(distances, 5.0)[:, None] * share
            ray = stop + reach * np.stack([np.cos(angles), np.sin(angles)], -1)
            seen[planner.map.cell_of(ray)] = True
    assert (seen & planner.map.free).sum() > 0.9 * planner.map.free.sum()


def test_no_room_at_all_is_said():
    tight = OccupancyMap(np.full((30, 30), OCCUPIED, np.int8), 0.05)
    with pytest.raises(PlanError, match=r'no place for a robot of radius 0\.11 m'):
        Planner(tight, RADIUS)
    planner = Planner(generate(7).map, RADIUS)
    with pytest.raises(PlanError, match='no robot can drive from'):
        planner.route((0.0, 0.0), planner.drivable)


def test_a_closet_keeps_its_robot_busy_or_still():
    cells = np.full((30, 30), OCCUPIED, np.int8)
    cells[10:20, 10:20] = FREE
    planner = Planner(OccupancyMap(cells, 0.05), RADIUS)
    path = Explorer(
        planner, planner.random_point(np.random.default_rng(0)), np.random.default_rng(0)
    ).path(3.0)
    assert not touches(planner.map, path, RADIUS)


def test_waypoints_are_toured(planner):
    rng = np.random.default_rng(3)
    points = np.array([planner.random_point(rng) for _ in range(4)])
    tour = Waypoints(planner, points[0], points)
    for _ in range(2):  # once round, and again
        way = tour.next_leg()
        visits = [int(np.argmin(np.hypot(*(way - point).T))) for point in points]
        assert max(np.hypot(*(way[v] - p)) for v, p in zip(visits, points, strict=True)) < 0.1
        assert visits[:-1] == sorted(visits[:-1])
        assert np.hypot(*(way[-1] - points[-1])) < 0.1
        assert not touches(planner.map, way, RADIUS)
    with pytest.raises(PlanError, match='waypoint 1 at'):
        Waypoints(planner, points[0], [points[0], (0.0, 0.0)])
    with pytest.raises(PlanError, match=r'\(3,\)'):
        Waypoints(planner, points[0], [1.0, 2.0, 3.0])


def test_real_waypoint_files_stay_in_free_space(data_dir, tmp_path):
    folder = data_dir / 'dinno_floorplans' / 'floorplans' / '32_data'
    (tmp_path / 'map.yaml').write_text(
        f'image: {folder / "floor_img.png"}\nresolution: 0.01\norigin: [0, 0, 0]\nnegate: 1\n'
    )
    occupancy = read_map(tmp_path / 'map.yaml')
    files = sorted(folder.rglob('*.npy'))
    assert len(files) == 27
    for file in files:
        points = load_waypoints(file, occupancy)
        assert (occupancy.value_at(points) == FREE).all(), file
    reduced = occupancy.reduced_to(0.05)
    planner = Planner(reduced, RADIUS)
    for file in (folder / 'waypoint_path1.npy', folder / 'tight_paths' / '3.npy'):
        points = load_waypoints(file, reduced, pixel=0.01)
        assert np.abs(points - load_waypoints(file, occupancy)).max() < 0.06
        way = Waypoints(planner, planner.nearest(points[0]), points).next_leg()
        assert not touches(reduced, way, RADIUS)
        assert max(np.hypot(*(way - p).T).min() for p in points) < 0.8


def test_waypoints_in_metres(tmp_path):
    (tmp_path / 'w.csv').write_text('# x, y\n1.5, 2\n1.5, 2\n3,4.25\n')
    occupancy = OccupancyMap(np.zeros((9, 9), np.int8), 1.0)
    assert load_waypoints(tmp_path / 'w.csv', occupancy).tolist() == [[1.5, 2], [3, 4.25]]
    for text, part in (('1,2\n3;4\n', 'line 2'), ('', 'no waypoints')):
        (tmp_path / 'bad.csv').write_text(text)
        with pytest.raises(PlanError, match=part):
            load_waypoints(tmp_path / 'bad.csv', occupancy)
    np.save(tmp_path / 'far.npy', np.array([[3.0, 4.0]]))
    with pytest.raises(PlanError, match='reach 4'):
        load_waypoints(tmp_path / 'far.npy', occupancy)
    np.save(tmp_path / 'flat.npy', np.arange(4))
    with pytest.raises(PlanError, match=r'\(4,\)'):
        load_waypoints(tmp_path / 'flat.npy', occupancy)
    with pytest.raises(PlanError, match='no such waypoint file'):
        load_waypoints(tmp_path / 'gone.npy', occupancy)
    Image.new('L', (2, 2)).save(tmp_path / 'w.png')
    with pytest.raises(PlanError, match=r'\.npy or \.csv'):
        load_waypoints(tmp_path / 'w.png', occupancy)


def test_speed_turn_rate_and_acceleration_are_limited(planner):
    body = Body(speed=0.4, turn_rate=1.2, acceleration=0.5)
    path = Explorer(
        planner, planner.random_point(np.random.default_rng(8)), np.random.default_rng(8)
    ).path(30.0)
    times, poses = timed(path, 1.0, body)
    assert (np.diff(times) > 0).all()
    grid = np.arange(0, times[-1], 0.02)
    x, y, yaw = (np.interp(grid, times, poses[:, k]) for k in range(3))
    speed = np.hypot(np.diff(x), np.diff(y)) / 0.02
    assert speed.max() <= 0.4 * 1.001
    assert np.abs(np.diff(yaw)).max() / 0.02 <= 1.2 * 1.001
    # averaged over 0.2 s and with room, as speed is held between path points 5 cm apart
    smooth = np.convolve(speed, np.ones(10) / 10, 'valid')
    assert np.abs(smooth[10:] - smooth[:-10]).max() / 0.2 < 0.5 * 2
    moving = speed > 0.2
    bearing = np.arctan2(np.diff(y), np.diff(x))[moving]
    off = (bearing - yaw[:-1][moving] + math.pi) % (2 * math.pi) - math.pi
    assert np.abs(off).max() < 0.4, 'a robot drives where it looks'


def test_standing_still_takes_no_time():
    times, poses = timed(np.array([[1.0, 2.0]]), 0.3, Body())
    assert times.tolist() == [0.0]
    assert poses.tolist() == [[1.0, 2.0, 0.3]]
    with pytest.raises(ValueError, match='speed is 0'):
        Body(speed=0)


def test_poses_along_a_path():
    path = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 3.0)])
    poses = along(path, np.array([0.0, 1.0, 2.5, 9.0]))
    assert poses == pytest.approx(
        np.array([(0, 0, 0), (1, 0, 0), (2, 0.5, math.pi / 2), (2, 3, math.pi / 2)])
    )
    assert along(path[:1], np.array([0.0, 5.0]), 0.4).tolist() == [[0, 0, 0.4]] * 2
