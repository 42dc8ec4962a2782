import math

import numpy as np
import pytest

from delama_ros.geometry.grid import FREE, OCCUPIED, OccupancyMap
from delama_sim.radio import Radio, RadioState
from delama_sim.rays import RayCaster


def state(model, n=3, seed=0, building=None, occupancy=None):
    empty = OccupancyMap(np.full((200, 400), FREE, np.int8), 0.05)
    caster = RayCaster(occupancy or empty)
    homes = np.zeros(n, np.int64) if building is None else np.array(building)
    casters = [caster] * (int(homes.max()) + 1)
    return RadioState(model, casters, homes, 0.5, np.random.default_rng(seed))


POSES = np.array([(1.0, 5.0, 0.0), (4.0, 5.0, 0.0), (9.0, 5.0, 0.0)])


def test_range_decides():
    hears = state(Radio(range=5.5)).links(POSES).hears
    assert hears.tolist() == [[True, True, False], [True, True, True], [False, True, True]]
    assert state(Radio()).links(POSES).hears.all()


def test_walls_cost_range():
    occupancy = OccupancyMap(np.full((200, 400), FREE, np.int8), 0.05)
    occupancy.cells[:, 50:54] = OCCUPIED  # between the first two
    hears = state(Radio(range=5.5, wall=3.0), occupancy=occupancy).links(POSES).hears
    assert not hears[0, 1]
    assert hears[1, 2]


def test_loss_is_the_asked_share_and_may_be_one_way():
    radio = state(Radio(loss=0.2), n=3)
    heard = np.array([radio.links(POSES).hears for _ in range(2000)])
    off_diagonal = ~np.eye(3, dtype=bool)
    assert heard[:, off_diagonal].mean() == pytest.approx(0.8, abs=0.02)
    assert (heard != heard.transpose(0, 2, 1)).any()
    assert heard[:, ~off_diagonal].all()


def test_fading_changes_links_slowly_and_both_ways():
    radio = state(Radio(range=5.0, fading=1.0, fading_time=5.0))
    heard = np.array([radio.links(POSES).in_range for _ in range(1000)])
    link = heard[:, 1, 2]
    assert 0.2 < link.mean() < 0.8
    assert (link[1:] != link[:-1]).mean() < 0.25, 'states last'
    assert (heard == heard.transpose(0, 2, 1)).all()


def test_delay():
    radio = state(Radio(delay=0.1, jitter=0.03))
    delays = np.array([radio.links(POSES).delay[0, 1] for _ in range(500)])
    assert delays.mean() == pytest.approx(0.1, abs=0.01)
    assert delays.min() >= 0


def test_buildings():
    near = np.zeros((3, 3))
    apart = state(Radio(across_buildings=False), building=[0, 1, 0]).links(near).hears
    assert apart.tolist() == [[True, False, True], [False, True, False], [True, False, True]]
    # frames are unrelated, so range cannot apply between buildings
    far = np.array([(0, 0, 0), (1e6, 0, 0), (0, 0, 0)], float)
    assert state(Radio(range=5.0), building=[0, 1, 0]).links(far).hears.all()


def test_a_chain():
    heard = state(Radio(chain=True)).links(np.zeros((3, 3))).hears
    assert heard.tolist() == [[True, True, False], [True, True, True], [False, True, True]]


def test_the_seed_decides():
    one, same, other = (state(Radio(loss=0.5), seed=s) for s in (1, 1, 2))
    a, b, c = ([r.links(POSES).hears for _ in range(20)] for r in (one, same, other))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    'arguments',
    [{'range': 0}, {'loss': 1.2}, {'wall': -1}, {'delay': math.nan}, {'fading_time': 0}],
)
def test_impossible_radios_are_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        Radio(**arguments)
