"""Radio: which robots receive each other, by distance, walls, fading, loss and delay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from delama_ros.geometry.grid import Bools, Floats, Ints
from delama_sim.rays import RayCaster


@dataclass(frozen=True)
class Radio:
    """Link model. The default is a perfect radio."""

    range: float = math.inf  # m in the open
    wall: float = 0.0  # m of range that each wall in between costs
    fading: float = 0.0  # m, standard deviation of the slow change of each link's range
    fading_time: float = 5.0  # s over which fading forgets
    loss: float = 0.0  # probability that a link is silent for one radio period
    delay: float = 0.0  # s, mean
    jitter: float = 0.0  # s, standard deviation of the delay
    across_buildings: bool = True  # robots in different buildings receive each other
    chain: bool = False  # robots receive only those before and after them in the order of names

    def __post_init__(self) -> None:
        if not self.range > 0:
            raise ValueError(f'radio range is {self.range} m, expected more than 0')
        if not 0 <= self.loss <= 1:
            raise ValueError(f'radio loss is {self.loss}, expected 0..1')
        if not self.fading_time > 0:
            raise ValueError(f'radio fading_time is {self.fading_time} s, expected more than 0')
        for name in ('wall', 'fading', 'delay', 'jitter'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f'radio {name} is {value}, expected 0 or more')


@dataclass(frozen=True, eq=False)
class Links:
    """State of all links for one radio period; [i, j]: robot i as the receiver of robot j."""

    hears: Bools  # (N, N), [i, j]: i receives j; the diagonal is true
    in_range: Bools  # (N, N), the same before loss
    delay: Floats  # (N, N), s


class RadioState:
    """Links of one world; call once per radio period, in order."""

    def __init__(
        self,
        model: Radio,
        casters: Sequence[RayCaster],
        building: Ints,
        period: float,
        rng: np.random.Generator,
    ) -> None:
        self._model = model
        self._casters = casters
        self._building = building  # (N,)
        self._rng = rng
        self._keep = math.exp(-period / model.fading_time)
        self._fade = self._symmetric(rng)

    def links(self, poses: Floats) -> Links:
        """Return the links of robots at true poses (N, 3); draws chances for the next period."""
        model, n = self._model, len(poses)
        away = np.hypot(*(poses[:, None, :2] - poses[None, :, :2]).transpose(2, 0, 1))
        away += model.wall * self._walls(poses) if model.wall else 0.0
        fresh = self._symmetric(self._rng)
        self._fade = self._keep * self._fade + math.sqrt(1 - self._keep**2) * fresh
        together = self._building[:, None] == self._building
        in_range = (away + model.fading * self._fade <= model.range) & together
        in_range |= ~together & model.across_buildings
        if model.chain:
            order = np.arange(n)
            in_range &= np.abs(order[:, None] - order) <= 1
        received = in_range & (self._rng.random((n, n)) >= model.loss)
        delay = np.maximum(0.0, model.delay + model.jitter * self._rng.standard_normal((n, n)))
        np.fill_diagonal(in_range, True)
        np.fill_diagonal(received, True)
        np.fill_diagonal(delay, 0.0)
        return Links(received, in_range, delay)

    def _walls(self, poses: Floats) -> Floats:
        """Walls (N, N) between robots of the same building."""
        walls = np.zeros((len(poses), len(poses)))
        for index, caster in enumerate(self._casters):
            here = np.flatnonzero(self._building == index)
            i, j = np.triu_indices(len(here), 1)
            if len(i):
                a, b = here[i], here[j]
                walls[a, b] = walls[b, a] = caster.walls_between(poses[a, :2], poses[b, :2])
        return walls

    def _symmetric(self, rng: np.random.Generator) -> Floats:
        """Draw unit normal noise (N, N), the same both ways."""
        n = len(self._building)
        upper = np.triu(rng.standard_normal((n, n)), 1)
        return upper + upper.T
