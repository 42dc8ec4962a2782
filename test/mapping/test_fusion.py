"""Maps fused by evidence: the numbers of the batched form, relays, maps that outlive robots."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from delama_ros.core.agent.messages import Params, Phase
from delama_ros.core.memory import local_solve
from delama_ros.experiments.mapping.runner import exact_port, run_swarm
from delama_ros.mapping.default import make_mapper, packaged
from delama_ros.mapping.fusion import fuse_all
from delama_ros.mapping.mapper import without_slivers
from delama_ros.mapping.tiles import LOOKED, PARTS
from delama_ros.transport.port import Encoding, Port
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

TRUST = {'lambda2': 1.0, 'lambda3': 1e6}  # every neighbour with weight 1


@pytest.fixture(scope='module')
def run():
    return mapping_run(prepare(load('generated:3'), 0), 0, robots=3, steps=3)


@pytest.fixture(scope='module')
def steps(run):
    """What all agents know after each step, with messages that lose nothing."""
    out = []
    run_swarm(
        run, packaged(), port=exact_port,
        take=lambda step, t: out.append(grids(step.mappers)), **TRUST,
    )
    return out


def test_agents_equal_the_batched_fusion(steps) -> None:
    mapper = make_mapper('x', packaged(), **TRUST)
    matrices = torch.from_numpy(mapper.model.part_matrices)
    for A, b, evidence, theta in steps:
        wanted = fuse_all(*map(torch.from_numpy, (A, b, evidence)), matrices, mapper.agent.settings)
        known = theta.any((-1, -2))
        assert known.any(1).all()
        assert np.allclose(theta[known], wanted.numpy()[known], atol=1e-4)


def test_the_metric_of_parts_is_close_to_the_memory(steps) -> None:
    """M_j stands for A_j: on random directions the two agree far better than with none at all."""
    model = packaged().model
    A, _, evidence, _ = steps[-1]
    metric = np.einsum('inp,pkl->inkl', evidence, model.part_matrices)
    assert np.linalg.norm(metric - A) < 0.3 * np.linalg.norm(A)


def test_all_robots_come_close_to_the_one_with_all_data(steps) -> None:
    model, settings = packaged().model, make_mapper('x', packaged(), **TRUST).agent.settings
    A, b, _, theta = steps[-1]
    central = local_solve(A.sum(0), b.sum(0), settings.lambda1_local)
    alone = local_solve(A, b, settings.lambda1_local)
    known = A.sum(0).any((-1, -2))

    def far(thetas):
        gaps = [model.deviations(t[known]) - model.deviations(central[known]) for t in thetas]
        return float(np.mean(np.square(gaps)))

    assert far(theta) < 0.1 * far(alone)


def grids(mappers):
    """Line up all agents' tiles on one fixed square: A, b, evidence and θ."""
    span = range(-14, 30)
    index = {(x, y): n for n, (x, y) in enumerate((x, y) for x in span for y in span)}
    K = len(mappers[0].model.table)
    A = np.zeros((len(mappers), len(index), K, K))
    b = np.zeros((len(mappers), len(index), K, 1))
    evidence = np.zeros((len(mappers), len(index), PARTS**2))
    theta = np.zeros_like(b)
    for i, mapper in enumerate(mappers):
        keys, own_a, own_b = mapper.agent.memory
        at = [index[int(x), int(y)] for x, y in keys]
        A[i, at], b[i, at], evidence[i, at] = own_a, own_b, mapper.state()['evidence']
        keys, values = mapper.agent.theta
        theta[i, [index[int(x), int(y)] for x, y in keys]] = values
    return A, b, evidence, theta


def test_nothing_is_passed_on_when_all_hear_each_other(run) -> None:
    said: list[Params] = []

    class Tap(Port):
        def pack(self, message):
            if isinstance(message, Params):
                said.append(message)
            return super().pack(message)

    def tapped(name):
        return Tap(name, Encoding.FLOAT64)

    run_swarm(run, packaged(), port=tapped, take=lambda step, t: None)
    assert {m.phase for m in said} == {Phase.LOCAL}
    line = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
    run_swarm(run, packaged(), port=tapped, links=line, take=lambda step, t: None)
    assert {m.phase for m in said} == {Phase.LOCAL, Phase.UPDATE}


def test_no_data_counts_twice_on_a_line(run) -> None:
    """However often models come around, the evidence stays below what there is."""
    line = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)

    def take(step, t):
        totals = [m.state() for m in step.mappers]
        everything = sum(state['evidence'].sum() for state in totals)
        for state in totals:
            assert state['theta_evidence'].sum() <= 1.01 * everything

    run_swarm(run, packaged(), port=exact_port, links=line, take=take, **TRUST)


def test_tiles_travel_along_a_line(run) -> None:
    line = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
    known = []
    run_swarm(
        run, packaged(), links=line,
        take=lambda step, t: known.append([m.state() for m in step.mappers]),
    )
    first, _, last = known[-1]
    for a, b in ((first, last), (last, first)):
        assert len(seen(a, 0.2)) > 20
        assert seen(a, 0.2) <= seen(b, LOOKED)


def seen(state, least):
    """Return the tiles in which there is at least so much evidence somewhere."""
    return {tuple(k) for k in state['theta_keys'][(state['theta_evidence'] > least).any(1)]}


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


def test_free_slivers_behind_walls_are_not_believed() -> None:
    cells = np.full((40, 60), -1, np.int8)
    cells[5:35, 5:40] = 0  # a room
    cells[5:35, 40:44] = 100  # its wall
    cells[5:35, 44:48] = 0  # what shows behind it
    cells[5:8, 5:8] = 100  # a corner stays whole
    kept = without_slivers(cells)
    assert (kept[5:35, 44:48] == -1).all()
    assert np.array_equal(kept[:, :44], cells[:, :44])
