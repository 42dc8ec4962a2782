"""Poses by time."""

import math

import pytest

from delama_ros.nodes.frames import FrameError, Frames, compose


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
    assert pose == pytest.approx((1.0, 2.0 + 1.5 + 0.1, 1.5 * math.pi))


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


def test_upside_down() -> None:
    frames = Frames()
    frames.set_fixed('base', 'mount', (1.0, 0.0, math.pi / 2), hangs=True)
    frames.set_fixed('mount', 'laser', (0.5, 0.2, 0.3))
    # The mount's x axis points to the left of the base; its y axis, mirrored, ahead.
    pose = frames.lookup('base', 'laser', 0.0)
    assert pose == pytest.approx((1.2, 0.5, math.pi / 2 - 0.3))
    assert frames.hangs('base', 'laser')
    assert not frames.hangs('mount', 'laser')
    frames.set_fixed('mount', 'laser', (0.5, 0.2, 0.3), hangs=True)
    assert not frames.hangs('base', 'laser')


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
