"""What agents say to each other, whatever carries it: models (Params) and dual sums (Dual)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TypeAlias

import numpy as np

from delama_ros.core.blocks import (
    Blocks,
    Codes,
    Floats,
    Keys,
    Model,
    Shape,
    encode,
    increasing,
)
from delama_ros.core.settings import Settings


class Phase(IntEnum):
    """Phases of one time step, in order; the settings decide which of them occur."""

    LOCAL = 0  # θ after local learning, to the neighbours (Algorithm 1)
    DISTANCE = 1  # this side's distance to each neighbour (two-sided distances only)
    START = 2  # edges, Σd and min d of every agent, flooded (global budget)
    DUAL = 3  # Σh and Σh′ of every agent, flooded in each Newton round (Algorithm 3)
    FLOOD = 4  # all distances of every agent, flooded once (global budget, exact)
    WEIGHT = 5  # w_ij to each neighbour j, to symmetrise (row budget)
    UPDATE = 6  # θ after each Jacobi round (Algorithm 2)
    DONE = 7


# Hop of the last message an agent sends in a flood: it stands for all hops that follow.
LAST_HOP = 255
# Larger distances and sums are refused: their squares must stay finite.
MAX_DUAL = 1e100


@dataclass(frozen=True)
class Params:
    """A model of one agent, in phase LOCAL or UPDATE; keys are unique, numbers finite."""

    robot: str
    step: int
    phase: int
    round: int
    fingerprint: int
    keys: Keys  # (n, 2)
    values: Floats  # (n, K, C)
    evidence: Floats  # (n, P), not negative

    @cached_property
    def codes(self) -> Codes:
        """The codes of the keys: checked when a message comes in, used when its round is closed."""
        return encode(self.keys)

    @property
    def model(self) -> Model:
        """The model, its blocks sorted."""
        return Model(
            Blocks.sorted(self.codes, self.values), Blocks.sorted(self.codes, self.evidence)
        )


@dataclass(frozen=True)
class Dual:
    """Rows (name, x, y), own and relayed; a name repeats if its agent has several rows.

    DISTANCE and WEIGHT: name is the neighbour, x the distance or weight. START: two rows,
    (edges, Σd) and (min d, 0), or the one row (0, 0) without edges. DUAL: (Σh, Σh′). FLOOD: (d, 1)
    per edge, or (0, 0) without edges.
    """

    robot: str
    step: int
    phase: int
    round: int
    hop: int
    fingerprint: int
    names: tuple[str, ...]
    x: Floats  # (len(names),), not negative
    y: Floats  # (len(names),), not negative


Message: TypeAlias = Params | Dual


def fault(message: Message, shape: Shape, settings: Settings) -> str | None:
    """Return what is wrong with a message's form or numbers, or None; never raises."""
    numbers = (message.step, message.phase, message.round)
    if not isinstance(message.robot, str) or not all(isinstance(n, int) for n in numbers):
        return f'malformed: robot {message.robot!r} or step, phase, round {numbers}'
    try:
        if isinstance(message, Params):
            return _params_fault(message, shape, settings)
        return _dual_fault(message, settings)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        return f'malformed: {error}'


def _params_fault(message: Params, shape: Shape, settings: Settings) -> str | None:
    if message.phase not in (Phase.LOCAL, Phase.UPDATE):
        return f'unknown phase: {message.phase} for parameters'
    if not 0 <= message.round < settings.update_rounds:
        return f'unknown round: {message.round}, expected below {settings.update_rounds}'
    count = len(message.keys)
    if message.keys.shape != (count, 2) or message.keys.dtype.kind != 'i':
        return f'wrong shape: keys {message.keys.shape} {message.keys.dtype}, expected (n, 2) int'
    for name, numbers, wanted in (
        ('values', message.values, (count, *shape[:2])),
        ('evidence', message.evidence, (count, shape.parts)),
    ):
        if numbers.shape != wanted:
            return f'wrong shape: {name} {numbers.shape}, expected {wanted}'
    if count > settings.max_entries:
        return f'too large: {count} blocks, expected at most {settings.max_entries}'
    farthest = np.abs(message.keys.astype(np.int64)).max(initial=0)
    if farthest > settings.max_index:
        return f'unknown block: index {farthest}, expected at most {settings.max_index}'
    peaks = [np.abs(part).max(initial=0.0) for part in (message.values, message.evidence)]
    largest = np.max(peaks)  # NaN if there is one
    if not np.isfinite(largest):
        return 'not finite: values or evidence hold NaN or infinity'
    if largest > settings.max_value:
        return f'absurd value: {largest:g}, expected at most {settings.max_value:g}'
    if message.evidence.min(initial=0.0) < 0:
        return f'absurd value: evidence {message.evidence.min():g}, expected 0 or more'
    if not increasing(message.codes) and len(np.unique(message.codes)) != count:
        return 'repeated key: blocks must be unique'
    return None


def _dual_fault(message: Dual, settings: Settings) -> str | None:
    if message.phase not in (
        Phase.DISTANCE, Phase.START, Phase.DUAL, Phase.FLOOD, Phase.WEIGHT
    ):
        return f'unknown phase: {message.phase} for dual rows'
    if not 0 <= message.round < max(1, settings.dual_rounds):
        return f'unknown round: {message.round}, expected below {max(1, settings.dual_rounds)}'
    if not 0 <= message.hop <= LAST_HOP:
        return f'unknown hop: {message.hop}, expected 0 to {LAST_HOP}'
    count = len(message.names)
    if message.x.shape != (count,) or message.y.shape != (count,):
        return f'wrong shape: x {message.x.shape} and y {message.y.shape}, expected {(count,)}'
    if count > settings.max_entries:
        return f'too large: {count} rows, expected at most {settings.max_entries}'
    if not all(isinstance(name, str) for name in message.names):
        return 'malformed: names must be text'
    if not (np.isfinite(message.x).all() and np.isfinite(message.y).all()):
        return 'not finite: x or y holds NaN or infinity'
    if count and min(message.x.min(), message.y.min()) < 0:
        return 'absurd value: x or y is negative'
    if count and max(message.x.max(), message.y.max()) > MAX_DUAL:
        return f'absurd value: x or y is beyond {MAX_DUAL:g}'
    return None
