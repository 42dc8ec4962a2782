"""Our own tree of frames against tf2's buffer, where there is one."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from delama_ros.geometry.frames import FrameError, Frames
from delama_ros.geometry.rigid import Rigid
from delama_ros.ros.tf_buffer import BufferedFrames, make_frames

tf2_py = pytest.importorskip('tf2_py', reason='tf2 is not on PyPI; it comes with a ROS 2 install')


def both() -> tuple[Frames, Frames]:
    assert isinstance(make_frames(), BufferedFrames)
    return Frames(), make_frames()


def test_random_trees_give_the_same_poses() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        trees = both()
        start = float(rng.uniform(1.0, 1e9))
        for number in range(4):
            for k in range(5):
                turn = tuple(Rotation.random(None, rng).as_quat())
                pose = Rigid(*rng.normal(size=3), turn)
                for frames in trees:
                    if number % 2:
                        frames.set_fixed(f'f{number}', f'f{number + 1}', pose)
                    else:
                        frames.add(f'f{number}', f'f{number + 1}', start + 0.1 * k, pose)
        for stamp in start + rng.uniform(0.0, 0.4, 10):
            ours, theirs = (frames.lookup_in_space('f0', 'f4', stamp) for frames in trees)
            np.testing.assert_allclose(ours[:3], theirs[:3], atol=1e-5)
            apart = Rotation.from_quat(ours.turn).inv() * Rotation.from_quat(theirs.turn)
            assert apart.magnitude() < 1e-5


def test_jumps_of_the_clock_new_parents_and_what_is_missing() -> None:
    for frames in both():
        frames.set_fixed('base', 'laser', (0.1, 0.0, 0.0))
        frames.add('odom', 'base', 100.0, (1.0, 0.0, 0.0))
        assert not frames.add('odom', 'base', 5.0, (7.0, 0.0, 0.0))
        assert frames.lookup('odom', 'laser', 5.0) == pytest.approx((7.1, 0.0, 0.0))
        with pytest.raises(FrameError, match=r'yet \(newest: 5\.000\)'):
            frames.lookup('odom', 'laser', 100.0)
        frames.add('world', 'base', 6.0, (2.0, 0.0, 0.0))
        assert frames.lookup('world', 'laser', 6.0) == pytest.approx((2.1, 0.0, 0.0))
        with pytest.raises(FrameError, match="'world' has no parent"):
            frames.lookup('odom', 'laser', 6.0)
        frames.forget(2.0)
        with pytest.raises(FrameError, match='newest: none'):
            frames.lookup('world', 'laser', 6.0)
