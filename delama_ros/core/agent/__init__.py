"""One agent of DeLAMA as a state machine: its messages, its inbox and its rounds (Algorithms 1-4).

A `Message` is a `Params` (a model) or a `Dual` (numbers of the graph problem).

Two agents learn one number each and share it as far as their numbers agree:

>>> import numpy as np
>>> from delama_ros.core import Settings
>>> from delama_ros.core.agent import Agent
>>> agents = [Agent(name, Settings(), shape=(1, 1)) for name in ('ann', 'bob')]
>>> for agent, mean in zip(agents, (1.0, 1.2)):
...     agent.observe(np.zeros((1, 2), int), np.full((1, 1, 1), 5.0), np.full((1, 1, 1), 5 * mean))
>>> messages = [m for agent in agents for m in agent.begin(1, ['ann', 'bob'])]
>>> while messages:
...     for message in messages:
...         for agent in agents:
...             if agent.name != message.robot:
...                 assert agent.receive(message) is None
...     messages = [m for agent in agents if agent.ready for m in agent.advance()]
>>> round(agents[0].weights['bob'], 2)
0.52
>>> [float(agent.theta[1][0, 0, 0].round(2)) for agent in agents]  # drawn towards each other
[1.01, 1.19]
"""

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Dual, Message, Params, Phase
from delama_ros.core.agent.refinement import Jacobi, LocalModel, Refinement
from delama_ros.core.agent.refusal import Refusal, Refused

__all__ = [
    'Agent', 'Dual', 'Jacobi', 'LocalModel', 'Message', 'Params', 'Phase', 'Refinement', 'Refusal',
    'Refused',
]
