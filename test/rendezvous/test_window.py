"""Roughly known starts: a search limited to where the other frame may be, and what it needs."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from delama_ros.rendezvous.attempt import Search
from delama_ros.rendezvous.belief import Belief, State
from delama_ros.rendezvous.frames import EXACT, Bond, FrameChoice, Link, Tag
from delama_ros.rendezvous.outcome import Reason
from delama_ros.rendezvous.se2 import compose, difference
from delama_ros.rendezvous.window import StartPrior, Window

spec = importlib.util.spec_from_file_location('worlds', Path(__file__).parent / 'worlds.py')
assert spec is not None
assert spec.loader is not None
worlds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worlds)
FLAT, pose, surface = worlds.FLAT, worlds.pose, worlds.surface

PRIOR = StartPrior(0.28, math.radians(4.2))  # two starts known to 0.2 m and 3°
# Rooms that are all alike, 3.8 m apart, along a corridor.
ALIKE = [(0.0, 0.0, 15.0, 1.8)] + [
    box for k in range(4)
    for box in ((3.8 * k, 2.0, 3.8 * k + 3.6, 6.0), (3.8 * k + 0.6, 1.7, 3.8 * k + 1.5, 2.1))
]


def test_rooms_that_are_alike_are_told_apart_by_a_rough_start() -> None:
    mine, theirs = pose(0.0, 0.0, 0.0), pose(0.2, -0.15, 3.0)
    own = surface(ALIKE, mine, (-1.0, -1.0, 11.5, 7.0))
    peer = surface(ALIKE, theirs, (3.7, -1.0, 16.0, 7.0))
    assert Search(own, peer).run().reason is Reason.AMBIGUOUS
    outcome = Search(own, peer, prior=PRIOR).run()
    assert outcome.accepted
    centre = np.array([*outcome.centre.tolist(), 0.0])
    truth = difference(mine, theirs)
    gap = difference(compose(truth, centre), compose(outcome.transform, centre))
    assert math.hypot(gap[0], gap[1]) < 0.03
    assert abs(gap[2]) < math.radians(0.3)


def test_little_wall_decides_between_few_transforms() -> None:
    mine, theirs = pose(0.0, 0.0, 0.0), pose(0.1, 0.2, -3.0)
    own = surface(FLAT, mine, (-1.0, -1.0, 4.2, 3.4))
    peer = surface(FLAT, theirs, (0.8, -1.0, 8.0, 2.3))
    anywhere, near = Search(own, peer).run(), Search(own, peer, prior=PRIOR).run()
    assert near.effort < 0.5
    assert near.matched < 10.0
    beliefs = [Belief('ann'), Belief('ann')]
    states = [b.update(o) for b, o in zip(beliefs, (anywhere, near), strict=True)]
    assert states == [State.SEARCHING, State.JOINED], (anywhere, near)


def test_nothing_is_found_outside_of_the_window() -> None:
    own = surface(FLAT, pose(0.0, 0.0, 0.0), (-1.0, -1.0, 9.0, 6.0))
    for far in (pose(5.0, 0.0, 0.0), pose(4.0, 3.0, 40.0)):
        peer = surface(FLAT, far)
        assert Search(own, peer).run().accepted
        assert not Search(own, peer, prior=PRIOR).run().accepted


def test_the_evidence_asked_for_grows_with_the_window() -> None:
    shares = [
        Window((0.0, 0.0), shift, turn).effort(30.0)
        for shift, turn in ((0.0, 0.0), (0.3, 0.05), (1.0, 0.2), (5.0, 1.0), (30.0, math.pi))
    ]
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ('own', 'peer', 'moves'),
    [
        (Tag('bob', 0, (0.2, 0.1)), Tag('ann', 0), False),  # a map that others know wins
        (Tag('ann', 0), Tag('bob', 0, (0.2, 0.1)), True),
        (Tag('bob', 0, (0.2, 0.1)), Tag('ann', 0, (0.5, 0.1)), True),
        (Tag('ann', 0, (0.2, 0.1)), EXACT, True),
    ],
)
def test_frames_nearer_to_the_map_win(own: Tag, peer: Tag, moves: bool) -> None:
    choice = FrameChoice(own.maker, own.epoch, own.spread)
    move = choice.update({'peer': peer}, {'peer': Link(Bond.HELD)})
    assert (move is not None) is moves
    assert choice.tag == (peer if moves else own)
