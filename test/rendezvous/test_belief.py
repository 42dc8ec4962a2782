"""Beliefs: how they are formed, followed, withdrawn and earned again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from delama_ros.rendezvous.belief import Belief, Rules, State
from delama_ros.rendezvous.frames import Bond
from delama_ros.rendezvous.outcome import Outcome, Reason, nothing
from delama_ros.rendezvous.se2 import Floats, compose, difference

TRUE = np.array([3.0, -2.0, 1.0])
SPREAD = np.diag([1e-4, 1e-4, 1e-5])


def seen(
    transform: Floats = TRUE, lead: float = 5.0, reason: Reason = Reason.MATCHED, **fields: Any
) -> Outcome:
    values = {'matched': lead, 'score': lead, 'share': 0.5, 'windows': 1, **fields}
    return Outcome(
        reason is Reason.MATCHED, reason, np.array(transform), SPREAD, np.array([5.0, 4.0]),
        lead=lead, **values,
    )  # fmt: skip


def bond(belief: Belief) -> Bond:
    return belief.link.bond


def joined() -> Belief:
    belief = Belief('b')
    belief.update(seen())
    assert belief.joined
    return belief


def test_one_match_is_a_belief_if_it_shows_enough() -> None:
    belief = Belief('b')
    assert belief.state is State.SEARCHING
    assert bond(belief) is Bond.NONE
    hint = seen(lead=2.0, reason=Reason.LITTLE_SHARED, promising=True)
    for _ in range(9):  # maps of one place share their data: saying it again proves nothing
        assert belief.update(hint) is State.CANDIDATE
    assert bond(belief) is Bond.NONE
    assert 'candidate, 2 of 3 m' in belief.explain()
    assert belief.update(seen(lead=3.0)) is State.JOINED
    assert bond(belief) is Bond.HELD
    assert 'joined: x 3.00 m, y -2.00 m, yaw 57.3°' in belief.explain()
    assert Belief('b').update(replace(hint, promising=False)) is State.SEARCHING
    # However far ahead, what an attempt did not accept is not believed.
    assert Belief('b').update(replace(hint, lead=30.0, score=40.0)) is State.CANDIDATE


def test_large_maps_offer_more_to_choose_from_and_have_to_show_more() -> None:
    two = seen(lead=20.0, windows=2)
    assert Belief('b').update(two) is State.CANDIDATE
    assert Belief('b').update(replace(two, lead=24.0)) is State.JOINED


def test_what_one_room_can_show_is_not_enough_if_rooms_are_alike() -> None:
    belief = Belief('b', Rules(wall=36.0))
    for _ in range(20):
        assert belief.update(seen(lead=35.0)) is State.CANDIDATE
    assert belief.update(seen(lead=36.0)) is State.JOINED


def test_matches_that_disagree_start_over() -> None:
    belief = Belief('b')
    for turn in (0.0, 1.6, 3.1, -1.6):
        hint = seen(TRUE + np.array([0.0, 0.0, turn]), 2.0, Reason.LITTLE_SHARED, promising=True)
        assert belief.update(hint) is State.CANDIDATE


@pytest.mark.parametrize('count', [1, 3, 9])
def test_ambiguity_asks_for_more_agreement(count: int) -> None:
    belief = Belief('b')
    for _ in range(count):
        assert belief.update(seen(reason=Reason.AMBIGUOUS)) is State.SEARCHING
    needed = belief.rules.sure + min(count, belief.rules.doubts) * belief.rules.doubt
    assert belief.update(seen(lead=needed - 0.1)) is State.CANDIDATE
    assert belief.update(seen(lead=needed)) is State.JOINED


def test_a_candidate_that_is_not_found_again_is_dropped() -> None:
    belief = Belief('b')
    belief.update(seen(lead=2.0, reason=Reason.LITTLE_SHARED, promising=True))
    for _ in range(belief.rules.patience - 1):
        assert belief.update(nothing(Reason.LITTLE_SHARED)) is State.CANDIDATE
    assert belief.update(nothing(Reason.LITTLE_SHARED)) is State.SEARCHING
    assert belief.explain() == 'searching: too little wall in common'


def test_a_belief_survives_one_contradiction_but_not_two() -> None:
    belief = joined()
    assert belief.update(nothing(Reason.CONTRADICTED)) is State.JOINED
    assert belief.update(seen()) is State.JOINED
    assert belief.update(nothing(Reason.CONTRADICTED)) is State.JOINED
    assert belief.update(nothing(Reason.CONTRADICTED)) is State.WITHDRAWN
    assert bond(belief) is Bond.OPPOSED
    assert belief.transform is None
    # harder to earn the second time
    assert belief.update(seen()) is State.CANDIDATE
    assert belief.update(seen(lead=6.0)) is State.JOINED


def test_a_wrong_transform_is_withdrawn_when_searches_find_another() -> None:
    belief = Belief('b')
    belief.give(np.array([40.0, 7.0, 2.0]), SPREAD)
    belief.update(nothing(Reason.LITTLE_SHARED))  # nothing there to contradict it
    assert belief.joined
    belief.update(seen(searched=True))
    assert belief.update(seen(searched=True)) is State.WITHDRAWN


def test_a_chance_match_says_nothing_against_maps_without_common_wall() -> None:
    belief = Belief('b')  # of a robot that shares the frame through a third one
    belief.give(np.zeros(3), SPREAD)
    for _ in range(5):
        belief.update(nothing(Reason.LITTLE_SHARED))
        chance = seen(score=4.0, reason=Reason.CONTRADICTED, searched=True)
        assert belief.update(chance) is State.JOINED


def test_doubt_alone_moves_nothing_but_doubt_and_ambiguity_do() -> None:
    doubtful = seen(score=20.0, against=3.0)
    moved = joined()  # furniture that moved: no other transform explains it
    for _ in range(9):
        moved.update(doubtful)
        assert moved.update(seen(score=20.0, searched=True)) is State.JOINED
    alike = joined()  # the room next door, which fits as well
    rival = seen(score=20.0, reason=Reason.AMBIGUOUS, searched=True)
    alike.update(rival)
    alike.update(rival)
    assert alike.joined  # without doubt ambiguity says nothing
    alike.update(doubtful)
    alike.update(rival)
    alike.update(doubtful)
    assert alike.update(rival) is State.WITHDRAWN


def test_a_large_map_may_move_and_is_withdrawn_only_if_nothing_fits() -> None:
    belief = joined()
    lost = seen(reason=Reason.CONTRADICTED, bent=True, windows=6, against=20.0)
    for _ in range(5):
        assert belief.update(lost) is State.JOINED  # a part of the map may have moved
    elsewhere = compose(TRUE, np.array([2.0, 1.0, 0.1]))
    belief.update(seen(elsewhere, bent=True, windows=6, searched=True))
    assert belief.transform == pytest.approx(elsewhere)
    nothing_yet = seen(
        reason=Reason.LITTLE_SHARED, bent=True, windows=1, searched=True, complete=False
    )
    for _ in range(5):
        belief.update(nothing_yet)
        assert belief.update(lost) is State.JOINED  # the search goes on
    for _ in range(2):
        assert belief.joined
        belief.update(replace(nothing_yet, complete=True))
    assert belief.state is State.WITHDRAWN
    assert belief.withdrawals == 1


def test_a_belief_follows_a_slow_drift_and_smooths_noise() -> None:
    rng = np.random.default_rng(1)
    belief = joined()
    errors = []
    for step in range(60):
        true = TRUE + step * np.array([0.002, 0.0, 0.0])
        belief.update(seen(true + rng.normal(size=3) * np.array([0.02, 0.02, 0.001])))
        assert belief.transform is not None
        at = np.array([5.0, 4.0, 0.0])
        errors.append(difference(compose(true, at), compose(belief.transform, at))[:2])
    off = np.hypot(*np.array(errors[10:]).T)
    assert off.mean() < 0.02
    assert belief.joined
    assert np.linalg.eigvalsh(belief.covariance).min() > 0


def test_frames_that_move_take_the_belief_along() -> None:
    belief = joined()
    move = np.array([1.0, 2.0, 0.5])
    belief.move_own(move)
    assert belief.transform is not None
    assert np.allclose(belief.transform, compose(move, TRUE))
    belief.move_peer(move)
    assert np.allclose(belief.transform, compose(compose(move, TRUE), move))


def test_refused_peers_stay_so_until_forgotten() -> None:
    belief = Belief('b')
    belief.refuse(Reason.OTHER_MODEL)
    assert belief.update(seen()) is State.REFUSED
    assert belief.explain() == 'refused: the peer uses another model'
    belief.forget()
    assert belief.update(seen()) is State.JOINED


def test_every_reason_has_words() -> None:
    assert len({reason.text for reason in Reason}) == len(Reason)
    assert math.isfinite(Rules().sure)
