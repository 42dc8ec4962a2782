from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial import cKDTree
from world import box, flat, scan

from delama_ros.localization.align import align
from delama_ros.localization.correlate import PENALTY, correlate, score
from delama_ros.localization.local_map import build_map
from delama_ros.localization.matcher import Matcher, Motion
from delama_ros.localization.pyramid import make_pyramid, search
from delama_ros.localization.se2 import transform
from delama_ros.localization.settings import LocalizationSettings
from delama_ros.localization.surfels import make_surfels

ORIGIN = np.zeros(2)
POSE = np.array([1.5, 1.2, 0.3])


def surfels(points):
    return make_surfels(points, ORIGIN, 30.0, 0.1)


def map_at(walls, pose, rng, resolution=0.05):
    return build_map([surfels(scan(walls, pose, rng))], pose[None], pose[:2], 30.0, resolution)


def test_normals_face_the_sensor_and_stand_on_the_walls():
    own = surfels(scan(np.array(box(-2, -3, 4, 2)), np.zeros(3)))
    facing = -(own.points * own.normals).sum(1)
    assert len(own) > 100
    assert (facing > 0).all()
    assert np.percentile(np.abs(own.normals).max(1), 5) > 0.98


def test_both_sides_of_a_thin_wall_stay_apart():
    wall = np.array([[-3.0, 0.0, 3.0, 0.0]])
    poses = np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    scans = [surfels(scan(wall, p, np.random.default_rng(1), noise=0.005)) for p in poses]
    local = build_map(scans, poses, np.zeros(2), 10.0)
    up = local.normals[:, 1] > 0
    assert up.sum() > 20
    assert (~up).sum() > 20


def test_alignment_agrees_with_scipy():
    """The same partners, kernel and prior in scipy give the same pose."""
    rng = np.random.default_rng(2)
    local = map_at(flat(), POSE, rng)
    own = surfels(scan(flat(), POSE + np.array([0.05, -0.04, 0.03]), rng))
    prior = POSE + np.array([0.1, 0.0, 0.0])
    information = np.diag([50.0, 50.0, 200.0])
    found = align(local, own, POSE, prior, information, kernel=0.04, cutoff=0.2, weak=0.001)

    tree = cKDTree(local.points)
    c, s = math.cos(found.pose[2]), math.sin(found.pose[2])
    at, normals = transform(found.pose, own.points), own.normals @ np.array([[c, s], [-s, c]])
    pairs = []
    for i, (p, n) in enumerate(zip(at, normals, strict=True)):
        near = [k for k in tree.query_ball_point(p, 0.2) if local.normals[k] @ n > 0.6]
        if near:
            pairs.append((i, min(near, key=lambda k: np.hypot(*(local.points[k] - p)))))
    i, k = np.array(pairs).T
    scale = np.sqrt(own.weights[i] / (0.03**2 * 5.0))
    off0 = found.pose - prior
    trust = 1 / (1 + off0 @ information @ off0)

    def residuals(pose):
        r = ((transform(pose, own.points[i]) - local.points[k]) * local.normals[k]).sum(1)
        robust = scale * 0.04 * np.sqrt(np.log1p((r / 0.04) ** 2))
        return np.concatenate([robust, np.sqrt(trust * np.diag(information)) * (pose - prior)])

    best = least_squares(residuals, found.pose, xtol=1e-12, ftol=1e-12)
    assert np.abs(best.x - found.pose).max() < 1e-3
    assert np.abs(found.pose - (POSE + np.array([0.05, -0.04, 0.03]))).max() < 0.02
    assert found.inliers > 0.8


@pytest.mark.parametrize('beams', [180, 720])
@pytest.mark.parametrize('view', [math.pi, 2 * math.pi])
def test_search_finds_a_shifted_scan(beams, view):
    rng = np.random.default_rng(3)
    local = map_at(flat(), POSE, rng)
    true = POSE + np.array([0.22, -0.13, 0.15])
    own = surfels(scan(flat(), true, rng, beams=beams, view=view))
    pose, value, rim = correlate(local, own, POSE, 0.3, 0.25)
    assert np.abs(pose - true)[:2].max() < 0.08
    assert abs(pose[2] - true[2]) < 0.03
    assert value > 0.5
    assert not rim


@pytest.mark.parametrize(('seed', 'away'), [(0, 0.0), (1, 0.3), (2, 2.5), (3, 6.0)])
def test_search_leaves_out_no_pose_that_could_win(seed, away):
    """Every pose of the window scored by itself, also where scans stick out of the map."""
    rng = np.random.default_rng(seed)
    walls = flat()
    local, own = map_at(walls, POSE, rng), surfels(scan(walls, POSE, rng, beams=90))
    centre = POSE + np.array([away, -away / 2, rng.uniform(-0.1, 0.1)])
    steps, turns = 4, 5
    values = {}
    for t in range(-turns, turns + 1):
        for dy in range(-steps, steps + 1):
            for dx in range(-steps, steps + 1):
                pose = centre + np.array([dx * 0.05, dy * 0.05, math.radians(t)])
                off = (dx**2 + dy**2) / (0.25 * steps**2) + t**2 / (0.25 * turns**2)
                values[tuple(pose)] = score(local, own, pose) - PENALTY * math.log(1.0 + off)
    pose, value, _ = correlate(local, own, centre, steps * 0.05, math.radians(turns))
    best = max(values.values())
    # a point within rounding of a cell's edge may fall on either side of it
    at = min(values, key=lambda p: np.abs(np.array(p) - pose).sum())
    assert np.allclose(at, pose, atol=1e-9)
    assert abs(values[at] - best) <= 2.0 / len(own)
    assert abs(score(local, own, pose) - value) <= 2.0 / len(own)


def test_branch_and_bound_finds_what_exhaustive_search_finds():
    rng = np.random.default_rng(4)
    local = map_at(flat(), POSE, rng, 0.1)
    own = surfels(scan(flat(), POSE + np.array([1.3, 0.4, 0.4]), rng))
    step = math.radians(1.5)
    hit = search(make_pyramid(local), own, POSE, 1.6, 0.45, 0.1, step)
    assert hit is not None
    best = max(
        score(local, own, POSE + np.array([0.1 * x, 0.1 * y, step * t]))
        for x in range(-16, 17)
        for y in range(-16, 17)
        for t in range(-18, 19)
    )
    assert hit[1] == pytest.approx(best, abs=1e-9)
    assert hit[1] == pytest.approx(score(local, own, hit[0]), abs=0.02)
    far = search(make_pyramid(local), own, POSE, 1.6, 0.45, 0.1, step, avoid=hit[0])
    assert far is not None
    assert far[1] < hit[1]
    assert np.hypot(*(far[0] - hit[0])[:2]) > 0.99 or abs(far[0][2] - hit[0][2]) > 0.15


def test_a_corridor_leaves_its_direction_to_odometry():
    corridor = np.array([[-40.0, 1.0, 40.0, 1.0], [-40.0, -1.0, 40.0, -1.0]])
    rng = np.random.default_rng(5)
    local = map_at(corridor, np.zeros(3), rng)
    own = surfels(scan(corridor, np.array([0.3, 0.1, 0.05]), rng))
    prior = np.array([0.35, 0.0, 0.0])
    found = align(
        local,
        own,
        prior,
        prior,
        np.diag([400.0, 400.0, 1000.0]),
        kernel=0.04,
        cutoff=0.2,
        weak=0.02,
    )
    assert found.weak is not None
    assert abs(found.weak[0]) > 0.99
    assert found.pose[0] == pytest.approx(0.35, abs=0.005)
    assert found.pose[1] == pytest.approx(0.1, abs=0.02)
    assert found.pose[2] == pytest.approx(0.05, abs=0.01)
    assert found.information[0, 0] < 1e-3 * found.information[1, 1]


def test_nothing_to_match_gives_the_prior():
    local = map_at(flat(), POSE, np.random.default_rng(6))
    far = np.array([50.0, 50.0, 0.0])
    own = surfels(scan(flat(), POSE))
    found = align(local, own, far, far, np.eye(3), kernel=0.04, cutoff=0.2, weak=0.02)
    assert found.inliers == 0
    assert np.array_equal(found.pose, far)
    assert not found.information.any()


def test_a_few_walls_far_from_odometry_are_no_match():
    """After a sharp turn into a new room, another wall of it fits the known one, 90° off."""
    known = np.array([[-4.0, 0.0, 4.0, 0.0]])
    pose = np.array([0.0, 1.0, 0.0])
    room = np.array([[-0.3, 0.0, 0.3, 0.0], [1.0, 0.0, 1.0, 2.5], [1.0, 2.5, -2.0, 4.0],
                     [-2.0, 4.0, -3.0, 1.2]])  # fmt: skip
    rng = np.random.default_rng(5)
    local = map_at(known, pose, rng)
    own = surfels(scan(room, pose, rng, noise=0.005))
    matcher = Matcher(LocalizationSettings())
    turned = Motion(np.array([0.7, 0.7, math.radians(96.0)]))
    found = matcher.track(local, own, pose + np.array([0.0, 0.0, math.radians(4.0)]), turned)
    assert abs(found.pose[2]) < math.radians(2.0)
    across = matcher.refine(local, own, np.array([0.0, 1.0, -0.5 * math.pi]))
    assert across.inliers > found.inliers + 0.05  # the wrong pose fits better
    assert not matcher.good(across)
