"""Settings that agents and network share: the variant of DeLAMA and its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from delama_ros.core.backend import Scalar

OLD_DISTANCES = {'evidence': 'bayes'}  # name in earlier versions → present name


@dataclass(frozen=True)
class Settings:
    """One variant of DeLAMA with its coefficients; while training, coefficients are 0-d tensors.

    The defaults are ours. `PAPER` is the paper's algorithm with its misprints corrected.
    """

    # Memory (16): 'mean' as in the paper, 'sum', or 'forget' (A ← forget · A + H).
    accumulate: Literal['mean', 'sum', 'forget'] = 'mean'
    forget: float = 1.0
    forget_floor: float = 0.0  # evidence down to which blocks fade, where evidence is known
    # Coefficients of problem (8). The local and the coupled solve have a λ1 each: a weak prior in
    # the coupled solve lets a block without own data follow the neighbours.
    lambda1_local: Scalar = 3e-3
    lambda1_coupled: Scalar = 3e-3
    lambda2: Scalar = 0.1
    lambda3: Scalar = 1.0
    # Collaborative relational inference (Algorithm 2).
    distance: Literal['paper', 'minA', 'overlap', 'bayes'] = 'minA'
    # 'global': ΣW = number of agents of the component; 'row': each agent spends 1 by itself;
    # 'edge': 1 for each of its edges.
    budget: Literal['global', 'row', 'edge'] = 'row'
    # Pseudo-distance that competes for each row's budget and takes weight away from bad peers.
    null_edge: Scalar | None = 1.0
    # b of the smoothed ReLU; 0 is the ReLU itself, solved by sorting.
    smoothing: float = 1e-3
    # Newton rounds M1 of the global budget; 0 floods all distances once and solves exactly.
    dual_rounds: int = 5
    # Lifelong model update (Algorithm 3): Jacobi rounds M2, momentum in [0, 1).
    update_rounds: int = 5
    momentum: Scalar = 0.5
    # Begin the rounds with last step's correction on top of the new local solution.
    warm_start: bool = False
    # What an agent accepts from peers: largest |θ|, most blocks or rows in one message, and largest
    # index of a block, as a map is drawn as large as its outermost blocks.
    max_value: float = 1e6
    max_entries: int = 100_000
    max_index: int = 1_000
    # Most messages stored for a step that has not begun here.
    max_early: int = 1_000

    def __post_init__(self) -> None:
        # Frozen, but a checkpoint or configuration may hold a name of an earlier version.
        object.__setattr__(self, 'distance', OLD_DISTANCES.get(self.distance, self.distance))
        positive = {
            'lambda1_local': self.lambda1_local,
            'lambda1_coupled': self.lambda1_coupled,
            'lambda3': self.lambda3,
            'max_value': self.max_value,
        }
        for name, value in positive.items():
            if not value > 0:
                raise ValueError(f'{name} is {value}, expected a number above 0')
        for name, choice, known in (
            ('accumulate', self.accumulate, ('mean', 'sum', 'forget')),
            ('distance', self.distance, ('paper', 'minA', 'overlap', 'bayes')),
            ('budget', self.budget, ('global', 'row', 'edge')),
        ):
            if choice not in known:
                raise ValueError(f'{name} is {choice!r}, expected one of {known}')
        if not self.lambda2 >= 0:
            raise ValueError(f'lambda2 is {self.lambda2}, expected 0 or more')
        if not 0 <= self.forget <= 1:
            raise ValueError(f'forget is {self.forget}, expected a factor in [0, 1]')
        if not 0 <= self.momentum < 1:
            raise ValueError(f'momentum is {self.momentum}, expected a factor in [0, 1)')
        if self.null_edge is not None and not self.null_edge >= 0:
            raise ValueError(f'null_edge is {self.null_edge}, expected a distance of 0 or more')
        if self.update_rounds < 1 or self.dual_rounds < 0:
            raise ValueError(
                f'update_rounds is {self.update_rounds} and dual_rounds {self.dual_rounds}, '
                'expected at least 1 and at least 0'
            )
        if self.smoothing < 0 or (self.smoothing == 0 and self.newton):
            raise ValueError(
                f'smoothing is {self.smoothing}, expected above 0 (0 only without Newton rounds)'
            )

    @property
    def newton(self) -> bool:
        """Whether z is found in rounds between agents rather than by each agent at once."""
        return self.budget == 'global' and self.dual_rounds > 0


# The paper's algorithm with corrected formulas: one λ1, its distance, one budget for all agents.
PAPER = Settings(
    distance='paper', budget='global', null_edge=None, momentum=0.0, update_rounds=10
)
