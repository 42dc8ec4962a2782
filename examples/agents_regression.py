"""Four agents learn two lines from noisy samples and find out who learns the same one."""

import numpy as np

from delama_ros.core import Settings, squared
from delama_ros.core.agent import Agent
from delama_ros.transport.local import LocalTransport

rng = np.random.default_rng(0)
lines = {'ann': (2.0, -1.0), 'ben': (2.0, -1.0), 'cleo': (-1.0, 3.0), 'dan': (-1.0, 3.0)}
agents = [Agent(name, Settings(accumulate='sum'), shape=(2, 1)) for name in lines]
transport = LocalTransport(agents)
for step in range(1, 6):
    for agent in agents:
        x = rng.uniform(-1, 1, (3, 1))
        y = np.hstack([x, np.ones_like(x)]) @ np.array([lines[agent.name]]).T
        H, r = squared(np.hstack([x, np.ones_like(x)]), y + 0.3 * rng.normal(size=y.shape))
        agent.observe(np.zeros((1, 2), np.int32), H, r)  # one block of features: [x, 1]
    transport.run_step(step, {name: list(lines) for name in lines})
for agent in agents:
    weights = {name: round(float(weight), 2) for name, weight in agent.weights.items()}
    print(agent.name, 'line', agent.theta[1].ravel().round(2), 'weights', weights)
