"""Edits of plans before use, as in the paper: thicker walls, no clutter, added blocks."""

from __future__ import annotations

import math

import numpy as np
from scipy import ndimage

from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, Bools, OccupancyMap


def thicken_walls(plan: OccupancyMap, metres: float) -> OccupancyMap:
    """Grow everything occupied by `metres` on every side."""
    if metres < 0:
        raise ValueError(f'walls cannot be thickened by {metres} m, expected 0 or more')
    reach = metres / plan.resolution + 1e-6
    if reach < 1 or not plan.solid.any():
        return plan
    span = math.floor(reach)
    y, x = np.mgrid[-span : span + 1, -span : span + 1]
    grown = ndimage.binary_dilation(plan.solid, structure=np.hypot(x, y) <= reach)
    return plan.with_cells(np.where(grown, OCCUPIED, plan.cells).astype(np.int8))


def drop_small(plan: OccupancyMap, square_metres: float) -> OccupancyMap:
    """Remove free-standing structures smaller than an area; what surrounded them takes over."""
    labels, count = ndimage.label(plan.solid, structure=np.ones((3, 3)))
    areas = np.bincount(labels.ravel(), minlength=count + 1) * plan.resolution**2
    small = (areas < square_metres)[labels] & plan.solid
    touches_free = ndimage.maximum(
        ndimage.binary_dilation(plan.free, structure=np.ones((3, 3))), labels, np.arange(count + 1)
    )
    filling = np.where(np.asarray(touches_free)[labels], FREE, UNKNOWN)
    return plan.with_cells(np.where(small, filling, plan.cells).astype(np.int8))


def add_blocks(
    plan: OccupancyMap, count: int, rng: np.random.Generator, *, passage: float = 0.45
) -> OccupancyMap:
    """Put `count` furniture-like blocks (0.4-1.6 m) on free space without cutting anything off.

    A block is refused if it would split the space a robot `passage` metres wide can move in, or
    shrink that space by more than 15 %; blocks that find no place in 30 tries are left out.
    """
    cells = plan.cells.copy()
    half = max(1, round(passage / 2 / plan.resolution))
    roomy = _roomy(cells == FREE, half)
    before = _largest(roomy)
    free_rows, free_cols = np.nonzero(cells == FREE)
    if not len(free_rows):
        return plan
    for _ in range(count):
        for _ in range(30):
            short, long = rng.uniform(0.4, 0.9), rng.uniform(0.5, 1.6)
            height, width = (short, long) if rng.random() < 0.5 else (long, short)
            h, w = (max(1, round(v / plan.resolution)) for v in (height, width))
            pick = rng.integers(len(free_rows))
            top, left = free_rows[pick] - h // 2, free_cols[pick] - w // 2
            if top < 0 or left < 0 or top + h > cells.shape[0] or left + w > cells.shape[1]:
                continue
            spot = cells[top : top + h, left : left + w]
            if not (spot == FREE).all():
                continue
            spot[:] = OCCUPIED
            roomy = _roomy(cells == FREE, half)
            after = _largest(roomy)
            # what is left must be one piece: nothing roomy outside it that was inside before
            if after.sum() >= 0.85 * before.sum() and not (roomy & before & ~after).any():
                before = after
                break
            spot[:] = FREE
    return plan.with_cells(cells)


def crop(plan: OccupancyMap, margin: float = 0.5) -> OccupancyMap:
    """Cut away unknown surroundings, leaving a margin in metres."""
    known = plan.cells != UNKNOWN
    if not known.any():
        return plan
    rows, cols = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
    extra = round(margin / plan.resolution)
    cells = np.pad(
        plan.cells[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1],
        extra,
        constant_values=UNKNOWN,
    )
    x, y = plan.to_world((cols[0] - extra, rows[0] - extra))
    return OccupancyMap(cells, plan.resolution, (float(x), float(y), plan.origin[2]))


def _roomy(free: Bools, half: int) -> Bools:
    """Cells whose square neighbourhood of `half` cells each way is free: sliding minimum."""
    result: Bools = ndimage.minimum_filter(free.view(np.uint8), 2 * half + 1, cval=0) > 0
    return result


def _largest(mask: Bools) -> Bools:
    labels, count = ndimage.label(mask)
    if count == 0:
        return mask
    result: Bools = labels == 1 + np.argmax(np.bincount(labels.ravel())[1:])
    return result
