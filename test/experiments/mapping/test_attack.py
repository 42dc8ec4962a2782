"""Robots that lie: what the maps of the others lose, in runs with real messages."""

import numpy as np
import pytest

from delama_ros.experiments.mapping.attack import NONE, SILENT, evaluate_attacks
from delama_ros.experiments.mapping.lies import LIES
from delama_ros.experiments.mapping.rows import Protocol
from delama_ros.experiments.runner import Runner
from delama_ros.mapping.default import packaged

PLAN, BEGIN, STEPS = 'generated:9003', 4, 9
LATER = slice(BEGIN + 2, None)  # from three steps after the lie began


def attack(folder, lies, **changes):
    given = {'liars': 1, 'begin': BEGIN, 'until': STEPS, 'seeds': [0]} | changes
    return evaluate_attacks(
        [PLAN], Protocol(5, STEPS), packaged(), lies, Runner(folder), **given
    )


def loss(found, lie):
    return np.array(found[lie]['baseline_f1'][LATER]) - found[lie]['honest_f1'][LATER]


@pytest.fixture(scope='module')
def one_liar(tmp_path_factory):
    return attack(tmp_path_factory.mktemp('one'), [*LIES])


@pytest.mark.parametrize('lie', [*LIES])
def test_one_liar_of_five_costs_hardly_anything(one_liar, lie) -> None:
    assert loss(one_liar, lie).max() < 1.0
    assert one_liar[lie]['accused'] == [0] * STEPS


@pytest.mark.parametrize('lie', sorted({*LIES} - {'passed-on', 'shift'}))
def test_a_liar_is_distrusted_by_all(one_liar, lie) -> None:
    assert one_liar[lie]['distrusted'][BEGIN - 2] == 0
    assert min(one_liar[lie]['distrusted'][LATER]) == 1


def test_honest_robots_send_as_much_as_before(one_liar) -> None:
    assert one_liar[NONE]['accused'] == [0] * STEPS
    assert one_liar['heavy']['bytes'][: BEGIN - 1] == one_liar[NONE]['bytes'][: BEGIN - 1]
    assert one_liar['heavy']['bytes'][-1] < 1.1 * one_liar[SILENT]['bytes'][-1]


def test_two_liars_of_five(tmp_path) -> None:
    found = attack(tmp_path, ['erase', 'heavy'], liars=2)
    for lie in ('erase', 'heavy'):
        assert loss(found, lie).max() < 2.0
        assert found[lie]['distrusted'][-1] == 2


def test_liars_that_lie_from_the_first_step_and_leave(tmp_path) -> None:
    found = attack(tmp_path, ['random', 'heavy'], begin=1, until=2)
    for lie in ('random', 'heavy'):
        assert loss(found, lie).max() < 1.0
