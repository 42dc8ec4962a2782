"""Poses one at a time and in arrays: the same formulas, written twice."""

import numpy as np

from delama_ros.geometry import pose_math, poses


def test_single_poses_and_arrays_agree() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200, 3)) * [10, 10, 3]
    for name in ('compose', 'relative'):
        each = [getattr(pose_math, name)(*pair) for pair in zip(a, b, strict=True)]
        np.testing.assert_allclose(each, getattr(poses, name)(a, b), atol=1e-12)
    each = [pose_math.inverse(pose) for pose in a]
    np.testing.assert_allclose(each, poses.inverse(a), atol=1e-12)
    moved = pose_math.transform(a[0], b[:, :2])
    np.testing.assert_allclose(moved, poses.compose(a[0], b)[:, :2], atol=1e-12)
