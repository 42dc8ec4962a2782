"""Frames of robots: group algebra, and swarms of FrameChoice that meet, split and lose members."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delama_ros.rendezvous.frames import (
    Bond,
    Edge,
    FrameChoice,
    Link,
    Tag,
    Why,
    groups,
)
from delama_ros.rendezvous.se2 import (
    IDENTITY,
    Floats,
    apply,
    compose,
    compose_covariance,
    difference,
    inverse,
    inverse_covariance,
)

NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
numbers = st.floats(-50.0, 50.0)
transforms = st.tuples(numbers, numbers, st.floats(-math.pi, math.pi)).map(np.array)
SMALL = np.diag([1e-4, 1e-4, 1e-6])


def close(a: Floats, b: Floats) -> bool:
    return bool(np.abs(difference(a, b)).max() < 1e-6)


@given(transforms, transforms, transforms)
def test_transforms_form_a_group(a: Floats, b: Floats, c: Floats) -> None:
    assert close(compose(compose(a, b), c), compose(a, compose(b, c)))
    assert close(compose(a, inverse(a)), IDENTITY)
    assert close(inverse(compose(a, b)), compose(inverse(b), inverse(a)))
    points = np.array([[1.0, 2.0], [-3.0, 0.5]])
    assert np.allclose(apply(compose(a, b), points), apply(a, apply(b, points)), atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(transforms, transforms, st.integers(0, 1000))
def test_covariances_are_those_of_samples(a: Floats, b: Floats, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = np.diag([1e-3, 2e-3, 1e-4])
    errors = rng.normal(size=(2000, 2, 3)) * np.sqrt(np.diag(spread))
    joined = np.array([difference(compose(a, b), compose(a + e, b + f)) for e, f in errors])
    # difference is seen from the result: turn it into its parent's axes
    turn = compose(a, b)[2]
    axes = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    joined[:, :2] = joined[:, :2] @ axes.T
    expected = compose_covariance(a, spread, b, spread)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(np.cov(joined.T) - expected) < 0.2 * scale).all()
    twice = inverse_covariance(inverse(a), inverse_covariance(a, spread))
    assert np.allclose(twice, spread, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(transforms, min_size=6, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10),
    st.randoms(),
)
def test_groups_do_not_depend_on_the_order_of_messages(
    frames: list[Floats], pairs: list[tuple[int, int]], random: object
) -> None:
    # each edge is true, so any path gives the same transform
    edges = [
        Edge(NAMES[i], NAMES[j], difference(frames[i], frames[j]), SMALL * (1 + i + 3 * j))
        for i, j in pairs
    ]
    found = groups(NAMES, edges)
    shuffled = list(edges)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = groups(reversed(NAMES), shuffled)
    assert [sorted(g.transforms) for g in found] == [sorted(g.transforms) for g in again]
    assert sorted(name for g in found for name in g.transforms) == NAMES
    for one, other in zip(found, again, strict=True):
        assert one.root == min(one.transforms) == other.root
        for name, transform in one.transforms.items():
            assert np.array_equal(transform, other.transforms[name])
            true = difference(frames[NAMES.index(one.root)], frames[NAMES.index(name)])
            assert close(transform, true)


def test_the_least_uncertain_path_is_taken() -> None:
    bad = np.array([9.0, 9.0, 1.0])
    edges = [
        Edge('a', 'c', bad, np.eye(3)),
        Edge('a', 'b', np.array([1.0, 0.0, 0.0]), SMALL),
        Edge('b', 'c', np.array([1.0, 0.0, 0.0]), SMALL),
    ]
    (group,) = groups(['a', 'b', 'c'], edges)
    assert close(group.transforms['c'], np.array([2.0, 0.0, 0.0]))
    assert np.trace(group.covariances['c']) < 0.01


class Swarm:
    """Robots at true frames; a link is held unless a robot's coordinates are off."""

    def __init__(self, names: str, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.choices = {name: FrameChoice(name) for name in names}
        # pose of each robot's coordinates in the world
        self.frames = {name: rng.uniform(-3.0, 3.0, 3) for name in names}
        self.moves: list[tuple[str, Tag, Tag]] = []
        self.injected: dict[tuple[str, str], Floats] = {}

    def links(self, name: str, received: set[str], known: set[frozenset[str]]) -> dict[str, Link]:
        links = {}
        for peer in sorted(received):
            pair = frozenset([name, peer])
            true = difference(self.frames[name], self.frames[peer])
            same = self.choices[name].tag == self.choices[peer].tag
            if (name, peer) in self.injected:
                links[peer] = Link(Bond.HELD, self.injected.pop((name, peer)), SMALL)
            elif pair in known and same and not close(true, IDENTITY):
                links[peer] = Link(Bond.OPPOSED)
            elif pair in known:
                links[peer] = Link(Bond.HELD, true, SMALL)
        return links

    def step(self, known: set[frozenset[str]], alive: str, parts: list[str] | None = None) -> None:
        tags = {name: choice.tag for name, choice in self.choices.items()}
        decided = {}
        for name in alive:
            part = next((p for p in parts if name in p), name) if parts else alive
            received = {peer for peer in alive if peer in part and peer != name}
            links = self.links(name, received, known)
            decided[name] = self.choices[name].update({p: tags[p] for p in received}, links)
        for name, move in decided.items():
            if move is not None:
                self.moves.append((name, move.old, move.new))
                self.frames[name] = compose(self.frames[name], inverse(move.transform))

    def tags(self, names: str) -> set[Tag]:
        return {self.choices[name].tag for name in names}


def chain(names: str) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in pairwise(names)}


def everyone(names: str) -> set[frozenset[str]]:
    return {frozenset([a, b]) for a in names for b in names if a < b}


def assert_one_frame(swarm: Swarm, names: str) -> None:
    assert len(swarm.tags(names)) == 1
    for name in names:
        assert close(swarm.frames[name], swarm.frames[names[0]])


def test_a_chain_ends_in_the_smallest_frame_and_nobody_moves_again() -> None:
    swarm = Swarm('edcba')
    for _ in range(6):
        swarm.step(chain('edcba'), 'edcba')
    assert_one_frame(swarm, 'abcde')
    assert swarm.tags('abcde') == {Tag('a', 0)}
    moved = len(swarm.moves)
    for _ in range(5):
        swarm.step(chain('edcba'), 'edcba')
    assert len(swarm.moves) == moved
    assert all(new < old for _, old, new in swarm.moves)


def test_two_groups_merge_into_the_smaller_frame() -> None:
    swarm = Swarm('abcd')
    for _ in range(3):
        swarm.step({frozenset('bc'), frozenset('ad')}, 'abcd')
    assert swarm.tags('bc') == {Tag('b', 0)}
    assert swarm.tags('ad') == {Tag('a', 0)}
    for _ in range(3):
        swarm.step({frozenset('bc'), frozenset('ad'), frozenset('cd')}, 'abcd')
    assert_one_frame(swarm, 'abcd')
    assert swarm.tags('abcd') == {Tag('a', 0)}
    assert [name for name, _, _ in swarm.moves].count('a') == 0


def test_a_frame_survives_its_maker_and_takes_in_a_late_joiner() -> None:
    swarm = Swarm('abcd')
    for _ in range(3):
        swarm.step(everyone('abc'), 'abc')
    before = len(swarm.moves)
    for _ in range(4):  # a is gone
        swarm.step(everyone('abc'), 'bc')
    assert swarm.tags('bc') == {Tag('a', 0)}
    assert len(swarm.moves) == before
    for _ in range(3):
        swarm.step(everyone('abcd'), 'bcd')
    assert_one_frame(swarm, 'bcd')
    assert swarm.tags('bcd') == {Tag('a', 0)}


def test_a_maker_that_restarts_joins_the_frame_it_once_made() -> None:
    swarm = Swarm('ab')
    for _ in range(2):
        swarm.step(everyone('ab'), 'ab')
    swarm.choices['a'] = FrameChoice('a', epoch=7)
    swarm.frames['a'] = np.array([5.0, 1.0, 2.0])
    for _ in range(2):
        swarm.step(everyone('ab'), 'ab')
    assert_one_frame(swarm, 'ab')
    assert swarm.tags('ab') == {Tag('a', 0)}


def test_a_partition_changes_nothing_and_heals() -> None:
    swarm = Swarm('abcd')
    for _ in range(3):
        swarm.step(everyone('abcd'), 'abcd')
    before = len(swarm.moves)
    for _ in range(5):
        swarm.step(everyone('abcd'), 'abcd', ['ab', 'cd'])
    for _ in range(5):
        swarm.step(everyone('abcd'), 'abcd')
    assert len(swarm.moves) == before
    assert_one_frame(swarm, 'abcd')


@pytest.mark.parametrize('victim', ['b', 'd'])
def test_a_wrong_transform_is_left_and_put_right(victim: str) -> None:
    swarm = Swarm('abcd')
    known = everyone('abcd')
    for _ in range(3):
        swarm.step(known - {frozenset([victim, x]) for x in 'abcd'}, 'abcd')
    swarm.injected[victim, 'a'] = np.array([4.0, 1.0, 0.7])
    swarm.step(known - {frozenset([victim, x]) for x in 'abcd'}, 'abcd')
    assert swarm.choices[victim].tag == Tag('a', 0)
    assert not close(swarm.frames[victim], swarm.frames['a'])
    swarm.step(known, 'abcd')
    assert swarm.choices[victim].tag.maker == victim
    assert len(swarm.tags('abcd'.replace(victim, ''))) == 1  # the others stay
    for _ in range(8):
        swarm.step(known, 'abcd')
    assert_one_frame(swarm, 'abcd')
    assert [name for name, _, _ in swarm.moves].count(victim) == 3  # in, out, in


def test_of_two_that_disagree_one_leaves_and_the_other_waits_for_it() -> None:
    swarm = Swarm('ab')
    swarm.injected['b', 'a'] = np.array([4.0, 1.0, 0.7])
    swarm.step(set(), 'ab')
    for _ in range(6):
        swarm.step(everyone('ab'), 'ab')
    assert_one_frame(swarm, 'ab')
    assert [name for name, _, _ in swarm.moves] == ['b', 'b', 'b']  # in, out, in

    first, opposed = FrameChoice('a'), {'b': Link(Bond.OPPOSED)}
    moves = [first.update({'b': first.tag}, opposed) for _ in range(4)]
    assert moves[:3] == [None, None, None]  # the other one does not see it and stays
    assert moves[3] is not None
    assert moves[3].why is Why.LEFT


def test_a_robot_that_keeps_leaving_waits_longer_each_time() -> None:
    choice = FrameChoice('b')
    tag = Tag('a', 0)
    joins = []
    for step in range(60):
        held = choice.tag != tag
        bond = Link(Bond.HELD, np.array([1.0, 0.0, 0.0]), SMALL) if held else Link(Bond.OPPOSED)
        move = choice.update({'a': tag}, {'a': bond})
        if move is not None and move.why is Why.JOINED:
            joins.append(step)
    gaps = np.diff(joins)
    assert len(joins) >= 3
    assert (np.diff(gaps) > 0).all()


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] != p[1])),
    st.integers(0, 100),
    st.lists(st.sets(st.sampled_from('abcde'), min_size=1), min_size=4, max_size=12),
)
def test_whoever_acts_when_groups_end_in_their_smallest_frame(
    pairs: set[tuple[int, int]], seed: int, turns: list[set[str]]
) -> None:
    names = 'abcde'
    swarm = Swarm(names, seed)
    known = {frozenset([names[i], names[j]]) for i, j in pairs}
    for turn in turns:  # some robots act, others are late
        for name in sorted(turn):
            tags = {peer: swarm.choices[peer].tag for peer in names if peer != name}
            links = swarm.links(name, set(tags), known)
            move = swarm.choices[name].update(tags, links)
            if move is not None:
                swarm.frames[name] = compose(swarm.frames[name], inverse(move.transform))
    for _ in range(6):
        swarm.step(known, names)
    edges = [Edge(min(p), max(p), np.zeros(3), SMALL) for p in known]
    for group in groups(names, edges):
        members = ''.join(sorted(group.transforms))
        assert_one_frame(swarm, members)
        assert swarm.tags(members) == {Tag(members[0], 0)}


def test_bad_names_and_epochs_are_refused() -> None:
    with pytest.raises(ValueError, match='empty'):
        FrameChoice('')
    with pytest.raises(ValueError, match='-1'):
        FrameChoice('a', -1)
