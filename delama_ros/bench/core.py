"""Speed of the learning core: the batched network against a loop over agents, and one agent's step.

Ratios are taken within one run, so they hold on a noisy machine; times are processor time on one
core: the fastest of some runs for the network, the median for an agent.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Message, Params
from delama_ros.core.graph import edge_weights, newton_step, safe_start
from delama_ros.core.losses import squared
from delama_ros.core.network import DeLAMA
from delama_ros.core.settings import PAPER, Settings

# The regression task of the paper: tasks in a batch, steps, agents, samples, features.
BATCH, STEPS, AGENTS, SAMPLES, FEATURES = 2, 10, 6, 20, 50
# The mapping task: a robot with four neighbours, all knowing the same tiles, ten Jacobi rounds.
NEIGHBOURS, TILE_FEATURES, ROUNDS = 4, 32, 10


def run(*, seed: int = 0, progress: Callable[[str], None] | None = None) -> dict[str, float]:
    """Measure and return figures by name; units are in the names.

    batched_*: forward and backward of the paper's variant (M1 = 5, M2 = 10) on the regression task.
    agent_step_*: all that one agent computes from `begin` to the end of a step in which every tile
    has new data: learning, minA distances to four neighbours, row budget, ten rounds, and checking
    of 48 messages; without `observe`, encoding or transport. Median of 39 steps (5 at 10,000).
    """
    report = progress or (lambda text: None)
    figures: dict[str, float] = {}
    with one_core():
        report('batched network against a loop over agents')
        figures |= batched_against_loop(seed)
        for tiles in (128, 1_000, 10_000):
            report(f'one agent step, {tiles} tiles')
            figures[f'agent_step_{tiles}_tiles_ms'] = 1e3 * agent_step(seed, tiles)
    per_tile = [figures[f'agent_step_{tiles}_tiles_ms'] / tiles for tiles in (1_000, 10_000)]
    figures['cost_per_tile_10000_over_1000'] = per_tile[1] / per_tile[0]
    return figures


@contextmanager
def one_core() -> Iterator[None]:
    """Keep the process, and torch's threads, on one core while measuring."""
    cores, threads = os.sched_getaffinity(0), torch.get_num_threads()
    os.sched_setaffinity(0, {max(cores)})
    torch.set_num_threads(1)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        torch.set_num_threads(threads)


def fastest_seconds(works: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the shortest duration of each work, run in turns: the rest is the machine's noise."""
    best = [float('inf')] * len(works)
    for _ in range(rounds):
        for i, work in enumerate(works):
            start = time.process_time()
            work()
            best[i] = min(best[i], time.process_time() - start)
    return best


# -- batched network against a loop ---------------------------------------------------------------


def batched_against_loop(seed: int) -> dict[str, float]:
    """Time one training pass both ways; the two must agree before they are compared."""
    torch.manual_seed(seed)
    backbone = nn.Sequential(
        nn.Linear(1, 50), nn.SiLU(), nn.Linear(50, 50), nn.SiLU(), nn.Linear(50, FEATURES)
    )
    network = DeLAMA(backbone, 'squared', PAPER)
    X = 2 * torch.rand(BATCH, STEPS, AGENTS, SAMPLES, 1) - 1
    Y = torch.sin(3 * X)
    links = torch.ones(BATCH, STEPS, AGENTS, AGENTS, dtype=torch.bool)
    with torch.no_grad():
        gap = (network(X, Y, links).theta[..., 0, :, :] - looped(network, X, Y)).abs().max().item()
    if not gap < 1e-4:  # the backbone runs in float32, in another order of sums
        raise RuntimeError(f'batched and looped passes differ by {gap}')

    def batched() -> None:
        network(X, Y, links).theta.square().mean().backward()

    def loop() -> None:
        looped(network, X, Y).square().mean().backward()  # type: ignore[no-untyped-call]

    fast, slow = fastest_seconds([batched, loop], 8)
    return {'batched_ms': 1e3 * fast, 'loop_ms': 1e3 * slow, 'batched_speedup': slow / fast}


def looped(network: DeLAMA, X: Tensor, Y: Tensor) -> Tensor:
    """Algorithm 4 as it is printed, agent by agent, on the full graph; θ (B, T, N, K, C)."""
    s = network.coefficients()
    eye = torch.eye(FEATURES, dtype=torch.float64)
    tasks = []
    for X_task, Y_task in zip(X, Y, strict=True):
        A = [torch.zeros_like(eye)] * AGENTS
        b = [torch.zeros(FEATURES, 1, dtype=torch.float64)] * AGENTS
        steps = []
        for t, (X_step, Y_step) in enumerate(zip(X_task, Y_task, strict=True)):
            theta = []
            for i in range(AGENTS):
                H, r = squared(network.backbone(X_step[i]).double(), Y_step[i].double())
                A[i], b[i] = (t * A[i] + H[0]) / (t + 1), (t * b[i] + r[0]) / (t + 1)
                theta.append(_solve(A[i] + 2 * s.lambda1_local * eye, b[i]))
            rows = _looped_graph(theta, s)
            factors = [
                torch.linalg.cholesky(
                    A[i] + (2 * s.lambda1_coupled + 4 * s.lambda2 * rows[i].sum()) * eye
                )
                for i in range(AGENTS)
            ]
            for _ in range(s.update_rounds):
                theta = [
                    torch.cholesky_solve(
                        b[i] + 4 * s.lambda2 * _pull(rows[i], theta, i), factors[i]
                    )
                    for i in range(AGENTS)
                ]
            steps.append(torch.stack(theta))
        tasks.append(torch.stack(steps))
    return torch.stack(tasks)


def _looped_graph(theta: list[Tensor], s: Settings) -> list[Tensor]:
    """Return each agent's weights for the others, in order, from Newton rounds over all agents."""
    d = [
        torch.stack([(theta[i] - theta[j]).square().sum() for j in range(AGENTS) if j != i])
        for i in range(AGENTS)
    ]
    m = torch.tensor(float(AGENTS), dtype=torch.float64)
    n = torch.tensor(float(AGENTS * (AGENTS - 1)), dtype=torch.float64)
    total = torch.stack([row.sum() for row in d]).sum()
    z = safe_start(n, total, torch.stack([row.min() for row in d]).min(), m, s)
    edge = torch.ones(AGENTS - 1, dtype=torch.bool)
    for _ in range(s.dual_rounds):
        terms = [edge_weights(row, edge, z, s) for row in d]
        x = torch.stack([w.sum() for w, _ in terms]).sum()
        y = torch.stack([slope.sum() for _, slope in terms]).sum()
        z = newton_step(z, x, y, m, s)
    return [edge_weights(row, edge, z, s)[0] for row in d]


def _solve(A: Tensor, b: Tensor) -> Tensor:
    return torch.cholesky_solve(b, torch.linalg.cholesky(A))


def _pull(row: Tensor, theta: list[Tensor], i: int) -> Tensor:
    others = [theta[j] for j in range(AGENTS) if j != i]
    return torch.stack([w * other for w, other in zip(row, others, strict=True)]).sum(0)


# -- one agent's step -----------------------------------------------------------------------------


def agent_step(seed: int, tiles: int) -> float:
    """Return the median seconds an agent computes in a step, its neighbours' answers at hand."""
    settings = replace(Settings(accumulate='sum'), update_rounds=ROUNDS)
    agent = Agent('robot', settings, shape=(TILE_FEATURES, 1))
    names = [f'neighbour_{i}' for i in range(NEIGHBOURS)]
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(tiles)))
    keys = np.argwhere(np.ones((side, side)))[:tiles].astype(np.int32)
    X = rng.normal(size=(tiles, 8, TILE_FEATURES))
    H, r = np.swapaxes(X, -1, -2) @ X, rng.normal(size=(tiles, TILE_FEATURES, 1))
    durations = []
    for step in range(40 if tiles <= 1_000 else 6):
        agent.observe(keys, H, r)
        start = time.process_time()
        said = agent.begin(step, names)
        spent = time.process_time() - start
        while not agent.done:
            answers = [_answer(message, name) for message in said for name in names]
            start = time.process_time()
            for answer in answers:
                if agent.receive(answer) is not None:
                    raise RuntimeError(f'an answer was refused: {agent.refused}')
            said = agent.advance()
            spent += time.process_time() - start
        durations.append(spent)
    if agent.incomplete_rounds:
        raise RuntimeError(f'{agent.incomplete_rounds} rounds lacked an answer')
    return statistics.median(durations[1:])


def _answer(message: Message, neighbour: str) -> Message:
    """Return what a neighbour with nearly the same map would send in the same round."""
    if isinstance(message, Params):
        model = replace(message.model, theta=0.99 * message.model.theta)
        return replace(message, robot=neighbour, model=model)
    return replace(message, robot=neighbour, names=('robot',), x=message.x[:1], y=message.y[:1])
