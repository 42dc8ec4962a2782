"""The mapper that robots run: features and coefficients from a checkpoint of the package."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from delama_ros.core.agent.agent import Agent
from delama_ros.core.blocks import Shape
from delama_ros.core.distances import Distance, Overlap, by_name
from delama_ros.core.settings import Settings
from delama_ros.mapping.checkpoint import Checkpoint, load
from delama_ros.mapping.fusion import Fusion
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.tiles import FIRM, PARTS

PACKAGED = Path(__file__).parent.parent / 'checkpoints' / 'mapping.npz'

# The memory is a sum, so that the influence of λ1 shrinks as evidence grows. Each neighbour has a
# budget of its own, so that all its evidence counts; further rounds only relay models.
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


@lru_cache(maxsize=4)
def packaged(path: Path = PACKAGED) -> Checkpoint:
    """Return the mapping model that comes with the package, or another at a path."""
    return load(path)


def find(checkpoint: str | Path | None) -> Checkpoint:
    """Return a checkpoint.

    Args:
        checkpoint: a file, or the name of one in the package; None: the default of the package.

    Raises:
        ValueError: if the file is missing, damaged or no mapping model.
    """
    if checkpoint is None:
        return packaged()
    inside = PACKAGED.parent / f'{Path(checkpoint).name}.npz'
    is_name = Path(checkpoint).name == str(checkpoint) and inside.exists()
    return packaged(inside) if is_name else load(checkpoint)


def map_distance(checkpoint: Checkpoint) -> Distance:
    """Return the distance between maps that the checkpoint's settings name.

    It has no gate: `trust` decides whose maps are wrong.
    """
    if checkpoint.settings.distance != 'overlap':
        return by_name(checkpoint.settings.distance)
    model = checkpoint.model
    return Overlap(model.part_table, model.bias, gate=math.inf, looked=FIRM)


def make_mapper(robot: str, checkpoint: Checkpoint, **changes: object) -> Mapper:
    """Return a mapper for one robot.

    Args:
        robot: name of the robot, unique in the swarm.
        checkpoint: the model that all robots share.
        changes: settings of the checkpoint to replace; all robots must have the same.
    """
    settings = replace(checkpoint.settings, **changes)  # type: ignore[arg-type]
    used = replace(checkpoint, settings=settings)
    shape = Shape(len(used.model.table), 1, PARTS**2)
    fusion = Fusion(shape, settings, used.model)
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
    robot: str, checkpoint: str | Path | None = None, *, retention: float = 1.0
) -> Mapper:
    """Return a mapper for one robot.

    Args:
        robot: name of the robot, unique in the swarm.
        checkpoint: a file, or the name of one in the package; None: the default of the package.
        retention: share of the memory kept per step; below 1 for worlds that change.

    Raises:
        ValueError: if the checkpoint cannot be read or retention is not in [0, 1].
    """
    used = find(checkpoint)
    if retention == 1:
        return make_mapper(robot, used)
    return make_mapper(robot, used, accumulate='forget', forget=retention)
