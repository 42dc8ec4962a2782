"""The back end of the game (appendix B.4): agents, and proxies that represent people.

Agents are the ones robots run. A proxy sends what its person drew, in every round of the exchange:
agents weigh people's lines and learn from them exactly as they do with each other's, while nothing
but a person's own hand changes a person's line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from delama_ros.core import graph, update
from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Message, Params
from delama_ros.core.blocks import Floats, Keys
from delama_ros.core.distances import by_name, pairwise
from delama_ros.core.losses import squared
from delama_ros.core.memory import local_solve, remember_all
from delama_ros.core.settings import Settings
from delama_ros.experiments.human.task import Line, features
from delama_ros.transport.local import LocalTransport

BLOCK: Keys = np.zeros((1, 2), np.int32)
# The variant `game`: the paper's distance between models and its rounds; a budget per agent with a
# null edge, so that an agent without a partner need not take one.
GAME = Settings(
    distance='paper', budget='row', null_edge=8.0, lambda2=2.0, momentum=0.0, update_rounds=10
)
# Learned by `python -m delama_ros.experiments.human.tune`; MSE after each round on its
# validation tasks.
SETTINGS = {
    'low': replace(  # 8.347, 1.830, 0.721
        GAME, lambda1_local=0.128, lambda1_coupled=0.0537, lambda2=1.32, lambda3=0.123,
        null_edge=16.3,
    ),
    'medium': replace(  # 1.034, 0.224, 0.132
        GAME, lambda1_local=0.0388, lambda1_coupled=0.0321, lambda2=3.75, lambda3=0.0364,
        null_edge=11.9,
    ),
    'high': replace(  # 0.032, 0.015, 0.010
        GAME, lambda1_local=0.0609, lambda1_coupled=0.000321, lambda2=9.44, lambda3=0.0238,
        null_edge=9.99,
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What collaboration made of the agents' lines, and their rows of W, by seat."""

    lines: dict[int, Line]
    weights: dict[int, dict[int, float]]


class Proxy(Agent):
    """Stands for a person: takes part in every exchange and always sends the person's line."""

    def __init__(self, name: str, settings: Settings, line: Line) -> None:
        super().__init__(name, settings, shape=(2, 1))
        self._line: Floats = np.array(line, dtype=np.float64).reshape(1, 2, 1)
        # An observation whose local solution is the line, so that weights are inferred from it.
        H = np.eye(2)[None]
        self.observe(BLOCK, H, (1 + 2 * settings.lambda1_local) * self._line)

    def advance(self) -> list[Message]:
        """Close a round; messages of others may have moved the agent, but not the person."""
        return [
            replace(message, model=replace(message.model, theta=self._line))
            if isinstance(message, Params) else message
            for message in super().advance()
        ]


def learn(points: Floats, settings: Settings) -> Line:
    """Return the line an agent learns by itself (Algorithm 1) from points (t, S, 2)."""
    H, r = squared(*features(points))
    A, b = remember_all(H[:, None], r[:, None], settings)  # one agent
    return _line(local_solve(A, b, settings.lambda1_local)[-1, 0])


def collaborate(
    points: Mapping[int, Floats], people: Mapping[int, Line], settings: Settings
) -> Outcome:
    """Let agents, who have seen points (t, S, 2), work a step with people's lines; by seat."""
    agents = {seat: _agent(str(seat), seen, settings) for seat, seen in points.items()}
    proxies = [Proxy(str(seat), settings, line) for seat, line in people.items()]
    transport = LocalTransport([*agents.values(), *proxies])
    step = max((len(seen) for seen in points.values()), default=1)
    transport.run_step(step, dict.fromkeys(transport.agents, tuple(transport.agents)))
    return Outcome(
        {seat: _line(agent.theta[1]) for seat, agent in agents.items()},
        {
            seat: {int(other): w for other, w in agent.weights.items()}
            for seat, agent in agents.items()
        },
    )


def team_lines(points: Floats, settings: Settings) -> Floats:
    """Return the lines (B, T, N, 2) of teams of agents only, for points (B, T, N, S, 2) at once."""
    A, b = remember_all(*squared(*features(points)), settings)
    local = local_solve(A, b, settings.lambda1_local)
    d = pairwise(by_name(settings.distance), A, local)
    W, _ = graph.infer(d, np.ones(d.shape, dtype=bool), settings)
    theta: Floats = update.jacobi(A, b, W, local, settings)
    return theta[..., 0, :, 0]


def _agent(name: str, points: Floats, settings: Settings) -> Agent:
    """Return an agent that has been through all steps but the last, whose data it is about to use.

    What an agent keeps of a step is its memory alone, so steps without neighbours make the same.
    """
    agent = Agent(name, settings, shape=(2, 1))
    for step, (X, Y) in enumerate(zip(*features(points), strict=True), 1):
        agent.observe(BLOCK, *squared(X, Y))
        if step < len(points):
            agent.begin(step, ())
            while not agent.done:
                agent.advance()
    return agent


def _line(theta: Floats) -> Line:
    return Line(*theta.ravel().tolist())
