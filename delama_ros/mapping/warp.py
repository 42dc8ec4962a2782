"""Maps in other frames: what a model says about the tiles of a frame that is turned or shifted.

θ of a tile means nothing in a frame that is turned, or shifted by part of a tile. What can be
carried over are the cells: the logit of the other map where a cell of this frame lies in it,
weighted by the evidence there, is data about this frame's tile like the marks of a scan. Robots
that have found each other's frames see each other's maps this way until their models are laid out
in one frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from delama_ros.core.backend import factor, solve
from delama_ros.core.blocks import Codes, Floats, Model, decode, encode, places, union
from delama_ros.geometry.grid import Pose
from delama_ros.geometry.pose_math import transform
from delama_ros.geometry.poses import as_pose, inverse
from delama_ros.mapping.tiles import PARTS, TileModel, part_means

CHUNK = 256  # tiles that are resampled at once
LEAST = 1e-9  # evidence of a cell that says nothing


class Statistics(NamedTuple):
    """What a map says about tiles of some frame, in the form of data."""

    codes: Codes  # (n,), sorted and unique
    H: Floats  # (n, K, K)
    r: Floats  # (n, K, 1)
    evidence: Floats  # (n, P)


def warp(model: Model, tile: TileModel, shift: Pose) -> Statistics:
    """Return what a model says about the tiles of another frame.

    Args:
        model: of the tiles that are known.
        tile: what it means.
        shift: pose of the model's frame in the other one.
    """
    size, edge = tile.cells, tile.cells * tile.resolution
    values = tile.deviations(model.theta)  # (n, S, S)
    block = size // PARTS
    weights = model.evidence.reshape(-1, PARTS, PARTS).repeat(block, 1).repeat(block, 2)
    inner = (np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1) + 0.5) * tile.resolution
    inner = inner.reshape(-1, 2)  # (S², 2), row by row
    known = (decode(model.codes) * edge)[:, None] + inner
    there = np.floor(transform(shift, known[weights.reshape(-1, size**2) > LEAST]) / edge)
    codes = np.unique(encode(there.astype(np.int64)))
    back = as_pose(inverse(shift))
    found = []
    for begin in range(0, max(len(codes), 1), CHUNK):  # bounds the memory
        some = decode(codes[begin : begin + CHUNK])
        wanted = transform(back, (some * edge)[:, None] + inner)
        value, weight = _sampled(model.codes, values, weights, wanted / tile.resolution - 0.5)
        H, r, evidence = tile.least_squares(weight, weight * value)
        # What is known must not spread: a part that the map hardly reaches stays unknown.
        covered = part_means((weight > LEAST).astype(np.float64).reshape(-1, size, size))
        found.append((H, r, np.where(covered >= 0.5, evidence, 0.0)))
    return Statistics(codes, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def merged(model: Model, others: Sequence[Statistics], tile: TileModel, ridge: float) -> Model:
    """Return a model together with what others say in its frame.

    Args:
        model: stays as it is in tiles of which others know nothing.
        others: as `warp` returns them. Data that the model already holds, such as that of a peer
            which has just left this frame for another one, counts twice.
        tile: what the model means.
        ridge: added to the diagonal of each tile's normal equations.
    """
    codes = union(model.codes, *(other.codes for other in others))
    theta, evidence = (part.copy() for part in model.on(codes))
    touched = np.unique(np.concatenate([other.codes for other in others])) if others else codes[:0]
    at = places(codes, touched)
    # M of the evidence stands for the Hessian of the model's data, as in fusion.
    matrices = tile.part_matrices
    H = (evidence[at] @ matrices.reshape(len(matrices), -1)).reshape(-1, *matrices.shape[1:])
    r = H @ theta[at]
    for other in others:
        here = places(touched, other.codes)
        H[here] += other.H
        r[here] += other.r
        evidence[places(codes, other.codes)] += other.evidence
    theta[at] = solve(factor(H, ridge), r)
    return Model(codes, theta, evidence, model.epochs)


def _sampled(
    codes: Codes, values: Floats, weights: Floats, at: Floats
) -> tuple[Floats, Floats]:
    """Interpolate between the cells of tiles, by their weights.

    Args:
        codes: (n,), of the tiles.
        values: (n, S, S).
        weights: (n, S, S).
        at: (..., 2), column and row in cells.

    Returns:
        Values and weights (...); both are zero where nothing is known.
    """
    size = values.shape[-1]
    low = np.floor(at).astype(np.int64)
    part = at - low
    total, sums = np.zeros(at.shape[:-1]), np.zeros(at.shape[:-1])
    for dx in (0, 1):
        for dy in (0, 1):
            cell = low + np.array([dx, dy])
            key = cell // size
            wanted = encode(key.reshape(-1, 2)).reshape(key.shape[:-1])
            place = np.searchsorted(codes[:-1], wanted)
            column, row = np.moveaxis(cell - key * size, -1, 0)
            near = np.abs(1.0 - dx - part[..., 0]) * np.abs(1.0 - dy - part[..., 1])
            weight = near * weights[place, row, column] * (codes[place] == wanted)
            total += weight
            sums += weight * values[place, row, column]
    return sums / np.maximum(total, LEAST), total
