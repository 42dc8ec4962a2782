"""What a method runs as: the words of the column *runs as* in every table and of `runs_as` in JSON.

agents: agents exchange messages as robots do. network: the batched, unrolled DeLAMA computes all
agents in one process; agents reproduce it to rounding where both exist. server: agents take
gradient steps and a server joins their models. gradient: agents take gradient steps and send models
to neighbours or, if lifelong, to nobody. central graph: the network with a graph that is solved for
in one place. central: one learner with all data. grid: log-odds cells of one robot, or in the
centre. A dash is no learner: a bound.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

RunsAs: TypeAlias = Literal[
    'agents', 'network', 'agents, network', 'server', 'gradient', 'central graph', 'central',
    'grid', 'central grid', '–',
]
