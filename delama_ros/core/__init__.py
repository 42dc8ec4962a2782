"""DeLAMA without files, maps or ROS: losses, memory, graph, model update and the batched network.

Everything is written once for numpy (robots) and torch (training). `DeLAMA` and `Groupings` need
torch, which is imported only when one of them is used. For agents that exchange messages see
`delama_ros.core.agent`. `PAPER` are the settings of the paper's algorithm with its misprints
corrected.

A linear model learned from three samples, as in Algorithm 1:

>>> import numpy as np
>>> from delama_ros.core import Memory, Settings, local_solve, remember, squared
>>> X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])  # features: [1, x]
>>> H, r = squared(X, X @ np.array([[1.0], [2.0]]))  # samples of 1 + 2 x
>>> empty = Memory(np.zeros((1, 2, 2)), np.zeros((1, 2, 1)))
>>> memory = remember(empty, H, r, Settings())
>>> local_solve(memory.A, memory.b, 1e-9).round(3).ravel().tolist()
[1.0, 2.0]
"""

from typing import TYPE_CHECKING, Any

from delama_ros.core.blocks import Blocks, Model, Shape
from delama_ros.core.checkpoint import Checkpoint, CheckpointError
from delama_ros.core.checkpoint import load as load_checkpoint
from delama_ros.core.distances import Distance, MinA, Overlap, Paper, pairwise
from delama_ros.core.graph import infer
from delama_ros.core.losses import logistic, softmax, squared
from delama_ros.core.memory import Memory, local_solve, remember, remember_all
from delama_ros.core.settings import PAPER, Settings
from delama_ros.core.update import conjugate_gradients, jacobi

if TYPE_CHECKING:
    from delama_ros.core.bayes import Groupings
    from delama_ros.core.network import DeLAMA

__all__ = [
    'PAPER', 'Blocks', 'Checkpoint', 'CheckpointError', 'DeLAMA', 'Distance', 'Groupings', 'Memory',
    'MinA', 'Model', 'Overlap', 'Paper', 'Settings', 'Shape', 'conjugate_gradients', 'infer',
    'jacobi', 'load_checkpoint', 'local_solve', 'logistic', 'pairwise', 'remember', 'remember_all',
    'softmax', 'squared',
]


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is used: robots run without."""
    if name == 'DeLAMA':
        from delama_ros.core.network import DeLAMA

        return DeLAMA
    if name == 'Groupings':
        from delama_ros.core.bayes import Groupings

        return Groupings
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
