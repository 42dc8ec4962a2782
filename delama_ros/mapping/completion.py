"""Completed maps: a network trained on many flats continues walls and closes gaps.

Completion is presentation, not memory: robots exchange the linear model only, and the map that they
publish holds what a robot has seen. The completed map is a separate one, in which guesses look like
guesses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from delama_ros.core import checkpoint
from delama_ros.core.array_file import check_arrays
from delama_ros.core.settings import Settings
from delama_ros.geometry.grid import Bools, OccupancyMap
from delama_ros.mapping import unet
from delama_ros.mapping.scan import Floats, Keys
from delama_ros.mapping.tiles import FIRM, LOOKED, PARTS, TileModel, assemble

PACKAGED = Path(__file__).parent.parent / 'checkpoints' / 'decoder.npz'
TASK = 'decoder'
POOL = 2  # cells of the model along a cell of the completed map
MARGIN = 8  # cells around the known map that are completed
NEAR = 0.5  # m from evidence beyond which everything is a guess
CHANNELS = 3 + POOL**2
PIECE = 256  # cells along the edge of the pieces that a large map is completed in
GUESS = 0.4  # certainty of a guess relative to what was seen

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class View:
    """The input of the network, on cells of twice the model's size."""

    channels: Singles  # (CHANNELS, rows, columns)
    logits: Singles  # (rows, columns), of the linear model
    seen: Bools  # (rows, columns)
    corner: tuple[int, int]  # cells (column, row) from the frame's origin to the first one


@dataclass(frozen=True)
class Decoder:
    """A trained network."""

    weights: dict[str, Singles]
    made: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unet.check(self.weights, CHANNELS)

    def logits(self, view: View) -> Singles:
        """Return the logit of each cell of a view: the linear model's plus a correction."""
        rows, columns = view.logits.shape
        if max(rows, columns) <= PIECE + 2 * unet.REACH:
            total: Singles = view.logits + self._run(view.channels)
            return total
        # In pieces: memory is bounded, and what is far from all that was seen costs nothing.
        nothing = np.zeros((CHANNELS, *2 * (2 * unet.REACH + unet.MULTIPLE,)), np.float32)
        total = view.logits + self._run(nothing)[unet.REACH, unet.REACH]
        for top in range(0, rows, PIECE):
            for left in range(0, columns, PIECE):
                first = max(top - unet.REACH, 0), max(left - unet.REACH, 0)
                last = top + PIECE + unet.REACH, left + PIECE + unet.REACH
                around = slice(first[0], last[0]), slice(first[1], last[1])
                if not view.seen[around].any():
                    continue
                here = slice(top, top + PIECE), slice(left, left + PIECE)
                inside = slice(top - first[0], top - first[0] + PIECE), slice(
                    left - first[1], left - first[1] + PIECE
                )
                added = self._run(view.channels[:, *around])
                total[here] = view.logits[here] + added[inside]
        return total

    def _run(self, channels: Singles) -> Singles:
        added: Singles = unet.run(unet.Numpy(), self.weights, channels[None])[0, 0]
        return added

    def complete(self, view: View, resolution: float) -> OccupancyMap:
        """Draw the completed map.

        Args:
            view: the input of the network, as `view` makes it of tiles.
            resolution: m per cell of the tiles; the cells drawn are twice as large.

        Returns:
            Occupancy 0..100, nearer to 50 where it is a guess; nothing is unknown.
        """
        cell = POOL * resolution
        certainty = 1.0 / (1.0 + np.exp(-self.logits(view))) - 0.5
        guessed = ndimage.distance_transform_edt(~view.seen) * cell > NEAR
        percent = np.rint(50 + 100 * certainty * np.where(guessed, GUESS, 1.0)).astype(np.int8)
        column, row = view.corner
        return OccupancyMap(percent, cell, (column * cell, row * cell, 0.0))

    def save(self, path: str | Path) -> None:
        """Write the file in half precision, whole or not at all, to a path that gets `.npz`."""
        halves = {name: value.astype(np.float16) for name, value in self.weights.items()}
        checkpoint.Checkpoint(TASK, Settings(), halves, made=self.made).save(path)


def load(path: str | Path) -> Decoder:
    """Read a decoder.

    Raises:
        ValueError: if the file is missing, damaged or no decoder.
    """
    stored = checkpoint.load(path, task=TASK)
    try:
        check_arrays(stored.arrays, {name: a.shape for name, a in stored.arrays.items()})
        weights = {name: value.astype(np.float32) for name, value in stored.arrays.items()}
        return Decoder(weights, dict(stored.made))
    except ValueError as error:
        raise ValueError(f'{path}: not a decoder: {error}') from None


@lru_cache(maxsize=2)
def packaged(path: Path = PACKAGED) -> Decoder:
    """Return the decoder that comes with the package, or another at a path."""
    return load(path)


def view(model: TileModel, keys: Keys, theta: Floats, evidence: Floats) -> View:
    """Return the network's input for tiles with θ (n, K, 1) and evidence (n, P)."""
    return view_of(keys, model.deviations(theta), evidence, model.bias)


def view_of(keys: Keys, deviations: Floats, evidence: Floats, bias: float) -> View:
    """Return the network's input for tiles given by the deviation of their logits (n, S, S)."""
    cells = deviations.shape[-1]
    size = cells // PARTS
    looked = evidence.reshape(-1, PARTS, PARTS).repeat(size, 1).repeat(size, 2)
    fine = _framed(assemble(keys, deviations.astype(np.float32), np.float32(0)))
    weight = _framed(assemble(keys, looked.astype(np.float32), np.float32(0)))
    rows, columns = fine.shape[0] // POOL, fine.shape[1] // POOL
    quarters = fine.reshape(rows, POOL, columns, POOL).transpose(1, 3, 0, 2)
    blocks = quarters.reshape(POOL**2, rows, columns)
    heavy = weight.reshape(rows, POOL, columns, POOL).mean((1, 3))
    seen = heavy >= LOOKED
    logits = np.where(seen, bias + blocks, bias)
    occupied = (1.0 / (1.0 + np.exp(-logits))).mean(0).clip(1e-4, 1 - 1e-4)
    joined = np.log(occupied / (1 - occupied)).astype(np.float32)
    channels = np.concatenate([
        np.tanh(0.25 * logits) * seen,
        (occupied * seen)[None],
        seen[None].astype(np.float32),
        np.log1p(heavy / FIRM)[None] * 0.2,
    ]).astype(np.float32)
    low = keys.min(0) if len(keys) else np.zeros(2, np.int32)
    column, row = (int(n) * cells // POOL - MARGIN for n in low)
    return View(channels, joined, seen, (column, row))


def _framed(cells: Singles) -> Singles:
    """Pad by the margin, and up to sizes that the network can halve."""
    edge = POOL * MARGIN
    extra = [-(n + 2 * edge) % (POOL * unet.MULTIPLE) for n in cells.shape]
    return np.pad(cells, ((edge, edge + extra[0]), (edge, edge + extra[1])))
