"""The methods that are trained on a task: variants of DeLAMA and how each of them begins.

`delama_paper` is the paper's algorithm with its formulas corrected; `delama_mina` replaces its
distance, budget and plain rounds; `delama` adds the distance by evidence with estimated noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from delama_ros.core.settings import PAPER, Settings
from delama_ros.tasks.learner import Mode

Method: TypeAlias = Literal['wc', 'oracle', 'delama_paper', 'delama_mina', 'delama']

OURS = Settings(
    accumulate='sum', distance='evidence', lambda1_local=0.05, lambda1_coupled=0.05, lambda2=2.0,
    lambda3=0.3, null_edge=0.5, momentum=0.4,
)


@dataclass(frozen=True)
class Variant:
    """Which settings a method starts from, and how it is trained and tested."""

    settings: Settings
    mode: Mode = 'delama'
    offset: bool = True  # of seen classes, in image tasks


METHODS: dict[Method, Variant] = {
    'wc': Variant(Settings(accumulate='sum'), 'wc'),
    'oracle': Variant(OURS, 'oracle'),
    'delama_paper': Variant(PAPER, offset=False),
    'delama_mina': Variant(Settings()),
    'delama': Variant(OURS),
}


def settings_of(method: Method, rounds: int) -> Settings:
    """Return what a method starts from; the paper has 10 rounds, ours as many as asked for."""
    settings = METHODS[method].settings
    return settings if method == 'delama_paper' else replace(settings, update_rounds=rounds)
