"""The mapper a robot runs: features and coefficients from the checkpoint in the package."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from delama_ros.core.agent import Agent
from delama_ros.core.blocks import Shape
from delama_ros.core.distances import Distance, Overlap, by_name
from delama_ros.core.settings import Settings
from delama_ros.mapping.checkpoint import Checkpoint, load
from delama_ros.mapping.fusion import Fusion
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.tiles import FIRM, PARTS, TileModel, hat_table

PACKAGED = Path(__file__).parent.parent / 'checkpoints' / 'mapping.npz'

GATE = 0.62  # distance beyond which two maps are of different places
# The memory is a sum, so that λ1 loses its say as evidence grows. Every neighbour may bring in all
# its evidence, so each has a budget of its own; a second round only where models are passed on.
SETTINGS = Settings(
    accumulate='sum',
    forget_floor=0.04,
    lambda1_local=0.05,
    lambda1_coupled=0.05,
    lambda2=1.0,
    lambda3=1.0,
    distance='overlap',
    budget='edge',
    null_edge=None,
    update_rounds=4,
    momentum=0.0,
)


def untrained() -> Checkpoint:
    """Return features that need no training: what learning starts from and is compared with."""
    weights = np.array([0.04, 0.4, 0.2, 0.2, 0.15])
    targets = np.array([-1.4, 3.7, 3.7, 3.7, 3.7])
    return Checkpoint(TileModel(hat_table(), weights, targets, -1.0), SETTINGS)


@lru_cache(maxsize=4)
def packaged(path: Path = PACKAGED) -> Checkpoint:
    """Return the checkpoint that comes with the package."""
    return load(path)


def find(checkpoint: str | Path | None) -> Checkpoint:
    """Return a checkpoint from a file, or one of the package by its name; None: the default."""
    if checkpoint is None:
        return packaged()
    inside = PACKAGED.parent / f'{Path(checkpoint).name}.npz'
    is_name = Path(checkpoint).name == str(checkpoint) and inside.exists()
    return packaged(inside) if is_name else load(checkpoint)


def map_distance(checkpoint: Checkpoint) -> Distance:
    """Return the distance between maps that the checkpoint's settings name."""
    if checkpoint.settings.distance != 'overlap':
        return by_name(checkpoint.settings.distance)
    model = checkpoint.model
    return Overlap(model.part_table, model.bias, gate=GATE, looked=FIRM)


def make_mapper(robot: str, checkpoint: Checkpoint, **changes: object) -> Mapper:
    """Return a mapper for one robot; changes replace single settings of the checkpoint."""
    settings = replace(checkpoint.settings, **changes)  # type: ignore[arg-type]
    used = replace(checkpoint, settings=settings)
    shape = Shape(len(used.model.table), 1, PARTS**2)
    fusion = Fusion(shape, settings, used.model.part_matrices)
    agent = Agent(
        robot,
        settings,
        fingerprint=used.fingerprint,
        shape=shape,
        distance=map_distance(used),
        refinement=fusion,
    )
    return Mapper(agent, fusion, used.model)


def default_mapper(
    robot: str, checkpoint: str | Path | None = None, *, keep: float = 1.0
) -> Mapper:
    """Return a mapper for one robot from a checkpoint, as `find` finds it.

    keep: share of the memory that is kept from step to step, for worlds that change.
    """
    used = find(checkpoint)
    if keep == 1:
        return make_mapper(robot, used)
    return make_mapper(robot, used, accumulate='forget', forget=keep)
