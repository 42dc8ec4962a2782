"""Maps of what different robots saw of one building are compared, and of buildings that differ."""

import numpy as np
import pytest

from delama_ros.core.blocks import Model
from delama_ros.mapping.agreement import Agreement
from delama_ros.mapping.default import packaged

AGREEMENT = Agreement(packaged().model)


def compared(*models: Model, witness=None):
    views = AGREEMENT.views([AGREEMENT.sketch(m, AGREEMENT.deviations(m)) for m in models])
    tally = AGREEMENT.tally(views, np.ones(len(models)) if witness is None else witness)
    return tally.against.sum(1), tally.agreed.sum(1)


LEFT, RIGHT = (2.0, 2.0), (6.5, 2.5)


def test_a_map_agrees_with_itself(hall, seen):
    model = seen(hall(4.0), LEFT)
    against, agreed = compared(model, model)
    assert (against == 0).all()
    assert (agreed > 5).all()


@pytest.mark.parametrize('thickness', [0.1, 0.2, 0.4])
def test_both_sides_of_a_wall_do_not_contradict_each_other(hall, seen, thickness):
    plan = hall(4.0, thickness)
    against, _ = compared(seen(plan, LEFT), seen(plan, RIGHT))
    assert against.max() < 0.6  # of 4 m


def test_a_wall_in_the_open_counts_with_its_length(hall, seen):
    without = seen(hall(7.9), LEFT, (6.0, 2.0))
    within = seen(hall(4.0), LEFT)
    against, agreed = compared(without, within)
    assert against == pytest.approx(2 * [against[0]], rel=0.05)
    assert 3.0 < against[0] < 9.0  # 4 m, up to two cells thick
    assert agreed[0] > 3


def test_the_majority_decides(hall, seen):
    true, false = seen(hall(4.0), LEFT), seen(hall(3.0), LEFT)
    one_to_one, _ = compared(true, false)
    assert (one_to_one > 2).all()
    against, agreed = compared(true, false, true)
    assert against[1] > 2
    assert against[[0, 2]].max() <= 0.3
    assert (agreed[[0, 2]] > 5).all()
    against, _ = compared(true, false, true, witness=[1, 1, 0])
    assert against[0] > 2


def test_little_evidence_says_little(hall, seen):
    true, false = seen(hall(4.0), LEFT), seen(hall(3.0), LEFT)
    faint = Model(false.codes, false.theta, false.evidence * 0.01, false.epochs)
    assert compared(true, faint)[0].max() < 0.2 * compared(true, false)[0].max()


def test_maps_without_a_tile_in_common_say_nothing(hall, seen):
    one = seen(hall(4.0), LEFT)
    far = Model(one.codes + (1000 << 32), one.theta, one.evidence, one.epochs)
    against, agreed = compared(one, far)
    assert against.sum() == agreed.sum() == 0
