"""Poses by time."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from delama_ros.geometry.frames import FrameError, Frames
from delama_ros.geometry.poses import compose
from delama_ros.geometry.rigid import Rigid


def tree() -> Frames:
    frames = Frames(keep=5.0)
    frames.set_fixed('map', 'a/odom', (1.0, 2.0, math.pi / 2))
    frames.set_fixed('a/base_link', 'a/laser', (0.1, 0.0, math.pi))
    for stamp in (0.0, 1.0, 2.0):
        frames.add('a/odom', 'a/base_link', stamp, (stamp, 0.0, 0.0))
    return frames


def test_compose_turns_and_shifts() -> None:
    assert compose((1.0, 0.0, math.pi / 2), (2.0, 0.0, 0.5)) == pytest.approx(
        (1.0, 2.0, math.pi / 2 + 0.5)
    )


def test_chain_with_interpolation() -> None:
    pose = tree().lookup('map', 'a/laser', 1.5)
    assert pose == pytest.approx((1.0, 2.0 + 1.5 + 0.1, -0.5 * math.pi))


def test_heading_interpolates_the_short_way() -> None:
    frames = Frames()
    frames.add('odom', 'base', 0.0, (0.0, 0.0, math.pi - 0.1))
    frames.add('odom', 'base', 1.0, (0.0, 0.0, -math.pi + 0.1))
    assert math.cos(frames.lookup('odom', 'base', 0.5)[2]) == pytest.approx(-1.0)


def test_what_is_missing_is_named() -> None:
    frames = tree()
    with pytest.raises(FrameError, match=r"'a/base_link' at 2\.500 s yet \(newest: 2\.000\)"):
        frames.lookup('map', 'a/laser', 2.5)
    with pytest.raises(FrameError, match='begin at 0'):
        frames.lookup('map', 'a/laser', -1.0)
    with pytest.raises(FrameError, match="'b/laser' has no parent"):
        frames.lookup('map', 'b/laser', 1.0)


def test_old_poses_go() -> None:
    frames = tree()
    frames.add('a/odom', 'a/base_link', 6.5, (6.5, 0.0, 0.0))
    with pytest.raises(FrameError, match='begin at 2'):
        frames.lookup('map', 'a/base_link', 1.0)


def test_a_clock_that_jumped_back_starts_anew() -> None:
    frames = tree()
    frames.add('a/odom', 'a/base_link', 100.0, (0.0, 0.0, 0.0))
    frames.add('a/odom', 'a/base_link', 1.0, (7.0, 0.0, 0.0))
    assert frames.lookup('a/odom', 'a/base_link', 1.0) == (7.0, 0.0, 0.0)


def test_a_small_step_back_is_late_news_a_large_one_a_jump() -> None:
    frames = tree()
    assert frames.add('a/odom', 'a/base_link', 1.5, (9.0, 0.0, 0.0))
    assert frames.lookup('a/odom', 'a/base_link', 1.5) == (1.5, 0.0, 0.0)
    assert not frames.add('a/odom', 'a/base_link', 0.5, (7.0, 0.0, 0.0))
    assert frames.lookup('a/odom', 'a/base_link', 0.5) == (7.0, 0.0, 0.0)
    with pytest.raises(FrameError, match=r'yet \(newest: 0\.500\)'):
        frames.lookup('a/odom', 'a/base_link', 1.5)


def test_poses_from_before_a_jump_are_forgotten() -> None:
    frames = tree()
    frames.forget(1.5)
    assert frames.lookup('a/odom', 'a/base_link', 1.5) == (1.5, 0.0, 0.0)
    frames.forget(0.5)
    with pytest.raises(FrameError, match='newest: none'):
        frames.lookup('map', 'a/laser', 0.5)
    with pytest.raises(FrameError):
        frames.lookup_near('map', 'a/laser', 0.5, 0.5)


def turned(x: float, y: float, z: float, *angles: float) -> Rigid:
    """Return a mount with roll, pitch and yaw in degrees."""
    return Rigid(x, y, z, tuple(Rotation.from_euler('xyz', angles, degrees=True).as_quat()))


def test_upside_down() -> None:
    frames = Frames()
    # The mount's x axis points to the left of the base; its y axis, turned over, ahead.
    frames.set_fixed('base', 'mount', turned(1.0, 0.0, 0.0, 180, 0, 90))
    frames.set_fixed('mount', 'laser', (0.5, 0.2, 0.3))
    pose = frames.lookup('base', 'laser', 0.0)
    assert pose == pytest.approx((1.2, 0.5, math.pi / 2 - 0.3))
    assert frames.lookup_in_space('base', 'laser', 0.0).up == pytest.approx(-1.0)
    assert frames.lookup_in_space('mount', 'laser', 0.0).up == pytest.approx(1.0)
    frames.set_fixed('mount', 'laser', turned(0.5, 0.2, 0.0, 180, 0, 0))
    assert frames.lookup_in_space('base', 'laser', 0.0).up == pytest.approx(1.0)


def test_tilts_that_cancel() -> None:
    frames = Frames()
    frames.set_fixed('base', 'mast', turned(0.1, 0.0, 0.3, 0, 90, 0))  # its x axis points down
    frames.set_fixed('mast', 'laser', turned(-0.2, 0.05, 0.1, 0, -90, 0))
    laser = frames.lookup_in_space('base', 'laser', 0.0)
    assert laser.plane == pytest.approx((0.2, 0.05, 0.0))
    assert laser.z == pytest.approx(0.5)
    assert laser.up == pytest.approx(1.0)


def test_it_agrees_with_matrices() -> None:
    """Random chains of moving and fixed frames, composed and interpolated by scipy."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        frames, expected = Frames(), np.eye(4)
        share = rng.random()
        for number in range(4):
            turns, places = Rotation.random(2, rng), rng.normal(size=(2, 3))
            ends = [Rigid(*place, tuple(turn.as_quat() * rng.choice([-1.0, 1.0])))
                    for place, turn in zip(places, turns, strict=True)]
            link = np.eye(4)
            if number % 2:
                frames.set_fixed(f'f{number}', f'f{number + 1}', ends[0])
                link[:3, :3], link[:3, 3] = turns[0].as_matrix(), places[0]
            else:
                for stamp, pose in zip((1.0, 2.0), ends, strict=True):
                    frames.add(f'f{number}', f'f{number + 1}', stamp, pose)
                link[:3, :3] = Slerp([0.0, 1.0], turns)(share).as_matrix()
                link[:3, 3] = places[0] + share * (places[1] - places[0])
            expected = expected @ link
        found = frames.lookup_in_space('f0', 'f4', 1.0 + share)
        np.testing.assert_allclose(found[:3], expected[:3, 3], atol=1e-9)
        np.testing.assert_allclose(
            Rotation.from_quat(found.turn).as_matrix(), expected[:3, :3], atol=1e-9
        )
        assert found.up == pytest.approx(expected[2, 2])
        assert found.plane[2] == pytest.approx(math.atan2(expected[1, 0], expected[0, 0]))


def test_a_loop_of_frames_ends() -> None:
    frames = Frames()
    frames.set_fixed('a', 'b', (0.0, 0.0, 0.0))
    frames.set_fixed('b', 'a', (0.0, 0.0, 0.0))
    with pytest.raises(FrameError):
        frames.lookup('map', 'a', 0.0)


def test_near_makes_do_with_an_older_pose() -> None:
    frames = tree()
    assert frames.lookup_near('a/odom', 'a/base_link', 2.4, 0.5) == (2.0, 0.0, 0.0)
    assert frames.lookup_near('a/odom', 'a/base_link', 1.5, 0.5) == (1.5, 0.0, 0.0)
    with pytest.raises(FrameError, match='yet'):
        frames.lookup_near('a/odom', 'a/base_link', 2.6, 0.5)
