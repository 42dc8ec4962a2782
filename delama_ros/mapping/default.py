"""The mapper a robot runs: features and coefficients from the checkpoint in the package."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from delama_ros.core.distances import Distance, Overlap, by_name
from delama_ros.core.settings import Settings
from delama_ros.mapping.checkpoint import Checkpoint, load
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.tile_agent import TileAgent
from delama_ros.mapping.tiles import TileModel, hat_table

PACKAGED = Path(__file__).parent.parent / 'checkpoints' / 'mapping.npz'

COARSE = 3  # cells of the model along a cell on which maps are compared
GATE = 0.75  # distance beyond which two maps are of different places
# A weak λ1 in the coupled solve, or what neighbours know would be pulled to the prior; the memory
# is a sum, so that λ1 loses its say as evidence grows.
SETTINGS = Settings(
    accumulate='sum',
    lambda1_local=0.05,
    lambda1_coupled=0.01,
    lambda2=1.0,
    lambda3=1.0,
    distance='overlap',
    null_edge=None,
    update_rounds=3,
    momentum=0.0,
    warm_start=True,
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


def map_distance(checkpoint: Checkpoint) -> Distance:
    """Return the distance between maps that the checkpoint's settings name."""
    if checkpoint.settings.distance != 'overlap':
        return by_name(checkpoint.settings.distance)
    model = checkpoint.model
    # Whether two maps agree shows on coarser cells too, at a ninth of the cost.
    size = model.cells // COARSE
    coarse = model.table.reshape(-1, size, COARSE, size, COARSE).mean((2, 4))
    return Overlap(coarse.reshape(len(coarse), -1).T, model.bias, gate=GATE)


def make_mapper(robot: str, checkpoint: Checkpoint, **changes: object) -> Mapper:
    """Return a mapper for one robot; changes replace single settings of the checkpoint."""
    settings = replace(checkpoint.settings, **changes)  # type: ignore[arg-type]
    used = replace(checkpoint, settings=settings)
    agent = TileAgent(
        robot,
        settings,
        fingerprint=used.fingerprint,
        shape=(len(used.model.table), 1),
        distance=map_distance(used),
    )
    return Mapper(agent, used.model)


def default_mapper(robot: str, checkpoint: str | Path | None = None) -> Mapper:
    """Return a mapper for one robot from a checkpoint file, by default the packaged one."""
    return make_mapper(robot, packaged() if checkpoint is None else load(checkpoint))
