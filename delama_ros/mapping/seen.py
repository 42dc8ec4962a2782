"""What of a map rests on evidence, so that the rest can be called unknown.

A linear model says something of every cell of a tile, also of those behind a wall that nobody has
ever looked at. Publishing these as free would be wrong, and dangerous for whoever plans on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from delama_ros.core.blocks import Codes, encode, union
from delama_ros.core.blocks import decode as keys_of
from delama_ros.mapping.evidence import Keys, Marks
from delama_sim.grid import UNKNOWN, Bools, Cells


class Seen:
    """Cells that a robot has evidence of itself, a bit each: of fixed size per tile."""

    def __init__(self, cells: int) -> None:
        """Begin with nothing, for tiles of cells × cells."""
        self._codes: Codes = np.zeros(0, np.int64)
        self._masks: Bools = np.zeros((0, cells, cells), np.bool_)

    def add(self, keys: Keys, marks: Marks) -> None:
        """Take in the marks (n, S, S) of a scan."""
        codes = union(self._codes, encode(keys))
        masks = np.zeros((len(codes), *self._masks.shape[1:]), np.bool_)
        masks[np.searchsorted(codes, self._codes)] = self._masks
        masks[np.searchsorted(codes, encode(keys))] |= marks > 0
        self._codes, self._masks = codes, masks

    def on(self, keys: Keys) -> tuple[Bools, Bools]:
        """Return which of these tiles the robot has seen itself (n,), and what of them (n, S, S)."""
        wanted = encode(keys)
        own = np.isin(wanted, self._codes)
        masks = np.zeros((len(keys), *self._masks.shape[1:]), np.bool_)
        masks[own] = self._masks[np.searchsorted(self._codes, wanted[own])]
        return own, masks

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays from which `restore` goes on."""
        return {'seen_keys': keys_of(self._codes), 'seen': np.packbits(self._masks, axis=-1)}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned."""
        self._codes = encode(state['seen_keys'])
        size = self._masks.shape[-1]
        self._masks = np.unpackbits(state['seen'], axis=-1, count=size).astype(np.bool_)


def hide_unseen(cells: Cells, own: Bools, seen: Bools) -> Cells:
    """Return the grid with UNKNOWN where nothing supports it; all are (rows, columns).

    own: cells of tiles the robot has been in itself; seen: those it has evidence of. In tiles that
    only neighbours know, free space counts if one can get there from what the robot has seen: what
    lies behind walls cannot be reached.
    """
    shown = np.where(own & ~seen, UNKNOWN, cells).astype(np.int8)
    free = (shown >= 0) & (shown < 50)
    if (free & seen).any():
        regions, _ = ndimage.label(free)
        reached = np.unique(regions[free & seen])
        shown[free & ~own & ~np.isin(regions, reached)] = UNKNOWN
    return shown
