"""The messages that agents exchange, whatever carries them: models (Params), dual rows (Dual)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np

from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.core.blocks import Floats, Model, Shape, decode, increasing
from delama_ros.core.settings import Settings


class Phase(IntEnum):
    """Phases of one time step, in order; the settings decide which of them occur."""

    LOCAL = 0  # θ after local learning, to the neighbours (Algorithm 1)
    DISTANCE = 1  # this side's distance to each neighbour (two-sided distances only)
    START = 2  # edges, Σd and min d of every agent, flooded (global budget)
    DUAL = 3  # Σh and Σh′ of every agent, flooded in each Newton round (Algorithm 2)
    FLOOD = 4  # all distances of every agent, flooded once (global budget, exact)
    WEIGHT = 5  # w_ij to each neighbour j, to symmetrise (row budget)
    UPDATE = 6  # θ after each round of the model update (Algorithm 3)
    DONE = 7


# Hop of the last message an agent sends in a flood: it stands for all hops that follow.
LAST_HOP = 255
# Larger distances and sums are refused: their squares must stay finite.
MAX_DUAL = 1e100
MAX_SOURCES = 256  # robots behind a model, as in ModelParams.msg

# Bytes of a label's numbers, also those in lists, as ROS writes them; a text takes as many as it is
# long.
BYTES = {'step': 8, 'phase': 1, 'round': 2, 'hop': 2, 'fingerprint': 8}


@dataclass(frozen=True)
class Label:
    """What every message says of itself."""

    robot: str  # name of the sender
    step: int
    phase: int
    round: int
    fingerprint: int  # of the sender's model


@dataclass(frozen=True)
class ModelLabel(Label):
    """What comes with every model, in the order of ModelParams.msg."""

    # Id of the frame that the blocks are laid out in; '' if agents share one.
    frame: str = field(default='', kw_only=True)


@dataclass(frozen=True)
class Params(ModelLabel):
    """A model of one agent, in phase LOCAL or UPDATE."""

    model: Model


@dataclass(frozen=True)
class Dual(Label):
    """Rows (name, x, y), own and relayed; a name repeats if its agent has several rows.

    DISTANCE: name is the neighbour, x the distance. WEIGHT: name is a robot that is known, x its
    weight, y four times the epoch of its model that is used, plus 1 if that was received in an
    earlier step, or 2 if the model received is not used. START: two rows, (edges, Σd) and
    (min d, 0), or the one row (0, 0) without edges. DUAL: (Σh, Σh′). FLOOD: (d, 1) per edge, or
    (0, 0) without edges.
    """

    hop: int
    names: tuple[str, ...]
    x: Floats  # (len(names),), not negative
    y: Floats  # (len(names),), not negative


def label_of(message: Any, kind: type[Label] = Label) -> dict[str, Any]:
    """Return the fields of a label by name, from any message that has them (also a ROS one).

    Lists are returned as tuples.
    """
    values = {each.name: getattr(message, each.name) for each in fields(kind)}
    return {
        name: tuple(value) if isinstance(value, (list, array)) else value
        for name, value in values.items()
    }


Message: TypeAlias = Params | Dual


def fault(message: Message, shape: Shape, settings: Settings) -> Refused | None:
    """Return what is wrong with the form or the numbers of a message, or None; never raises."""
    numbers = (message.step, message.phase, message.round)
    if not isinstance(message.robot, str) or not all(isinstance(n, int) for n in numbers):
        return Refused(
            Refusal.MALFORMED, f'robot {message.robot!r} or step, phase, round {numbers}'
        )
    try:
        if isinstance(message, Params):
            return _params_fault(message, shape, settings)
        return _dual_fault(message, settings)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        return Refused(Refusal.MALFORMED, str(error))


def _params_fault(message: Params, shape: Shape, settings: Settings) -> Refused | None:
    if message.phase not in (Phase.LOCAL, Phase.UPDATE):
        return Refused(Refusal.UNKNOWN_PHASE, f'{message.phase} for parameters')
    if not 0 <= message.round < settings.update_rounds:
        return Refused(
            Refusal.UNKNOWN_ROUND, f'{message.round}, expected below {settings.update_rounds}'
        )
    model = message.model
    if not isinstance(message.frame, str) or len(model.epochs) > MAX_SOURCES or not all(
        isinstance(robot, str) and isinstance(epoch, int) and 0 <= epoch < 2**32
        for robot, epoch in model.epochs.items()
    ):
        return Refused(Refusal.MALFORMED, f'frame {message.frame!r} or epochs of its sources')
    if message.phase == Phase.LOCAL and not model.epochs.keys() <= {message.robot}:
        return Refused(
            Refusal.MALFORMED, f'a local model of {message.robot} with other sources as well'
        )
    count = len(model.codes)
    for name, numbers, wanted in (
        ('codes', model.codes, (count,)),
        ('theta', model.theta, (count, *shape[:2])),
        ('evidence', model.evidence, (count, shape.parts)),
    ):
        if numbers.shape != wanted:
            return Refused(Refusal.WRONG_SHAPE, f'{name} {numbers.shape}, expected {wanted}')
    if model.codes.dtype != np.int64:
        return Refused(Refusal.MALFORMED, f'codes are {model.codes.dtype}, expected int64')
    if count > settings.max_entries:
        return Refused(
            Refusal.TOO_LARGE, f'{count} blocks, expected at most {settings.max_entries}'
        )
    farthest = np.abs(decode(model.codes).astype(np.int64)).max(initial=0)
    if farthest > settings.max_index:
        return Refused(
            Refusal.UNKNOWN_BLOCK, f'index {farthest}, expected at most {settings.max_index}'
        )
    peaks = [np.abs(part).max(initial=0.0) for part in (model.theta, model.evidence)]
    largest = np.max(peaks)  # NaN if there is one
    if not np.isfinite(largest):
        return Refused(Refusal.NOT_FINITE, 'theta or evidence holds NaN or infinity')
    if largest > settings.max_value:
        return Refused(
            Refusal.ABSURD_VALUE, f'{largest:g}, expected at most {settings.max_value:g}'
        )
    if model.evidence.min(initial=0.0) < 0:
        return Refused(
            Refusal.ABSURD_VALUE, f'evidence {model.evidence.min():g}, expected 0 or more'
        )
    if not increasing(model.codes):
        return Refused(Refusal.REPEATED_KEY, 'blocks must be sorted and unique')
    return None


def _dual_fault(message: Dual, settings: Settings) -> Refused | None:
    if message.phase not in (
        Phase.DISTANCE, Phase.START, Phase.DUAL, Phase.FLOOD, Phase.WEIGHT
    ):
        return Refused(Refusal.UNKNOWN_PHASE, f'{message.phase} for dual rows')
    if not 0 <= message.round < max(1, settings.dual_rounds):
        rounds = max(1, settings.dual_rounds)
        return Refused(Refusal.UNKNOWN_ROUND, f'{message.round}, expected below {rounds}')
    if not 0 <= message.hop <= LAST_HOP:
        return Refused(Refusal.UNKNOWN_HOP, f'{message.hop}, expected 0 to {LAST_HOP}')
    count = len(message.names)
    if message.x.shape != (count,) or message.y.shape != (count,):
        return Refused(
            Refusal.WRONG_SHAPE, f'x {message.x.shape} and y {message.y.shape}, expected {(count,)}'
        )
    if count > settings.max_entries:
        return Refused(Refusal.TOO_LARGE, f'{count} rows, expected at most {settings.max_entries}')
    if not all(isinstance(name, str) for name in message.names):
        return Refused(Refusal.MALFORMED, 'names must be text')
    if not (np.isfinite(message.x).all() and np.isfinite(message.y).all()):
        return Refused(Refusal.NOT_FINITE, 'x or y holds NaN or infinity')
    if count and min(message.x.min(), message.y.min()) < 0:
        return Refused(Refusal.ABSURD_VALUE, 'x or y is negative')
    if count and max(message.x.max(), message.y.max()) > MAX_DUAL:
        return Refused(Refusal.ABSURD_VALUE, f'x or y is beyond {MAX_DUAL:g}')
    return None
