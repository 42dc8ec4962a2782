from __future__ import annotations

import math

import numpy as np
import pytest
from world import TOUR, box, drive, flat, odometry, scan

from delama_ros.localization import LocalizationSettings, Localizer, Status, restore, save
from delama_ros.localization.graph import Prior
from delama_ros.localization.offline import relation_error, run, trajectory_error
from delama_ros.localization.se2 import compose, relative, relatives


def follow(localizer, walls, poses, odom, rng, start=0, **laser):
    return [
        localizer.add(0.1 * (start + i), o, scan(walls, p, rng, **laser))
        for i, (p, o) in enumerate(zip(poses, odom, strict=True))
    ]


@pytest.fixture(scope='module')
def tour():
    """One drive through the flat: localizer, estimates, true poses, odometry."""
    poses = drive(TOUR)
    odom = odometry(poses, np.random.default_rng(1))
    localizer = Localizer(record=True)
    estimates = follow(localizer, flat(), poses, odom, np.random.default_rng(2))
    return localizer, estimates, poses, odom


def test_tracks_within_two_centimetres(tour):
    localizer, estimates, poses, odom = tour
    true = relatives(poses[0], poses)
    online = np.array([e.pose for e in estimates])
    assert np.hypot(*(relatives(odom[0], odom) - true)[:, :2].T).max() > 1.0
    assert np.sqrt(((online - true)[:, :2] ** 2).sum(1).mean()) < 0.02
    _, corrected = localizer.trajectory.poses(localizer.own.keyframes)
    assert np.hypot(*(corrected - true)[:, :2].T).max() < 0.06
    assert all(e.status is Status.TRACKING for e in estimates)


def test_covariance_covers_the_error(tour):
    _, estimates, poses, _ = tour
    true = relatives(poses[0], poses)
    inside = 0
    for e, t in zip(estimates[1:], true[1:], strict=True):
        off = relative(t, e.pose)[:2]
        inside += off @ np.linalg.solve(e.covariance[:2, :2], off) < 9.2  # 99 %
        assert np.linalg.eigvalsh(e.covariance)[0] > 0
    assert inside > 0.9 * len(poses)


def test_reports_add_up_to_the_keyframes_poses(tour):
    localizer, estimates, _, _ = tour
    known = {}
    for e in estimates:
        if e.keyframe is not None:
            assert e.keyframe not in known
            known[e.keyframe] = e.pose
        known.update(e.moved)
        for gone in e.removed:
            del known[gone]
    assert sorted(known) == localizer.own.keyframes.ids.tolist()
    for name, pose in known.items():
        off = relative(pose, localizer.own.keyframes.pose(name))
        assert math.hypot(off[0], off[1]) <= 0.005 + 1e-9
        assert abs(off[2]) <= math.radians(0.1) + 1e-9


def test_same_input_same_output():
    poses = drive(TOUR[:5])
    odom = odometry(poses, np.random.default_rng(1))
    runs = [
        follow(Localizer(), flat(), poses, odom, np.random.default_rng(2))[-1] for _ in range(2)
    ]
    assert np.array_equal(runs[0].pose, runs[1].pose)
    assert np.array_equal(runs[0].covariance, runs[1].covariance)


def test_saved_and_restored_continues_the_same():
    poses = drive(TOUR[:9])
    odom = odometry(poses, np.random.default_rng(1))
    half = len(poses) // 2
    one = Localizer()
    follow(one, flat(), poses[:half], odom[:half], np.random.default_rng(2))
    other = Localizer()
    restore(other, save(one))
    a = follow(one, flat(), poses[half:], odom[half:], np.random.default_rng(3), half)
    b = follow(other, flat(), poses[half:], odom[half:], np.random.default_rng(3), half)
    for x, y in zip(a, b, strict=True):
        assert np.array_equal(x.pose, y.pose)
        assert (x.keyframe, x.loops, x.removed, x.status) == (
            y.keyframe, y.loops, y.removed, y.status,
        )  # fmt: skip
    assert np.array_equal(one.own.keyframes.poses, other.own.keyframes.poses)


@pytest.mark.parametrize(
    ('name', 'change', 'message'),
    [
        ('poses', lambda a: a[:, :2], 'poses has shape'),
        ('points', lambda a: a * np.nan, 'points holds values that are not finite'),
        ('ids', lambda a: a[::-1], 'ids of keyframes do not ascend'),
        ('counts', lambda a: a + 1, 'counts do not add up'),
        ('second', lambda a: a + 1000, 'refers to keyframes that are not in it'),
        ('information', lambda a: -a, 'information is not positive definite'),
        ('calibration_covariance', lambda a: -a, 'calibration_covariance is not positive definite'),
        ('version', lambda a: a + 1, 'has version 4, expected 3'),
        ('stamps', None, r"lacks \['stamps'\]"),
    ],
)
def test_bad_states_are_refused(tour, name, change, message):
    state = save(tour[0])
    if change is None:
        del state[name]
    else:
        state[name] = change(state[name])
    localizer = Localizer()
    with pytest.raises(ValueError, match=message):
        restore(localizer, state)
    assert localizer.map is None


def test_memory_is_flat_in_a_known_place():
    lap = [(1.0, 4.0), (1.0, 7.0), (4.0, 7.2), (4.5, 5.2), (3.2, 4.0)]
    poses = drive(lap * 12, 0.2)
    odom = odometry(poses, np.random.default_rng(1))
    localizer, rng = Localizer(), np.random.default_rng(2)
    sizes, edges, surfels = [], [], []
    for i, (p, o) in enumerate(zip(poses, odom, strict=True)):
        localizer.add(0.1 * i, o, scan(flat(), p, rng, beams=180))
        sizes.append(len(localizer.own.keyframes))
        edges.append(len(localizer.own.graph))
        surfels.append(sum(len(k.surfels) for k in localizer.own.keyframes.items))
    settled = 8 * len(poses) // 12
    assert sizes[-1] <= sizes[settled] + 4
    assert edges[-1] <= 1.2 * edges[settled]
    assert surfels[-1] <= 1.05 * surfels[settled] + 300
    assert localizer.own.keyframes.next_id > 2 * sizes[-1]
    true = relatives(poses[0], poses)[-1]
    assert np.hypot(*(localizer.pose - true)[:2]) < 0.05


def test_kidnapped_robot_is_lost_then_found_and_writes_nothing_wrong(tour):
    localizer = Localizer()
    restore(localizer, save(tour[0]))
    origin, before = tour[2][0], localizer.own.keyframes.next_id
    rng = np.random.default_rng(5)
    # Carried from the first room to the last one without odometry noticing.
    poses = drive([(9.0, 7.2), (11.0, 7.0), (11.0, 4.0), (8.0, 4.0)])
    odom = np.array([compose(tour[3][-1], relative(poses[0], p)) for p in poses])
    estimates = follow(localizer, flat(), poses, odom, rng, 10_000)
    states = [e.status for e in estimates]
    assert Status.LOST in states
    found = states.index(Status.RELOCALISED)
    assert all(e.keyframe is None for e in estimates[:found])
    true = relatives(origin, poses)
    for e, t in zip(estimates[found:], true[found:], strict=True):
        assert np.hypot(*(e.pose - t)[:2]) < 0.08
    assert localizer.own.keyframes.next_id > before
    assert found < 45


def test_robot_in_an_unknown_building_stays_lost(tour):
    localizer = Localizer()
    restore(localizer, save(tour[0]))
    elsewhere = np.array(
        [*box(0, 0, 5.3, 9.1), [0, 2.2, 1.9, 4.1], [5.3, 6, 3.1, 7.7], *box(2.2, 4.6, 3.0, 5.3)]
    )
    poses = drive([(1.0, 1.0), (4.0, 1.5), (4.2, 4.0), (4.0, 5.5), (1.0, 6.0)])
    odom = np.array([compose(tour[3][-1], relative(poses[0], p)) for p in poses])
    estimates = follow(localizer, elsewhere, poses, odom, np.random.default_rng(6), 10_000)
    assert all(e.keyframe is None for e in estimates)
    assert estimates[-1].status is Status.LOST
    assert estimates[-1].covariance[0, 0] > 1.0


def test_initial_pose_finds_the_robot_without_moving(tour):
    localizer = Localizer()
    restore(localizer, save(tour[0]))
    pose = np.array([10.5, 5.6, 2.0])
    hint = relative(tour[2][0], pose) + np.array([0.3, -0.3, 0.4])
    localizer.set_pose(hint, np.diag([0.25, 0.25, 0.1]))
    states = []
    for i in range(12):
        e = localizer.add(1e4 + i, tour[3][-1], scan(flat(), pose, np.random.default_rng(i)))
        states.append(e.status)
    assert Status.RELOCALISED in states
    assert states[-1] is Status.TRACKING
    assert np.hypot(*(localizer.pose - relative(tour[2][0], pose))[:2]) < 0.05


def twin_rooms():
    """Two rooms that look alike, on one corridor."""
    walls = [[0, 0, 16, 0], [0, 0, 0, 7], [16, 0, 16, 7], [0, 7, 16, 7], [8, 2, 8, 7]]
    walls += [[0, 2, 3.5, 2], [4.5, 2, 8, 2], [8, 2, 11.5, 2], [12.5, 2, 16, 2]]
    for x in (0, 8):
        walls += box(x + 1, 5, x + 2, 6) + box(x + 6, 3.5, x + 7, 4.0)
    return np.array(walls, float)


def test_two_rooms_that_look_alike_are_neither_joined_nor_guessed():
    """A wrong loop would fold the corridor; a lost robot must not take one room for the other."""
    poses = drive([(2, 1), (4, 1), (4, 3.2), (4, 5.5), (4, 3), (4, 1), (8, 1), (12, 1), (12, 3.2),
                   (12, 5.5), (12, 3), (12, 1), (4, 1)])  # fmt: skip
    odom = odometry(poses, np.random.default_rng(3))
    localizer, rng = Localizer(record=True), np.random.default_rng(4)
    follow(localizer, twin_rooms(), poses, odom, rng)
    _, found = localizer.trajectory.poses(localizer.own.keyframes)
    assert np.hypot(*(found - relatives(poses[0], poses))[:, :2].T).max() < 0.15

    inside = drive([(12, 5), (12.6, 5.2), (12.0, 5.6), (11.6, 5.0)])
    localizer.relocalize()
    odom = np.array([compose(odom[-1], relative(inside[0], p)) for p in inside])
    estimates = follow(localizer, twin_rooms(), inside, odom, rng, 10_000)
    assert all(e.status is Status.LOST for e in estimates)


def test_corridor_reports_a_weak_direction():
    corridor = np.array([[-40.0, 1.0, 60.0, 1.0], [-40.0, -1.0, 60.0, -1.0]])
    poses = np.array([[0.1 * i, 0.0, 0.0] for i in range(60)])
    odom = poses * [1.02, 1.0, 1.0]
    estimates = follow(Localizer(), corridor, poses, odom, np.random.default_rng(8))
    weak = [e for e in estimates[1:] if e.status is Status.WEAK]
    assert len(weak) > 50
    assert all(abs(e.weak[0]) > 0.95 for e in weak)
    last = estimates[-1]
    assert last.pose[0] == pytest.approx(odom[-1, 0], abs=0.05)
    assert last.covariance[0, 0] > 10 * last.covariance[1, 1]


def test_prior_moves_the_map_and_can_be_taken_back(tour):
    localizer = Localizer()
    restore(localizer, save(tour[0]))
    before = localizer.own.keyframes.poses.copy()
    shift = np.array([0.5, -0.2, 0.0])
    sure = np.diag([1e4, 1e4, 1e4])
    priors = {
        f'peer/{k}': Prior(int(k), localizer.own.keyframes.pose(int(k)) + shift, sure)
        for k in localizer.own.keyframes.ids[::10]
    }
    known = len(priors)
    priors['gone'] = Prior(99999, np.zeros(3), sure)  # of a keyframe that was forgotten
    reported = localizer.set_priors(priors)
    moved = localizer.own.keyframes.poses - before
    assert np.abs(moved[:, :2] - shift[:2]).max() < 0.02
    assert len(reported) == len(before)
    e = localizer.add(1e5, tour[3][-1], scan(flat(), tour[2][-1]))
    assert not e.moved  # they were reported already
    assert e.status is Status.TRACKING
    again = Localizer()
    restore(again, save(localizer))
    assert len(again.own.graph.priors) == known
    np.testing.assert_array_equal(
        again.own.graph.priors['peer/0'].pose, localizer.own.graph.priors['peer/0'].pose
    )
    with pytest.raises(ValueError, match='prior bad'):
        localizer.set_priors({'bad': Prior(0, np.full(3, np.nan), sure)})
    assert len(localizer.own.graph.priors) == known
    localizer.set_priors({})
    assert not localizer.own.graph.priors


def test_transform_changes_nothing_but_the_frame(tour):
    one, other = Localizer(), Localizer()
    for localizer in (one, other):
        restore(localizer, save(tour[0]))
    shift = np.array([10.0, -4.0, 1.2])
    other.transform(shift)
    points = scan(flat(), tour[2][-1], np.random.default_rng(9))
    a = one.add(1e5, tour[3][-1], points)
    b = other.add(1e5, tour[3][-1], points)
    off = relative(compose(shift, a.pose), b.pose)
    assert np.abs(off).max() < 0.005
    assert a.moved.keys() == b.moved.keys()  # the caller has re-expressed all others itself


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((0.0, (0, 0, math.nan), np.zeros((5, 2))), 'odometry'),
        ((0.0, (0, 0), np.zeros((5, 2))), 'odometry'),
        ((0.0, (0, 0, 0), np.full((5, 2), np.inf)), 'points'),
        ((0.0, (0, 0, 0), np.zeros((5, 3))), 'points'),
        ((math.inf, (0, 0, 0), np.zeros((5, 2))), 'stamp'),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Localizer().add(*arguments)


def test_settings_are_checked():
    with pytest.raises(ValueError, match='window is -1'):
        LocalizationSettings(window=-1)


def test_a_scan_without_points_is_survived(tour):
    localizer = Localizer()
    restore(localizer, save(tour[0]))
    e = localizer.add(1e5, tour[3][-1], np.empty((0, 2)))
    assert e.status in (Status.WEAK, Status.FAILED)
    assert np.isfinite(e.covariance).all()
    empty = Localizer()
    empty.add(0.0, np.zeros(3), np.empty((0, 2)))
    assert empty.add(0.1, np.array([0.1, 0, 0]), np.empty((0, 2))).pose[0] == pytest.approx(0.1)


def test_offline_run_and_scores():
    poses = drive(TOUR[:4])
    odom = odometry(poses, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    result = run(
        (0.1 * i, o, scan(flat(), p, rng)) for i, (p, o) in enumerate(zip(poses, odom, strict=True))
    )
    assert trajectory_error(result.poses, poses).max() < 0.05
    assert trajectory_error(odom, poses).max() > 0.2
    step = relatives(poses[:-10], poses[10:])
    zeros = np.zeros(len(step))
    relations = np.column_stack(
        [result.stamps[:-10], result.stamps[10:], step[:, :2], zeros, zeros, zeros, step[:, 2]]
    )
    score = relation_error(result.stamps, result.poses, relations)
    assert score.relations == len(step)
    assert 0 < score.translation_error_m < 0.03
    exact = relation_error(result.stamps, poses, relations)
    assert exact.translation_error_m < 1e-9
    with pytest.raises(ValueError, match='none of the'):
        relation_error(result.stamps + 1e6, poses, relations)
    assert result.summary()['scan_median_ms'] > 0
