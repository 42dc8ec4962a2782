"""What an agent refuses, what it keeps for later, and that refusal changes nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Dual, Params, Phase
from delama_ros.core.agent.refusal import Refusal
from delama_ros.core.blocks import Model, encode
from delama_ros.core.settings import PAPER, Settings

SHAPE = (3, 2)
KEYS = np.array([[0, 0], [4, -1]], dtype=np.int32)


def good(keys=KEYS, theta=None, evidence=None, **changes):
    theta = np.ones((len(keys), *SHAPE)) if theta is None else theta
    evidence = np.ones((len(keys), 0)) if evidence is None else evidence
    message = Params('bob', 5, Phase.LOCAL, 0, 77, Model(encode(keys), theta, evidence))
    return replace(message, **changes)


def good_dual(**changes):
    message = Dual('bob', 5, Phase.WEIGHT, 0, 77, 0, ('me',), np.ones(1), np.zeros(1))
    return replace(message, **changes)


def listening(settings=None):
    agent = Agent('me', settings or Settings(), fingerprint=77, shape=SHAPE)
    agent.observe(KEYS, np.tile(np.eye(3), (2, 1, 1)), np.ones((2, *SHAPE)))
    agent.begin(5, ['bob', 'eve'])
    return agent


REFUSED = {
    Refusal.FOREIGN_FINGERPRINT: good(fingerprint=78),
    Refusal.OWN_MESSAGE: good(robot='me'),
    Refusal.UNKNOWN_ROBOT: good(robot='mallory'),
    Refusal.PAST_STEP: good(step=4),
    Refusal.FUTURE_STEP: good(step=7),
    Refusal.UNKNOWN_PHASE: good(phase=3),
    Refusal.UNKNOWN_ROUND: good(phase=Phase.UPDATE, round=99),
    Refusal.WRONG_SHAPE: good(theta=np.ones((2, 2, 2))),
    Refusal.NOT_FINITE: good(theta=np.full((2, *SHAPE), np.nan)),
    Refusal.ABSURD_VALUE: good(theta=np.full((2, *SHAPE), 1e30)),
    Refusal.UNKNOWN_BLOCK: good(keys=np.array([[0, 0], [-(2**31), 0]], np.int32)),
    Refusal.REPEATED_KEY: good(keys=KEYS[[0, 0]]),
    Refusal.MALFORMED: good(theta='nonsense'),
}
REFUSED_DUALS = {
    Refusal.UNKNOWN_PHASE: good_dual(phase=Phase.LOCAL),
    Refusal.UNKNOWN_HOP: good_dual(phase=Phase.START, hop=999),
    Refusal.UNKNOWN_ROUND: good_dual(phase=Phase.DUAL, round=500),
    Refusal.WRONG_SHAPE: good_dual(y=np.zeros(2)),
    Refusal.NOT_FINITE: good_dual(x=np.array([np.inf])),
    Refusal.ABSURD_VALUE: good_dual(x=np.array([-1.0])),
    Refusal.MALFORMED: good_dual(names=(3,)),
}


@pytest.mark.parametrize(
    ('reason', 'message'), [*REFUSED.items(), *REFUSED_DUALS.items()]
)
def test_refused_by_name_and_counted(reason, message):
    agent = listening()
    refused = agent.receive(message)
    assert refused is not None
    assert refused.reason is reason
    assert refused.detail
    assert agent.refused == {reason: 1}
    # Nothing was kept: the same robot's good message is still the first.
    assert agent.receive(good()) is None


@pytest.mark.parametrize('changes', [
    {'robot': None}, {'step': 'x'}, {'step': None}, {'phase': 1.5}, {'round': None},
    {'model': None}, {'model': Model(None, np.ones((2, *SHAPE)), np.ones((2, 0)))},
    {'model': Model(np.ones(2), np.ones((2, *SHAPE)), np.ones((2, 0)))},
    {'model': Model(encode(KEYS)[:1], np.ones((2, *SHAPE)), np.ones((2, 0)))},
    {'theta': 'nonsense'}, {'theta': np.array([['a']])}, {'evidence': -np.ones((2, 0, 1))},
])
def test_malformed_never_raises(changes):
    assert listening().receive(good(**changes)) is not None


def test_replayed_and_too_large():
    agent = listening(Settings(max_entries=2))
    assert agent.receive(good()) is None
    assert agent.receive(good()).reason is Refusal.REPLAYED
    large = good(robot='eve', keys=np.arange(6, dtype=np.int32).reshape(3, 2))
    assert agent.receive(large).reason is Refusal.TOO_LARGE


def test_messages_for_the_next_step_are_kept():
    agent = listening()
    assert agent.receive(good(step=6)) is None
    assert agent.receive(good(step=6)).reason is Refusal.REPLAYED
    assert not agent.ready
    while not agent.done:
        agent.advance()
    agent.begin(6, ['bob'])
    assert agent.ready


def test_early_messages_are_bounded():
    agent = listening(Settings(max_early=3))
    reasons = [agent.receive(good(robot=f'r{i}', step=6)) for i in range(5)]
    assert reasons[:3] == [None] * 3
    assert all(reason.reason is Refusal.TOO_MANY_EARLY for reason in reasons[3:])


def test_before_the_first_step_the_latest_step_is_kept():
    agent = Agent('me', Settings(), fingerprint=77, shape=SHAPE)
    assert agent.receive(good(step=8)) is None
    assert agent.receive(good(step=9)) is None
    assert agent.receive(good(step=8)).reason is Refusal.PAST_STEP
    agent.begin(9, ['bob'])
    assert agent.ready


def test_answers_of_later_rounds_wait_for_their_turn():
    agent = listening()
    assert agent.receive(good(phase=Phase.UPDATE, round=1)) is None
    assert not agent.ready
    assert agent.receive(good()) is None
    assert agent.receive(good(robot='eve')) is None
    assert agent.ready


def test_missed_answers_are_counted_and_the_neighbour_is_left_out():
    agent = listening()
    agent.receive(good())
    while not agent.done:
        agent.advance()
    assert agent.missed['eve'] == 1
    assert agent.missed['bob'] > 1
    assert set(agent.weights) == {'bob'}  # its local model was received
    assert np.isfinite(agent.theta[1]).all()


numbers = strategies.floats(min_value=0, max_value=1e110)


@pytest.mark.parametrize('settings', [Settings(), PAPER, replace(PAPER, dual_rounds=0)])
@given(data=strategies.data())
def test_whatever_peers_say_the_model_stays_finite(settings, data):
    """Any accepted numbers leave weights bounded and B positive definite."""
    agent = listening(settings)
    while not agent.done:
        phase, round_, hop = agent._stage
        for robot in ('bob', 'eve'):
            if phase in (Phase.LOCAL, Phase.UPDATE):
                value = data.draw(strategies.floats(-1e6, 1e6))
                message = good(robot=robot, phase=int(phase), round=round_,
                               theta=np.full((2, *SHAPE), value))
            else:
                rows = data.draw(strategies.lists(strategies.tuples(
                    strategies.sampled_from(['me', 'bob', 'eve', 'ann']), numbers, numbers
                ), max_size=4))
                message = good_dual(
                    robot=robot, phase=int(phase), round=round_, hop=hop,
                    names=tuple(n for n, _, _ in rows),
                    x=np.array([x for _, x, _ in rows]), y=np.array([y for _, _, y in rows]),
                )
            agent.receive(message)
        agent.advance()
    assert np.isfinite(agent.theta[1]).all()
    assert np.abs(agent.theta[1]).max() < 1e9
    assert all(0 <= w <= 10 for w in agent.weights.values())
