"""The queue of attempts: budgets, order, checks before searches, no work without news."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from delama_ros.rendezvous import attempts as module
from delama_ros.rendezvous.attempts import Attempts, Task
from delama_ros.rendezvous.belief import Belief, State
from delama_ros.rendezvous.se2 import difference

spec = importlib.util.spec_from_file_location('worlds', Path(__file__).parent / 'worlds.py')
assert spec is not None
assert spec.loader is not None
worlds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worlds)
FLAT, model, ordered, pose = worlds.FLAT, worlds.model, worlds.ordered, worlds.pose
MINE, THEIRS = pose(3.0, -2.0, 12.0), pose(-4.0, 5.0, 70.0)
OWN, PEER = ordered(model(FLAT, MINE)), ordered(model(FLAT, THEIRS, (-1.0, -1.0, 9.0, 7.0)))


class Clock:
    """Every look at it costs a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_nothing_is_tried_again_until_maps_grow() -> None:
    attempts = Attempts()
    assert attempts.run([Task('b', None)]) == []
    attempts.set_own(OWN)
    assert attempts.run([Task('b', None)]) == []
    attempts.set_peer('b', PEER)
    (result,) = attempts.run([Task('b', None)], 10.0)
    assert result.searched
    assert result.outcome.accepted
    assert attempts.run([Task('b', None)], 10.0) == []
    attempts.set_peer('b', PEER, moved=True)
    assert len(attempts.run([Task('b', None)], 10.0)) == 1


def test_a_budget_is_kept_and_everybody_gets_a_turn() -> None:
    attempts = Attempts(clock=Clock())
    attempts.set_own(OWN)
    tasks = [Task(name, None) for name in 'bcd']
    for name in 'bcd':
        attempts.set_peer(name, PEER)
    seen = []
    for _ in range(3):
        results = attempts.run(tasks, budget=1.5)  # time for one
        assert len(results) == 1
        seen.append(results[0].peer)
    assert sorted(seen) == ['b', 'c', 'd']
    assert attempts.run(tasks, budget=1.5) == []


def test_believed_transforms_are_checked_and_lost_ones_searched_for() -> None:
    attempts = Attempts()
    attempts.set_own(OWN)
    attempts.set_peer('b', PEER)
    truth = difference(MINE, THEIRS)
    (result,) = attempts.run([Task('b', truth)], 10.0)
    assert not result.searched
    assert result.outcome.accepted
    attempts.set_peer('b', PEER)
    far = truth + np.array([200.0, 0.0, 0.0])
    first, second = attempts.run([Task('b', far)], 10.0)
    assert not first.searched
    assert not first.outcome.accepted
    assert second.searched
    assert second.outcome.accepted


def test_a_wrong_belief_is_withdrawn_within_five_steps() -> None:
    attempts, belief = Attempts(), Belief('b')
    belief.give(difference(MINE, THEIRS) + np.array([1.3, 0.4, 0.3]), np.eye(3) * 1e-4)
    steps = 0
    while belief.joined:
        attempts.set_own(OWN)
        attempts.set_peer('b', PEER)
        for result in attempts.run([Task('b', belief.transform)], 10.0):
            belief.update(result.outcome)
        steps += 1
    assert belief.state is State.WITHDRAWN
    assert steps <= 5


def test_peers_are_bounded_and_can_be_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'MAX_PEERS', 2)
    attempts = Attempts()
    attempts.set_own(OWN)
    attempts.set_peer('b', PEER)
    attempts.set_peer('c', PEER)
    with pytest.raises(ValueError, match='2 peers'):
        attempts.set_peer('d', PEER)
    attempts.drop('c')
    attempts.set_peer('d', PEER)
    assert {r.peer for r in attempts.run([Task(n, None) for n in 'bcd'], 10.0)} == {'b', 'd'}
