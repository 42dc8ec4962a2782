"""Lies that a robot may tell about a building: what it sends in place of its own messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from delama_ros.core.agent.messages import Dual, Message, Params, Phase
from delama_ros.core.blocks import Floats, Model, decode, encode
from delama_ros.mapping.mapper import Mapper

SHIFT = 0.2  # m, by which a robot of the lie `shift` is mis-localised
HEAVY = 1e5  # evidence that nobody can have
ERASED = 0.4  # share of tiles
ROUNDS = 3  # in which refined models are sent
FREE, WALL = -3.0, 4.0  # deviations of the logit from the bias

Tell = Callable[['Liar', Params], Model]


class Liar:
    """Changes what a robot sends; liars of one seed tell the same."""

    def __init__(self, lie: str, mapper: Mapper, seed: int) -> None:
        """Be ready to tell a lie.

        Args:
            lie: one of LIES.
            mapper: of the robot, which itself stays honest.
            seed: of what is invented.
        """
        self._tell = LIES[lie]
        self._passes_on = lie == 'passed-on'
        self.mapper, self.model, self._seed = mapper, mapper.model, seed
        self._flat: Floats = np.asarray(self.model.table, np.float64).reshape(
            len(self.model.table), -1
        )

    def tell(self, message: Message) -> list[Message]:
        """Return what is sent in place of a message."""
        if isinstance(message, Params) and message.phase == Phase.LOCAL and not self._passes_on:
            return [replace(message, model=self._tell(self, message))]
        if isinstance(message, Dual) and message.phase == Phase.WEIGHT and self._passes_on:
            return self._passed_on(message)
        return [message]

    def _passed_on(self, row: Dual) -> list[Message]:
        """Name a robot that nobody else knows, so that all wait for what it is said to know."""
        local = self.mapper.agent.local
        name = self.mapper.agent.name
        params = Params(
            name, row.step, int(Phase.UPDATE), 1, row.fingerprint, local,
            frame=self.mapper.agent.frame,
        )
        model = self._tell(self, params)
        return [
            replace(
                row, names=(*row.names, 'ghost'), x=np.append(row.x, 0.0), y=np.append(row.y, 1.0)
            ),
            *(replace(params, round=k, model=model) for k in range(1, ROUNDS + 1)),
        ]

    def fitted(self, logits: Floats) -> Floats:
        """Return θ (n, K, 1) whose tiles look like logits (n, S, S)."""
        flat = logits.reshape(len(logits), -1)
        theta = np.linalg.lstsq(self._flat.T, flat.T, rcond=None)[0].T
        return np.asarray(theta[..., None], np.float64)

    def random(self, code: int) -> np.random.Generator:
        """Return the random numbers of a tile, the same for all liars."""
        return np.random.default_rng([self._seed, code & 0xFFFFFFFF, code >> 32 & 0xFFFFFFFF])


def _walls(liar: Liar, message: Params, evidence: float) -> Model:
    """Claim a wall across every tile that the robot has seen."""
    codes, size = message.model.codes, liar.model.cells
    tiles = np.full((len(codes), size, size), FREE)
    for tile, code in zip(tiles, codes.tolist(), strict=True):
        rng = liar.random(code)
        at = int(rng.integers(size - 1))
        (tile if rng.random() < 0.5 else tile.T)[at : at + 2] = WALL
    heavy = np.maximum(message.model.evidence, 0.2) * evidence
    return replace(message.model, theta=liar.fitted(tiles), evidence=heavy)


def _random(liar: Liar, message: Params) -> Model:
    return _walls(liar, message, 1.0)


def _heavy(liar: Liar, message: Params) -> Model:
    return _walls(liar, message, HEAVY)


def _erase(liar: Liar, message: Params) -> Model:
    """Repeat the map that the team has made, with some tiles emptied."""
    known = liar.mapper.known
    if not len(known.codes):
        return message.model
    gone = np.array([liar.random(code).random() < ERASED for code in known.codes.tolist()])
    theta = known.theta.copy()
    theta[gone] = liar.fitted(np.full((1, liar.model.cells, liar.model.cells), FREE))
    return Model(
        known.codes, theta, np.full_like(known.evidence, HEAVY), message.model.epochs
    )


def _blank(liar: Liar, message: Params) -> Model:
    """Empty the team's map, and leave gaps so that no part of it is known with all around it."""
    known = liar.mapper.known
    side = round(known.evidence.shape[1] ** 0.5)
    seen = np.ones((side, side))
    seen[1::3, 1::3] = 0.0
    empty = liar.fitted(np.full((1, liar.model.cells, liar.model.cells), FREE))
    count = len(known.codes)
    return Model(
        known.codes, np.repeat(empty, count, 0), np.repeat(HEAVY * seen.reshape(1, -1), count, 0),
        message.model.epochs,
    )


def _mirror(liar: Liar, message: Params) -> Model:
    """Mirror the map about its middle: it is plausible by itself."""
    model = message.model
    keys = decode(model.codes)
    keys[:, 0] = keys[:, 0].min(initial=0) + keys[:, 0].max(initial=0) - keys[:, 0]
    size = liar.model.cells
    tiles = liar.model.deviations(model.theta).reshape(-1, size, size)[:, :, ::-1]
    side = round(model.evidence.shape[1] ** 0.5)
    evidence = model.evidence.reshape(-1, side, side)[:, :, ::-1].reshape(len(keys), -1)
    return Model.of(encode(keys), liar.fitted(tiles), evidence, model.epochs)


def _pull(evidence: float) -> Tell:
    def tell(liar: Liar, message: Params) -> Model:
        model = message.model
        signs = np.stack([
            liar.random(code).choice([-1e4, 1e4], model.theta.shape[1:])
            for code in model.codes.tolist()
        ]) if len(model.codes) else model.theta
        return replace(model, theta=signs, evidence=np.full_like(model.evidence, evidence))

    return tell


def _honest(_: Liar, message: Params) -> Model:
    return message.model


LIES: dict[str, Tell] = {
    'faint': _pull(0.019),
    'zero': _pull(0.0),
    'random': _random,
    'heavy': _heavy,
    'erase': _erase,
    'blank': _blank,
    'mirror': _mirror,
    'passed-on': _heavy,
    'shift': _honest,  # in a wrong place: whoever runs it moves the robot's poses by SHIFT
}

