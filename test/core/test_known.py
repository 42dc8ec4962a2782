"""Who relays whose models to whom: what is lacked and wanted, twice where two robots could."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delama_ros.core.agent.known import RELAYS, Known, known_of, relays, row_of
from delama_ros.core.agent.messages import Dual, Phase

NAMES = [f'r{i}' for i in range(7)]
STEP = 3


def everybody(links: dict[str, set[str]]) -> dict[str, Known]:
    return {name: Known(dict.fromkeys(sorted({name, *links[name]}), 0)) for name in links}


def full(*cut: tuple[str, str]) -> dict[str, Known]:
    return everybody({
        a: {b for b in NAMES if (a, b) not in cut and (b, a) not in cut} for a in NAMES
    })


def test_nobody_relays_where_all_receive_each_other():
    known = full()
    assert all(relays(known, name, STEP) == {} for name in NAMES)


def test_two_robots_bridge_a_link_that_is_missing():
    known = full(('r0', 'r4'))
    for robot, lacked in (('r0', 'r4'), ('r4', 'r0')):
        each = [relays(known, robot, step) for step in range(20)]
        assert all([*found.values()] == [frozenset({lacked})] * RELAYS for found in each)
        # Nobody is always among them, whatever its name.
        assert set().union(*each) == {*NAMES} - {'r0', 'r4'}
        assert not set(each[0]).intersection(*each)
    assert relays(known, 'r3', STEP) == {}


def test_in_a_line_both_sides_are_relayed():
    known = everybody({a: set(NAMES[max(i - 1, 0) : i + 2]) for i, a in enumerate(NAMES)})
    assert relays(known, 'r3', STEP) == {'r2': frozenset({'r1'}), 'r4': frozenset({'r5'})}
    assert relays(known, 'r0', STEP) == {'r1': frozenset({'r2'})}


def test_what_a_robot_does_not_want_is_not_relayed_to_it():
    known = full(('r0', 'r4'))
    known['r0'] = known['r0']._replace(unused=frozenset({'r4'}))
    assert relays(known, 'r0', STEP) == {}


def test_departed_robots_are_relayed_to_those_that_never_received_them():
    known = full()
    for name in ('r1', 'r3'):
        known[name] = known[name]._replace(departed={'gone': 2})
    assert set(relays(known, 'r0', STEP)) == {'r1', 'r3'}
    known['r0'] = known['r0']._replace(departed={'gone': 2})
    assert relays(known, 'r0', STEP) == {}
    known['r0'] = known['r0']._replace(departed={'gone': 1})
    assert set(relays(known, 'r0', STEP)) == {'r1', 'r3'}


def test_who_holds_only_an_old_model_of_a_robot_lacks_the_new_one():
    known = full(('r0', 'r4'))
    known['r0'] = known['r0']._replace(departed={'r4': 0})
    assert [*relays(known, 'r0', STEP).values()] == [frozenset({'r4'})] * RELAYS


def test_only_robots_that_use_each_other_relay():
    known = full(('r0', 'r4'))
    del known['r1'].used['r0']
    assert set().union(*(relays(known, 'r0', s) for s in range(20))) == {'r2', 'r3', 'r5', 'r6'}


@given(st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))))
def test_all_that_is_lacked_is_relayed_and_not_too_often(pairs):
    known = everybody({a: {b for b in NAMES if (a, b) in pairs or (b, a) in pairs} for a in NAMES})
    for name in NAMES:
        found = relays(known, name, STEP)
        could = [
            other for other in NAMES if other in known[name].used and name in known[other].used
        ]
        lacked = frozenset().union(*(known[name].lacks(known[other]) for other in could))
        relayed = [robot for names in found.values() for robot in names]
        assert set(relayed) == lacked
        assert all(relayed.count(robot) <= RELAYS for robot in relayed)


@given(
    st.dictionaries(st.sampled_from(NAMES[:3]), st.integers(0, 2**32 - 1)),
    st.dictionaries(st.sampled_from(NAMES[3:5]), st.integers(0, 2**32 - 1)),
    st.frozensets(st.sampled_from(NAMES[5:])),
)
def test_a_row_says_what_its_sender_knows(used, departed, unused):
    known = Known(used, departed, unused)
    names, values = row_of(known, dict.fromkeys(used, 0.5))
    row = Dual('me', 1, Phase.WEIGHT, 0, 0, 0, names, values[:, 0], values[:, 1])
    assert known_of(row, 7) == Known({**used, 'me': 7}, departed, unused)
    assert row.x.tolist() == [0.5 if name in used else 0.0 for name in names]


@pytest.mark.parametrize('y', [3.0, 1e100, 2.5])
def test_numbers_that_no_robot_sends_do_no_harm(y):
    row = Dual('other', 1, Phase.WEIGHT, 0, 0, 0, ('r1',), np.array([0.5]), np.array([y]))
    known = known_of(row, 0)
    assert known.used['other'] == 0
    relays({'r0': Known({'r0': 0, 'other': 0}), 'other': known}, 'r0', STEP)
