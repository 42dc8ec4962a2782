"""Agents of tiles: the same numbers as the batched rounds, relays, and maps that outlive robots."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from delama_ros.core.memory import local_solve
from delama_ros.core.messages import Params, Phase
from delama_ros.mapping.default import make_mapper, packaged
from delama_ros.mapping.learned import tile_rounds
from delama_ros.mapping.runner import exact_port, run_swarm
from delama_ros.transport.port import Encoding, Port
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

UNIFORM = {'lambda3': 1e6}


@pytest.fixture(scope='module')
def run():
    return mapping_run(prepare(load('generated:3'), 0), 0, robots=3, steps=3)


def test_agents_equal_the_batched_rounds(run) -> None:
    steps = []
    run_swarm(
        run,
        packaged(),
        port=exact_port,
        take=lambda step, t: steps.append(grids(step.mappers)),
        **UNIFORM,
    )
    settings = make_mapper('x', packaged(), **UNIFORM).agent.settings
    N = 3
    graph = torch.full((N, N), 0.5, dtype=torch.float64) * (1 - torch.eye(N))
    correction = None
    for memory, theta, known in steps:
        A, b = (torch.from_numpy(part) for part in memory)
        local = local_solve(A, b, settings.lambda1_local)
        start = local if correction is None else local + correction
        wanted = tile_rounds(A, b, graph, torch.from_numpy(known), start, numbers(settings))
        assert np.allclose(theta, wanted.numpy(), atol=2e-3)  # weights differ by O(λ2/λ3)
        correction = wanted - local


def numbers(settings):
    names = ('lambda1_local', 'lambda1_coupled', 'lambda2')
    return replace(settings, **{n: torch.tensor(getattr(settings, n)) for n in names})


def grids(mappers):
    """Line up all agents' tiles on one fixed square: (A, b), θ and own tiles."""
    span = range(-14, 30)
    index = {(x, y): n for n, (x, y) in enumerate((x, y) for x in span for y in span)}
    K = len(mappers[0].model.table)
    A = np.zeros((len(mappers), len(index), K, K))
    b = np.zeros((len(mappers), len(index), K, 1))
    theta, known = np.zeros_like(b), np.zeros(b.shape[:2], bool)
    for i, mapper in enumerate(mappers):
        keys, own_a, own_b = mapper.agent.memory
        at = [index[int(x), int(y)] for x, y in keys]
        A[i, at], b[i, at], known[i, at] = own_a, own_b, True
        keys, values = mapper.agent.theta
        theta[i, [index[int(x), int(y)] for x, y in keys]] = values
    return (A, b), theta, known


def test_only_own_tiles_are_spoken_of_when_all_hear_each_other(run) -> None:
    said: list[Params] = []

    class Tap(Port):
        def pack(self, message):
            if isinstance(message, Params):
                said.append(message)
            return super().pack(message)

    owned: dict[str, int] = {}

    def take(step, t):
        owned.update({m.agent.name: len(m.agent.memory[0]) for m in step.mappers})

    run_swarm(run, packaged(), port=lambda name: Tap(name, Encoding.FLOAT64), take=take)
    last = [m for m in said if m.step == 3 and m.phase == Phase.UPDATE]
    assert last
    assert all(len(m.keys) == owned[m.robot] for m in last)


def test_tiles_travel_along_a_line(run) -> None:
    line = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
    known = []
    run_swarm(
        run, packaged(), links=line,
        take=lambda step, t: known.append([
            {tuple(k) for k in m.agent.theta[0].tolist()} for m in step.mappers
        ]),
    )
    assert known[-1][0] == known[-1][2]


def test_a_map_outlives_the_robot_that_made_it(run) -> None:
    kept = {}

    def take(step, t):
        kept['mappers'] = step.mappers

    run_swarm(run, packaged(), take=take)
    survivor, other, _ = kept['mappers']
    before = {tuple(k) for k in survivor.agent.theta[0].tolist()}
    messages = {}
    for a, b in ((survivor, other), (other, survivor)):
        messages[b.agent.name] = a.begin(4, [b.agent.name])
    for _ in range(40):
        nothing = True
        for mapper in (survivor, other):
            for message in messages.pop(mapper.agent.name, []):
                assert mapper.agent.receive(message) is None
        for mapper, peer in ((survivor, other), (other, survivor)):
            while mapper.agent.ready and not mapper.agent.done:
                messages.setdefault(peer.agent.name, []).extend(mapper.agent.advance())
                nothing = False
        if nothing:
            break
    assert survivor.agent.done
    assert {tuple(k) for k in survivor.agent.theta[0].tolist()} == before


def test_tiles_of_another_building_are_dropped_with_its_robot(run) -> None:
    """A stranger is believed at first; once maps disagree its tiles go, those of friends stay."""
    other = mapping_run(prepare(load('generated:40'), 1), 1, robots=1, steps=3)
    both = replace(
        run,
        poses=np.concatenate([run.poses[:, :2], other.poses], 1),
        ranges=np.concatenate([run.ranges[:, :2], other.ranges], 1),
    )
    states = []

    def take(step, t):
        mine, friend, stranger = (m.agent for m in step.mappers)
        tiles = {tuple(k) for k in mine.theta[0].tolist()}
        known = {tuple(k) for a in (mine, friend) for k in a.memory[0].tolist()}
        trusted = {name for a in (mine, friend) for name in a.weights}
        states.append((stranger.name in trusted, tiles - known))

    run_swarm(both, packaged(), take=take)
    for trusted, foreign in states:
        assert trusted or not foreign
    assert not states[-1][0]
