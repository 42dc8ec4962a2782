"""What the package cannot do without, and rosdep cannot install everywhere."""

import numpy as np
import pytest

from delama_ros.extras import cure


def test_kernels_are_compiled() -> None:
    reason = f'{cure("numba")}; all tests but those of the packaging are left out'
    pytest.importorskip('numba', reason=reason)
    from delama_ros.core.triangular import factor_blocks

    blocks = np.array([[[4.0, 2.0], [2.0, 5.0]]])
    assert np.allclose(factor_blocks(blocks, np.zeros(1)), [[[2.0, 0.0], [1.0, 2.0]]])
