"""Which free space of a map can be believed: what beams have passed, and what can be reached.

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
from delama_ros.mapping.evidence import Keys
from delama_sim.grid import UNKNOWN, Bools, Cells


class CellMarks:
    """A bit for each cell of some tiles; of fixed size per tile, however much was seen."""

    def __init__(self, cells: int) -> None:
        """Begin with nothing, for tiles of cells × cells."""
        self._codes: Codes = np.zeros(0, np.int64)
        self._masks: Bools = np.zeros((0, cells, cells), np.bool_)

    def add(self, keys: Keys, marked: Bools) -> None:
        """Mark cells (n, S, S) of some tiles."""
        codes = union(self._codes, encode(keys))
        masks = np.zeros((len(codes), *self._masks.shape[1:]), np.bool_)
        masks[np.searchsorted(codes, self._codes)] = self._masks
        masks[np.searchsorted(codes, encode(keys))] |= marked
        self._codes, self._masks = codes, masks

    def on(self, keys: Keys) -> Bools:
        """Return the marks of these tiles, (n, S, S)."""
        wanted = encode(keys)
        own = np.isin(wanted, self._codes)
        masks = np.zeros((len(keys), *self._masks.shape[1:]), np.bool_)
        masks[own] = self._masks[np.searchsorted(self._codes, wanted[own])]
        return masks

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays from which `restore` goes on."""
        return {'passed_keys': keys_of(self._codes), 'passed': np.packbits(self._masks, axis=-1)}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned."""
        self._codes = encode(state['passed_keys'])
        size = self._masks.shape[-1]
        self._masks = np.unpackbits(state['passed'], axis=-1, count=size).astype(np.bool_)


def hide_unreached(cells: Cells, passed: Bools, margin: int) -> Cells:
    """Return the grid with UNKNOWN for free space that cannot be reached; (rows, columns).

    passed: where the robot's own beams went. Free space that neighbours speak of counts if one can
    get there from such a place with `margin` cells of room on each side: what lies behind walls
    cannot be reached, even if the walls as drawn have small gaps.
    """
    free = (cells >= 0) & (cells < 50)
    roomy = ~ndimage.binary_dilation(~free, iterations=margin, border_value=0)
    regions, _ = ndimage.label(roomy)
    reached = np.isin(regions, np.unique(regions[roomy & passed])) & roomy
    believed = passed | ndimage.binary_dilation(reached, iterations=margin)
    return np.where(free & ~believed, UNKNOWN, cells).astype(np.int8)
