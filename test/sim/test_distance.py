import numpy as np
import pytest
from scipy import ndimage

from delama_ros.geometry.distance import FAR, chessboard, euclidean


@pytest.mark.parametrize('share', [0.0005, 0.01, 0.3, 0.9])
@pytest.mark.parametrize('shape', [(97, 61), (1, 50), (50, 1), (3, 3)])
def test_equal_to_scipy(share, shape):
    marked = np.random.default_rng(3).random(shape) < share
    marked[-1, 0] = True
    assert np.allclose(euclidean(marked), ndimage.distance_transform_edt(~marked))
    expected = ndimage.distance_transform_cdt(~marked, metric='chessboard')
    assert (chessboard(marked) == expected).all()


def test_nothing_marked_is_far():
    nothing = np.zeros((4, 5), np.bool_)
    assert (euclidean(nothing) >= FAR).all()
    assert (chessboard(nothing) >= FAR).all()
