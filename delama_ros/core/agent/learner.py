"""Local learning (Algorithm 1) of one agent: its memory and the model of its own data.

Between steps it gathers statistics of new data, and corrections of what was learned; `learn` adds
both to the memory and solves for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from delama_ros.core.agent.observed import Observed
from delama_ros.core.agent.refinement import LocalModel
from delama_ros.core.array_file import check_arrays
from delama_ros.core.blocks import (
    Blocks,
    Codes,
    Keys,
    Model,
    Shape,
    decode,
    encode,
    increasing,
    places,
    spread,
    union,
)
from delama_ros.core.memory import Memory, add, fading, local_solve, remember
from delama_ros.core.settings import Settings

FARTHEST = 2**30  # index of a block that is believed in a file


class Learner:
    """What one agent learns from its own data; blocks that only neighbours know are not in it."""

    def __init__(self, name: str, shape: Shape, settings: Settings) -> None:
        """Start with nothing learned; name: of the agent."""
        self.epoch = 0  # how often something was taken back
        self.new, self.revision = Observed(shape), Observed(shape)  # for the next step
        self.local = LocalModel(
            Memory(
                np.zeros((0, shape.features, shape.features)),
                np.zeros((0, shape.features, shape.outputs)),
            ),
            Model.empty(shape),
        )
        self.fade = Blocks.empty(1)  # product of the factors by which each block has faded
        self._name, self._shape, self._settings = name, shape, settings
        self._dropped: Codes = np.zeros(0, np.int64)

    def drop(self, keys: Keys) -> None:
        """Remove blocks (n, 2) with the next step."""
        self._dropped = union(self._dropped, np.sort(encode(np.asarray(keys))))

    def learn(self) -> None:
        """Add corrections and new data to the memory, and solve for the model."""
        settings = self._settings
        local, new, self.new = self._revised(), self.new, Observed(self._shape)
        codes = union(local.codes, new.H.codes)
        A, b = (spread(part, local.codes, codes) for part in (local.memory.A, local.memory.b))
        theta, evidence = local.model.on(codes)
        at = places(codes, new.H.codes)
        memory = Memory(A, b, local.memory.t)
        if settings.accumulate == 'forget':
            before = np.ones((len(codes), 1))
            before[places(codes, self.fade.codes)] = self.fade.values
            share, _ = fading(memory.t + 1, settings, evidence)
            self.fade = Blocks(codes, before * np.reshape(share, (-1, 1)))
        memory = remember(memory, new.H.values, new.r.values, settings, at, evidence)
        add(evidence, new.evidence.values, *fading(memory.t, settings, evidence), at)
        # Sums change only where there is new data.
        changed = at if settings.accumulate == 'sum' else slice(None)
        theta = theta.copy()
        theta[changed] = local_solve(A[changed], b[changed], settings.lambda1_local)
        self.local = LocalModel(memory, Model(codes, theta, evidence, {self._name: self.epoch}))

    def _revised(self) -> LocalModel:
        """Return the local model with the corrections since the last step."""
        local, change, dropped = self.local, self.revision, self._dropped
        if not len(change.H.codes) and not len(dropped):
            return local
        self.epoch += 1
        self.revision, self._dropped = Observed(self._shape), np.zeros(0, np.int64)
        codes = union(local.codes, change.H.codes)
        at = places(codes, change.H.codes)
        A, b = (
            spread(part, local.codes, codes).copy() for part in (local.memory.A, local.memory.b)
        )
        theta, evidence = (part.copy() for part in local.model.on(codes))
        A[at] += change.H.values
        b[at] += change.r.values
        evidence[at] = np.maximum(evidence[at] + change.evidence.values, 0.0)
        theta[at] = local_solve(A[at], b[at], self._settings.lambda1_local)
        stay = ~np.isin(codes, dropped)
        kept = np.isin(self.fade.codes, codes[stay])
        self.fade = Blocks(self.fade.codes[kept], self.fade.values[kept])
        memory = Memory(A[stay], b[stay], local.memory.t)
        return LocalModel(memory, Model(codes[stay], theta[stay], evidence[stay]))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that a restart needs, as arrays."""
        memory, model = self.local.memory, self.local.model
        return {
            'keys': decode(model.codes), 'A': memory.A.copy(), 'b': memory.b.copy(),
            't': np.array(memory.t), 'evidence': model.evidence.copy(),
            'epoch': np.array(self.epoch), 'fade': self.fade.on(model.codes),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue, before anything was learned, from what `state` returned.

        Raises:
            ValueError: if the arrays are of another shape of model, or hold impossible numbers.

        """
        size, columns, parts = self._shape
        names = 'A', 'b', 'evidence', 'fade'
        saved = {'epoch': np.array(0), **state}  # files of earlier versions have neither
        saved = {'fade': np.ones((len(saved['keys']), 1)), **saved} if saved['keys'].ndim else saved
        shapes: dict[str, tuple[int | str, ...]] = {
            'keys': ('n', 2), 'A': ('n', size, size), 'b': ('n', size, columns),
            'evidence': ('n', parts), 'fade': ('n', 1), 't': (), 'epoch': (),
        }
        check_arrays(saved, shapes, whole=('keys', 't', 'epoch'))
        keys = saved['keys']
        if np.abs(keys.astype(np.int64)).max(initial=0) >= FARTHEST:
            raise ValueError(f'keys reach {np.abs(keys).max()}, expected less than {FARTHEST}')
        A, b, evidence, fade = (Blocks.of(keys, saved[name].copy()) for name in names)
        if not increasing(A.codes):
            raise ValueError('keys hold a block twice')
        if min(int(saved['t']), int(saved['epoch'])) < 0 or evidence.values.min(initial=0.0) < 0:
            raise ValueError('t, epoch or evidence is negative')
        if not ((fade.values >= 0) & (fade.values <= 1)).all():
            raise ValueError('fade is not in 0 .. 1')
        theta = local_solve(A.values, b.values, self._settings.lambda1_local)
        if not np.isfinite(theta).all():
            raise ValueError('A is not positive semidefinite')
        self.fade, self.epoch = fade, int(saved['epoch'])
        self.local = LocalModel(
            Memory(A.values, b.values, int(saved['t'])),
            Model(A.codes, theta, evidence.values, {self._name: self.epoch}),
        )
