"""Whose data stand behind a map: nothing that was taken back survives in peers or relays."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from delama_ros.core.agent.messages import Params
from delama_ros.core.agent.refusal import Refusal
from delama_ros.core.blocks import decode, encode
from delama_ros.geometry.poses import as_pose, compose
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan
from delama_ros.mapping.tiles import LOOKED
from delama_ros.transport.local import LocalTransport
from delama_ros.transport.port import Encoding

NAMES = ('ann', 'bob', 'cid')
FULL = {name: [n for n in NAMES if n != name] for name in NAMES}
LINE = {'ann': ['bob'], 'bob': ['ann', 'cid'], 'cid': ['bob']}


def room(width: float = 3.0, depth: float = 3.0, beams: int = 180) -> Scan:
    """Return what a laser in the middle of an empty room sees."""
    angles = np.linspace(-np.pi, np.pi, beams, endpoint=False)
    with np.errstate(divide='ignore'):
        ranges = np.minimum(
            0.5 * width / np.abs(np.cos(angles)), 0.5 * depth / np.abs(np.sin(angles))
        )
    return Scan(ranges, -np.pi, 2 * np.pi / beams, 0.05, 20.0)


class Team:
    """Robots in one process, each with a keyframe in a room that all share."""

    def __init__(self, names: Iterable[str] = NAMES) -> None:
        self.mappers = {name: default_mapper(name) for name in names}
        agents = (mapper.agent for mapper in self.mappers.values())
        self.transport = LocalTransport(agents, encoding=Encoding.DELTA)
        self.step = 0
        for mapper in self.mappers.values():
            mapper.add_keyframe(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), room(7.0, 5.0))

    def run(self, links: dict[str, list[str]], steps: int = 1) -> None:
        for _ in range(steps):
            self.step += 1
            for name in links:
                self.mappers[name].prepare()
            self.transport.run_step(self.step, links)


def tiles(mapper: Mapper) -> set[int]:
    return set(encode(mapper.agent.theta[0]).tolist())


def test_a_correction_that_only_one_peer_received_reaches_the_other() -> None:
    """Both have a model of a robot that is gone, one of them an outdated one."""
    team = Team()
    team.mappers['ann'].add_keyframe(1, (0.0, 12.0, 0.0), (0.0, 12.0, 0.0), room())
    team.run(FULL, 2)
    wrong = set(encode(team.mappers['ann'].agent.memory[0]).tolist())
    team.mappers['ann'].move_keyframes({1: (0.0, -24.0, 0.0)})
    team.run({'ann': ['bob'], 'bob': ['ann', 'cid'], 'cid': ['bob']})
    right = set(encode(team.mappers['ann'].agent.memory[0]).tolist())
    team.transport.remove('ann')
    team.run({'bob': ['cid'], 'cid': ['bob']}, 3)
    for name in ('bob', 'cid'):
        assert not (wrong - right) & tiles(team.mappers[name]), name
        assert right <= tiles(team.mappers[name]), name


def test_a_correction_received_before_a_last_silent_step_reaches_the_other() -> None:
    """The peer that missed it never meets a robot that relays, unless copies are compared."""
    team = Team()
    team.mappers['ann'].add_keyframe(1, (0.0, 12.0, 0.0), (0.0, 12.0, 0.0), room())
    team.run(FULL, 2)
    wrong = set(encode(team.mappers['ann'].agent.memory[0]).tolist())
    team.mappers['ann'].move_keyframes({1: (0.0, -24.0, 0.0)})
    team.run({'ann': ['bob'], 'bob': ['ann'], 'cid': []})
    right = set(encode(team.mappers['ann'].agent.memory[0]).tolist())
    team.transport.remove('ann')
    team.run({'bob': ['cid'], 'cid': ['bob']}, 3)
    for name in ('bob', 'cid'):
        assert not (wrong - right) & tiles(team.mappers[name]), name
        assert right <= tiles(team.mappers[name]), name


@pytest.mark.parametrize('links', [FULL, LINE], ids=['full', 'line'])
def test_a_burst_in_parts_leaves_no_ghost(links: dict[str, list[str]]) -> None:
    """Tiles that stay but lose evidence must not live on in relays while the burst lasts."""
    team = Team()
    ann = team.mappers['ann']
    rng = np.random.default_rng(3)
    where = {k: (2.5 * (k % 8), 2.5 * (k // 8), rng.uniform(-3, 3)) for k in range(1, 65)}
    for k, pose in where.items():
        place = as_pose(compose((20.0, 0.0, 0.0), pose))
        ann.add_keyframe(k, place, place, room(*rng.uniform(2, 6, 2)))
    team.run(links, 14)
    # Half of the keyframes leave: most of their tiles stay, with less evidence.
    ann.move_keyframes({k: (-60.0 + 0.1 * k, 0.0, 0.0) for k in where if k % 2})
    team.run(links, 16)
    codes = encode(ann.agent.memory[0])
    true = ann.state()['evidence']
    for name in ('bob', 'cid'):
        state = team.mappers[name].state()
        held = dict(zip(encode(state['theta_keys']).tolist(), state['theta_evidence'], strict=True))
        extra = [
            (decode(np.array([code]))[0].tolist(), float(held[code].max()))
            for code, evidence in zip(codes.tolist(), true, strict=True)
            if decode(np.array([code]))[0, 0] > 8
            and ((held.get(code, 0 * evidence) >= 10 * LOOKED) & (evidence < LOOKED)).any()
        ]
        assert not extra, f'{name}: {len(extra)} of {len(codes)} tiles, {extra[:3]}'


CHAIN = {'ann': ['dot'], 'dot': ['ann', 'bob'], 'bob': ['dot', 'cid'], 'cid': ['bob']}


def far_away(mapper: Mapper) -> int:
    """Return how many tiles a map has in the room that cid alone has seen."""
    return int((mapper.agent.theta[0][:, 1] > 5).sum())


def test_what_a_robot_said_in_a_frame_goes_when_it_leaves() -> None:
    """Also where it came through two others, who go on relaying to each other."""
    team = Team(CHAIN)
    team.mappers['cid'].add_keyframe(1, (0.0, 12.0, 0.0), (0.0, 12.0, 0.0), room())
    team.run(CHAIN, 4)
    assert all(far_away(mapper) for mapper in team.mappers.values())
    team.mappers['cid'].reframe('cid:1', (0.0, 0.0, 0.0))
    team.run(CHAIN)
    team.mappers['bob'].agent.take_back(['cid'])
    team.run(CHAIN, 3)
    assert {name: far_away(team.mappers[name]) for name in ('ann', 'dot', 'bob')} == {
        'ann': 0, 'dot': 0, 'bob': 0,
    }
    # It comes back, and the others hear of the room again.
    team.mappers['cid'].reframe('', (0.0, 0.0, 0.0))
    team.run(CHAIN, 4)
    assert all(far_away(mapper) for mapper in team.mappers.values())


def test_nothing_of_an_excluded_robot_is_used() -> None:
    """Neither what it said before, nor what others who trust it relay."""
    team = Team()
    team.mappers['cid'].add_keyframe(1, (0.0, 12.0, 0.0), (0.0, 12.0, 0.0), room())
    team.run(FULL, 3)
    assert far_away(team.mappers['ann'])
    team.mappers['ann'].agent.excluded = frozenset({'cid'})
    for links in (FULL, LINE, FULL):
        team.run(links)
        assert not far_away(team.mappers['ann'])
        assert far_away(team.mappers['bob'])
    assert set(team.mappers['ann'].agent.weights) == {'bob'}
    team.mappers['ann'].agent.excluded = frozenset()
    team.run(FULL)
    assert far_away(team.mappers['ann'])


def test_a_robot_that_lost_its_memory_is_believed_through_others() -> None:
    """Its epochs go on where they were, so that nobody takes its news for old."""
    team = Team()
    cid = team.mappers['cid']
    cid.agent.start_epoch(1_000)
    for shift in range(1, 4):
        cid.move_keyframes({0: (0.0, 0.001 * shift, 0.0)})
        team.run(LINE)
    team.transport.remove('cid')
    team.mappers['cid'] = default_mapper('cid')
    team.mappers['cid'].agent.start_epoch(1_010)
    team.mappers['cid'].add_keyframe(0, (0.0, 12.0, 0.0), (0.0, 12.0, 0.0), room())
    team.transport.add(team.mappers['cid'].agent)
    team.run(LINE, 3)
    assert far_away(team.mappers['ann'])


def test_a_newcomer_takes_nothing_from_the_others() -> None:
    """Everything is sent again for it, over several steps, but peers keep what they hold."""
    team = Team()
    ann = team.mappers['ann']
    for k in range(1, 82):
        place = (8.0 + 4.0 * (k % 9), 4.0 * (k // 9), 0.3 * k)  # no walls in the others' room
        ann.add_keyframe(k, place, place, room(3.0 + 0.02 * k, 4.0))
    two = {'ann': ['bob'], 'bob': ['ann'], 'cid': []}
    team.run(two, 14)
    mine = set(encode(ann.agent.memory[0]).tolist())
    assert len(mine) > 250
    assert mine <= tiles(team.mappers['bob'])
    for _ in range(3):
        team.run(FULL)
        assert mine <= tiles(team.mappers['bob'])
    team.run(FULL, 12)
    assert mine <= tiles(team.mappers['cid'])


def test_a_local_model_cannot_speak_for_others() -> None:
    bob = default_mapper('bob')
    ann = default_mapper('ann')
    ann.add_keyframe(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), room())
    (message,) = ann.begin(1, ['bob'])
    bob.begin(1, ['ann'])
    assert isinstance(message, Params)
    lie = replace(message, model=replace(message.model, epochs={'ann': 0, 'cid': 7}))
    refused = bob.agent.receive(lie)
    assert refused is not None
    assert refused.reason is Refusal.MALFORMED
    assert bob.agent.receive(message) is None
