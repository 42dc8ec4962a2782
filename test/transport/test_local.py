"""The in-process transport: seeded loss, delay, range, partition, and that every step ends."""

from dataclasses import replace

import networkx
import numpy as np
import pytest
from hypothesis import given, settings, strategies

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Phase
from delama_ros.core.settings import PAPER, Settings
from delama_ros.transport.local import LocalTransport, in_range, partition
from delama_ros.transport.port import Encoding

K = 3
VARIANTS = [PAPER, replace(PAPER, dual_rounds=0), Settings(), Settings(warm_start=True)]


def swarm_of(count, variant, **options):
    return LocalTransport(
        (Agent(f'r{i}', variant, shape=(K, 1)) for i in range(count)), **options
    )


def feed(swarm, seed, size=K):
    rng = np.random.default_rng(seed)
    for agent in swarm.agents.values():
        X = rng.normal(size=(4, size))
        agent.observe(np.zeros((1, 2), int), (X.T @ X)[None], (X.T @ rng.normal(size=(4, 1)))[None])


def links_of(graph):
    return {f'r{i}': [f'r{j}' for j in graph[i]] for i in graph}


def result(swarm):
    return {name: agent.theta[1].copy() for name, agent in swarm.agents.items()}


@settings(max_examples=40)
@given(
    count=strategies.integers(1, 9),
    density=strategies.floats(0, 1),
    seed=strategies.integers(0, 1000),
    variant=strategies.sampled_from(VARIANTS),
    loss=strategies.sampled_from([0.0, 0.1, 0.5, 1.0]),
    delay=strategies.sampled_from([0, 3]),
)
def test_every_step_ends_on_any_graph(count, density, seed, variant, loss, delay):
    graph = networkx.erdos_renyi_graph(count, density, seed=seed)
    swarm = swarm_of(count, variant, seed=seed, loss=loss, delay=delay)
    for step in range(2):
        feed(swarm, seed + step)
        traffic = swarm.run_step(step, links_of(graph))
        assert traffic.ticks < 2000
        for agent in swarm.agents.values():
            assert agent.done
            assert np.isfinite(agent.theta[1]).all()
            assert loss > 0 or agent.incomplete_rounds == 0


@pytest.mark.parametrize('variant', VARIANTS)
def test_delay_changes_the_time_not_the_result(variant):
    links = links_of(networkx.barabasi_albert_graph(7, 2, seed=1))
    results, ticks = [], []
    for delay in (0, 4):
        swarm = swarm_of(7, variant, delay=delay, seed=3)
        for step in range(3):
            feed(swarm, step)
            ticks.append(swarm.run_step(step, links).ticks)
        results.append(result(swarm))
    for name in results[0]:
        np.testing.assert_allclose(results[0][name], results[1][name], atol=1e-12)
    assert sum(ticks[3:]) > sum(ticks[:3])


def test_the_same_seed_gives_the_same_run():
    runs = []
    for seed in (1, 1, 2):
        swarm = swarm_of(6, PAPER, seed=seed, loss=0.2, delay=2)
        feed(swarm, 0)
        traffic = swarm.run_step(0, links_of(networkx.cycle_graph(6)))
        runs.append((traffic, result(swarm)))
    assert runs[0][0] == runs[1][0]
    assert runs[0][0] != runs[2][0]
    for name in runs[0][1]:
        np.testing.assert_array_equal(runs[0][1][name], runs[1][1][name])


@pytest.mark.parametrize('variant', VARIANTS)
def test_partition_equals_two_swarms(variant):
    everybody = links_of(networkx.complete_graph(6))
    halves = [['r0', 'r1', 'r2'], ['r3', 'r4', 'r5']]
    swarm = swarm_of(6, variant)
    feed(swarm, 0)
    swarm.run_step(0, partition(everybody, halves))
    small = swarm_of(6, variant)
    feed(small, 0)
    for name in halves[1]:
        small.remove(name)
    small.run_step(0, partition(everybody, halves))
    for name in halves[0]:
        np.testing.assert_array_equal(swarm.agents[name].theta[1], small.agents[name].theta[1])


def test_range():
    links = in_range({'a': (0, 0), 'b': (3, 4), 'c': (9, 9)}, 5.0)
    assert links == {'a': ['b'], 'b': ['a'], 'c': []}


@pytest.mark.parametrize('variant', VARIANTS)
def test_a_dead_robot_costs_one_deadline(variant):
    """It says nothing in the first round, is left out of the step, and nobody waits again."""
    links = links_of(networkx.complete_graph(4))
    swarm = swarm_of(4, variant, deadline=10)
    feed(swarm, 0)
    quick = swarm.run_step(0, links).ticks
    swarm.remove('r3')
    feed(swarm, 1)
    assert swarm.run_step(1, links).ticks <= quick + 10
    for agent in swarm.agents.values():
        assert agent.missed == {'r3': 1}
        assert 'r3' not in agent.weights


def test_paper_rounds_cost_one_message_each_on_the_full_graph():
    """Two scalars per agent and Newton round, as in the paper; the start costs two hops."""
    swarm = swarm_of(5, PAPER)
    feed(swarm, 0)
    traffic = swarm.run_step(0, links_of(networkx.complete_graph(5)))
    assert traffic.messages[Phase.DUAL] == 5 * PAPER.dual_rounds
    assert traffic.messages[Phase.START] == 5 * 2
    assert traffic.messages[Phase.LOCAL] == 5
    assert traffic.messages[Phase.UPDATE] == 5 * (PAPER.update_rounds - 1)


def test_rounds_on_a_line_take_its_length():
    swarm = swarm_of(6, PAPER)
    feed(swarm, 0)
    traffic = swarm.run_step(0, links_of(networkx.path_graph(6)))
    assert traffic.messages[Phase.DUAL] <= 6 * 6 * PAPER.dual_rounds
    assert all(agent.incomplete_rounds == 0 for agent in swarm.agents.values())
    assert len({round(agent.z, 12) for agent in swarm.agents.values()}) == 1


def test_loss_moves_the_result_only_a_little():
    """Few lost messages leave the models near those of a swarm that lost none."""
    links = links_of(networkx.complete_graph(5))
    for variant in (PAPER, Settings()):
        clean, lossy = swarm_of(5, variant), swarm_of(5, variant, loss=0.02, seed=4)
        for step in range(4):
            for swarm in (clean, lossy):
                feed(swarm, step)
                swarm.run_step(step, links)
        assert sum(agent.incomplete_rounds for agent in lossy.agents.values()) > 0
        for name, theta in result(clean).items():
            np.testing.assert_allclose(result(lossy)[name], theta, atol=0.2)


def test_bytes_are_counted_and_deltas_are_smaller():
    links = links_of(networkx.complete_graph(3))
    sent = {}
    for encoding in Encoding:
        swarm = LocalTransport(
            (Agent(f'r{i}', Settings(), shape=(8, 1)) for i in range(3)), encoding=encoding
        )
        for step in range(3):
            feed(swarm, step, 8)
            traffic = swarm.run_step(step, links)
        assert set(traffic.bytes) == set(swarm.agents)
        sent[encoding] = sum(traffic.bytes.values())
    assert 0 < sent[Encoding.DELTA] < sent[Encoding.FLOAT64]


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match='loss is 2'):
        swarm_of(2, PAPER, loss=2)
    with pytest.raises(ValueError, match='delay is 5 and deadline 5'):
        swarm_of(2, PAPER, delay=5, deadline=5)
    with pytest.raises(ValueError, match="'r0' is already taking part"):
        swarm_of(2, PAPER).add(Agent('r0', PAPER))
