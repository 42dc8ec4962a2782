"""Recordings as episodes to train the mapping model on.

A stretch of a log is dealt out to robots and steps like a simulated run. Supervised is by the true
map where the recording holds one, otherwise by every other scan, which is kept from learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from delama_ros.data.log import Log, Reading
from delama_ros.data.prepare import limited, thinned
from delama_ros.experiments.mapping.dataset import CELLS, RESOLUTION, Episode, cut, truth_on_tiles
from delama_ros.geometry.grid import Bools, OccupancyMap
from delama_ros.mapping.scan import Keys, Marks, count_marks, scan_marks

ROBOTS, STEPS, LEAST_STEPS = 5, 12, 3
REACH = 12.0  # m up to which beams are used


def log_episodes(log: Log) -> list[Episode]:
    """Cut a log into episodes, a short log into a short one; the rest at its end is dropped."""
    kept, truth = thinned(log.readings), log.truth
    every = 1 if truth is not None else 2
    steps = min(STEPS, len(kept) // (every * ROBOTS))
    if steps < LEAST_STEPS:
        return []
    size = every * ROBOTS * steps
    out = []
    for begin in range(0, len(kept) - size + 1, size):
        learned, held = kept[begin : begin + size : every], kept[begin + 1 : begin + size : 2]
        # consecutive scans go to one robot, so that robots see different parts
        parts = [(k % steps, k // steps, *_marks(r)) for k, r in enumerate(learned)]
        truth_of = partial(_true, truth) if truth is not None else partial(_held_out, held)
        out.append(cut(parts, (steps, ROBOTS), truth_of))
    return out


def _true(truth: OccupancyMap, keys: Keys) -> tuple[Bools, int, None]:
    return (*truth_on_tiles(truth, keys), None)


def _marks(reading: Reading) -> tuple[Keys, Marks]:
    return scan_marks(
        limited(reading.scan, REACH), reading.pose, resolution=RESOLUTION, tile_cells=CELLS
    )


def _held_out(readings: Sequence[Reading], keys: Keys) -> tuple[Bools, int, Bools]:
    """Return walls on tiles as scans that nobody learns from see them, and what these know."""
    seen, counts = count_marks([_marks(reading) for reading in readings])
    place = {tuple(key): n for n, key in enumerate(seen.tolist())}
    at = [place.get(tuple(key), -1) for key in keys.tolist()]
    padded = np.concatenate([counts, np.zeros_like(counts[:1])])  # -1: none of them looked there
    passed, hit, behind, deeper = (padded[at, kind].astype(np.int64) for kind in range(4))
    solid = hit + behind + deeper
    return solid > passed, 0, (solid > 0) | (passed > 0)
