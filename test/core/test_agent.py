"""Agents that exchange messages equal the batched network; a robot process never loads torch."""

import subprocess
import sys
from dataclasses import replace

import networkx
import numpy as np
import pytest
import torch
from torch import nn

from delama_ros.core.agent.agent import Agent
from delama_ros.core.distances import Overlap, pairwise
from delama_ros.core.graph import infer
from delama_ros.core.memory import local_solve
from delama_ros.core.network import DeLAMA
from delama_ros.core.settings import PAPER, Settings
from delama_ros.transport.local import LocalTransport

K, C, T = 4, 2, 3
GRAPHS = {
    'full': networkx.complete_graph(6),
    'ER': networkx.erdos_renyi_graph(7, 0.4, seed=3),
    'ER sparse': networkx.erdos_renyi_graph(8, 0.2, seed=1),
    'BA': networkx.barabasi_albert_graph(8, 2, seed=0),
    'line': networkx.path_graph(6),
    'ring': networkx.cycle_graph(7),
    'star': networkx.star_graph(5),
    'lollipop': networkx.lollipop_graph(4, 3),
}
VARIANTS = {
    'paper': PAPER,
    'paper, one flood': replace(PAPER, dual_rounds=0),
    'paper, exact': replace(PAPER, dual_rounds=0, smoothing=0.0),
    'ours': Settings(),
    'ours, warm start': Settings(accumulate='sum', warm_start=True),
    'global minA with null edge': Settings(budget='global', null_edge=0.5),
}


def name(i):
    return f'robot_{i}'


def links_of(network):
    return {name(i): [name(j) for j in network[i]] for i in network}


def mask_of(network):
    return torch.tensor(networkx.to_numpy_array(network, nodelist=sorted(network)) > 0)


def statistics(seed, agents, blocks, steps=T):
    """Return H (T, N, n, K, K) and r (T, N, n, K, C); with several blocks not all are touched."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(steps, agents, blocks, 3, K))
    H = np.swapaxes(X, -1, -2) @ X
    r = np.swapaxes(X, -1, -2) @ rng.normal(size=(steps, agents, blocks, 3, C))
    touched = rng.random((steps, agents, blocks, 1, 1)) < (1.0 if blocks == 1 else 0.4)
    return H * touched, r * touched


def keys_of(blocks):
    return np.array([(i - 2, 7 - i) for i in range(blocks)], dtype=np.int32)


def observe(agent, H, r):
    touched = H.any((-1, -2))
    agent.observe(keys_of(len(H))[touched], H[touched], r[touched])


def on_all_blocks(agent, blocks):
    """Return the agent's θ (n, K, C), zero where it has no block."""
    place = {tuple(key): i for i, key in enumerate(keys_of(blocks))}
    theta = np.zeros((blocks, *agent.theta[1].shape[1:]))
    for key, value in zip(*agent.theta, strict=True):
        theta[place[tuple(key)]] = value
    return theta


def run_network(settings, H, r, masks, **options):
    net = DeLAMA(nn.Identity(), 'squared', settings, **options)
    with torch.no_grad():
        return net.learn(torch.tensor(H)[None], torch.tensor(r)[None], masks[None])


def assert_equal(agent, i, out, t, blocks):
    np.testing.assert_allclose(on_all_blocks(agent, blocks), out.theta[0, t, i], atol=1e-8)
    W = out.W[0, t, i].numpy()
    weights = {name(j): w for j, w in enumerate(W) if w > 0}
    assert agent.weights == pytest.approx(weights, abs=1e-8)
    assert agent.z == pytest.approx(float(out.z[0, t, i]), abs=1e-8)


@pytest.mark.parametrize('blocks', [1, 5])
@pytest.mark.parametrize('graph', GRAPHS)
@pytest.mark.parametrize('variant', VARIANTS)
def test_agents_equal_the_network(graph, variant, blocks):
    settings, network = VARIANTS[variant], GRAPHS[graph]
    agents = len(network)
    H, r = statistics(0, agents, blocks)
    out = run_network(settings, H, r, mask_of(network).expand(T, agents, agents))
    swarm = LocalTransport(Agent(name(i), settings, shape=(K, C)) for i in network)
    for t in range(T):
        for i in network:
            observe(swarm.agents[name(i)], H[t, i], r[t, i])
        swarm.run_step(t, links_of(network))
        for i in network:
            agent = swarm.agents[name(i)]
            assert_equal(agent, i, out, t, blocks)
            assert agent.incomplete_rounds == 0
            assert not agent.refused


@pytest.mark.parametrize('variant', ['paper', 'ours', 'ours, warm start'])
def test_robots_join_and_leave(variant):
    """Robot 5 is there from step 2 on, robot 1 until step 3: absent is without data and links."""
    settings = replace(VARIANTS[variant], accumulate='sum')
    ring = networkx.cycle_graph(6)
    steps = 6
    present = [
        [i for i in range(6) if (i != 5 or t >= 2) and (i != 1 or t < 4)] for t in range(steps)
    ]
    H, r = statistics(1, 6, 3, steps)
    masks = torch.zeros(steps, 6, 6, dtype=torch.bool)
    for t, there in enumerate(present):
        absent = [i for i in range(6) if i not in there]
        H[t, absent], r[t, absent] = 0, 0
        masks[t] = mask_of(ring)
        masks[t, absent] = False
        masks[t, :, absent] = False
    out = run_network(settings, H, r, masks)
    swarm = LocalTransport(Agent(name(i), settings, shape=(K, C)) for i in present[0])
    for t, there in enumerate(present):
        if t == 2:
            swarm.add(Agent(name(5), settings, shape=(K, C)))
        if t == 4:
            swarm.remove(name(1))
        for i in there:
            observe(swarm.agents[name(i)], H[t, i], r[t, i])
        swarm.run_step(t, links_of(ring.subgraph(there)))
        for i in there:
            assert_equal(swarm.agents[name(i)], i, out, t, 3)


def test_overlap_distance_between_agents_equals_the_batched_one():
    rng = np.random.default_rng(4)
    overlap = Overlap(table=rng.normal(size=(9, K)), bias=-0.5, gate=0.6, least=1.0)
    settings = Settings(distance='overlap', accumulate='sum')
    H, r = statistics(2, 6, 4)
    H, r = H[0], r[0, ..., :1]
    evidence = rng.random((6, 4, 9)) * (rng.random((6, 4, 9)) < 0.6) * H.any((-1, -2))[..., None]
    swarm = LocalTransport(
        Agent(name(i), settings, shape=(K, 1, 9), distance=overlap) for i in range(6)
    )
    for i in range(6):
        touched = H[i].any((-1, -2))
        keys = keys_of(4)[touched]
        swarm.agents[name(i)].observe(keys, H[i][touched], r[i][touched], evidence[i][touched])
    ring = networkx.cycle_graph(6)
    swarm.run_step(0, links_of(ring))
    d = pairwise(overlap, H, local_solve(H, r, settings.lambda1_local), evidence)
    W, _ = infer(d, mask_of(ring).numpy(), settings)
    assert np.isinf(d[mask_of(ring).numpy()]).any()  # some edge is beyond the gate
    assert W.any()
    for i in range(6):
        weights = {name(j): w for j, w in enumerate(W[i]) if w > 0}
        assert swarm.agents[name(i)].weights == pytest.approx(weights, abs=1e-8)


def test_alone_with_and_without_data():
    for settings in VARIANTS.values():
        swarm = LocalTransport([Agent('solo', settings, shape=(K, C))])
        swarm.run_step(0, {})
        assert len(swarm.agents['solo'].theta[1]) == 0
        H, r = statistics(3, 1, 2)
        swarm.agents['solo'].observe(keys_of(2), H[0, 0], r[0, 0])
        swarm.run_step(1, {})
        agent = swarm.agents['solo']
        _, A, b = agent.memory
        expected = np.linalg.solve(A + 2 * settings.lambda1_coupled * np.eye(K), b)
        np.testing.assert_allclose(agent.theta[1], expected, atol=1e-9)
        assert agent.weights == {}


def test_a_block_only_neighbours_know_follows_them():
    settings = Settings(lambda1_coupled=1e-6, accumulate='sum', null_edge=None)
    swarm = LocalTransport(Agent(n, settings, shape=(K, C)) for n in 'ab')
    H, r = statistics(5, 2, 1)
    swarm.agents['a'].observe(np.array([[3, -4]]), H[0, 0], r[0, 0])
    swarm.agents['b'].observe(np.array([[0, 0]]), H[0, 1], r[0, 1])
    swarm.run_step(0, {'a': 'b', 'b': 'a'})
    keys, values = swarm.agents['b'].theta
    assert keys.tolist() == [[0, 0], [3, -4]]
    at_a = swarm.agents['a'].theta[1][swarm.agents['a'].theta[0].tolist().index([3, -4])]
    np.testing.assert_allclose(values[1], at_a, rtol=0.3, atol=0.05)
    assert len(swarm.agents['b'].memory[0]) == 1  # no memory is spent on it


def test_state_is_saved_and_restored():
    settings = Settings(warm_start=True)
    H, r = statistics(6, 2, 3)
    whole = LocalTransport(Agent(n, settings, shape=(K, C)) for n in 'ab')
    parts = LocalTransport(Agent(n, settings, shape=(K, C)) for n in 'ab')
    for t in range(T):
        for swarm in (whole, parts):
            for i, n in enumerate('ab'):
                observe(swarm.agents[n], H[t, i], r[t, i])
            swarm.run_step(t, {'a': 'b', 'b': 'a'})
        restarted = Agent('a', settings, shape=(K, C))
        restarted.restore(parts.remove('a').state())
        parts.add(restarted)
        np.testing.assert_array_equal(restarted.theta[1], whole.agents['a'].theta[1])
    with pytest.raises(ValueError, match='b has shape'):
        Agent('a', settings, shape=(K, C + 1)).restore(restarted.state())


def test_bad_observations_are_named():
    agent = Agent('a', Settings(), shape=(K, C))
    H, r = np.zeros((2, K, K)), np.zeros((2, K, C))
    keys = keys_of(2)
    with pytest.raises(ValueError, match='have shapes'):
        agent.observe(keys, H, r[..., :1])
    with pytest.raises(ValueError, match='NaN or infinity'):
        agent.observe(keys, H * np.nan, r)
    with pytest.raises(ValueError, match='repeated'):
        agent.observe(keys[[0, 0]], H, r)
    agent.observe(keys[:0], H[:0], r[:0])
    agent.begin(3, [])
    with pytest.raises(ValueError, match='step 3 cannot begin after step 3'):
        agent.begin(3, [])
    agent.advance()
    with pytest.raises(RuntimeError, match='no step is in progress'):
        agent.advance()


def test_a_robot_never_imports_torch():
    code = (
        'import sys; import delama_ros.core.agent.agent, delama_ros.core.checkpoint, '
        'delama_ros.core.losses, delama_ros.transport.local; '
        'sys.exit(any(m.split(".")[0] in ("torch", "matplotlib") for m in sys.modules))'
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_sums_are_solved_again_only_where_data_is_new():
    for how in ('sum', 'mean', 'forget'):
        agent = Agent('a', Settings(accumulate=how, forget=0.7), shape=(K, C))
        H, r = statistics(8, 1, 4)
        for step, some in enumerate(([0, 1, 3], [1], [], [2, 3])):
            agent.observe(keys_of(4)[some], H[step % T, 0][some], r[step % T, 0][some])
            said = agent.begin(step, [])
            _, A, b = agent.memory
            expected = np.linalg.solve(A + 2 * agent.settings.lambda1_local * np.eye(K), b)
            np.testing.assert_allclose(said[0].model.theta, expected, atol=1e-9)
            agent.advance()


def test_a_step_left_after_learning_can_be_saved_and_followed():
    H, r = statistics(9, 1, 3)
    agent = Agent('a', Settings(warm_start=True), shape=(K, C))
    observe(agent, H[0, 0], r[0, 0])
    agent.begin(0, ['b'])
    agent.rewind()
    restarted = Agent('a', agent.settings, shape=(K, C))
    restarted.restore(agent.state())
    for each in (agent, restarted):
        each.begin(0, [])
        each.advance()
    np.testing.assert_array_equal(agent.theta[1], restarted.theta[1])
