import numpy as np
import pytest

from delama_ros.bench.sim import march, run
from delama_sim.plans.generator import generate
from delama_sim.rays import RayCaster


def test_the_march_it_is_compared_with_is_right():
    occupancy = generate(2).map
    rows, cols = np.nonzero(occupancy.free)
    origins = occupancy.centre_of(rows[::500], cols[::500])
    angles = np.tile(np.linspace(0.1, 6.3, 30), (len(origins), 1))
    slow, exact = (
        march(occupancy, origins, angles, 12.0),
        RayCaster(occupancy).ranges(origins, angles, 12.0),
    )
    both = np.isfinite(slow) & np.isfinite(exact)
    assert both.mean() > 0.9
    # steps of half a cell find a wall up to half a cell late, or miss a corner they step over
    late = slow[both] - exact[both]
    assert late.min() > -1e-9
    assert np.percentile(late, 95) <= occupancy.resolution / 2 + 1e-9


def test_figures():
    figures = run(seed=0)
    # Loose bounds, as machines differ and may be busy; `delama bench sim` shows the figures.
    assert figures['exact rays, million/s'] > 1
    assert figures['exact rays : numpy march'] > 5
    assert figures['50 robots x 360 beams x 10 Hz, times real time'] > 1
    assert figures['generated plans/s'] > 20
    assert all(value == pytest.approx(value) for value in figures.values())
