"""A guess at the rest of a map: walls continued, gaps closed, by a network that knows many flats.

It is presentation, not memory: robots exchange the linear model only, and what they publish as
their map stays what somebody has seen. The completed map is a separate one, in which guesses look
like guesses.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from delama_ros.mapping import unet
from delama_ros.mapping.evidence import Floats, Keys
from delama_ros.mapping.tiles import FIRM, LOOKED, PARTS, TileModel, assemble
from delama_sim.grid import Bools, OccupancyMap
from delama_sim.map_file import write_whole

PACKAGED = Path(__file__).parent.parent / 'checkpoints' / 'decoder.npz'
FORMAT = 'delama decoder 1'
POOL = 2  # cells of the model along a cell of the completed map
MARGIN = 8  # cells around what is known that are guessed at
NEAR = 0.5  # m from evidence beyond which everything is a guess
CHANNELS = 3 + POOL**2
GUESS = 0.4  # share of certainty that is left to guesses, so that they look like ones

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class View:
    """A map as the network sees it, on cells of twice the model's size."""

    channels: Singles  # (CHANNELS, rows, columns)
    logits: Singles  # (rows, columns), as the linear model has them
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
        """Return the logit of each cell: that of the linear model and what the network adds."""
        added = unet.run(unet.Numpy(), self.weights, view.channels[None])
        total: Singles = view.logits + added[0, 0]
        return total

    def complete(self, view: View, resolution: float) -> OccupancyMap:
        """Draw the completed map: 0..100, nearer to 50 where it is a guess; nothing is unknown."""
        cell = POOL * resolution
        certainty = 1.0 / (1.0 + np.exp(-self.logits(view))) - 0.5
        guessed = ndimage.distance_transform_edt(~view.seen) * cell > NEAR
        percent = np.rint(50 + 100 * certainty * np.where(guessed, GUESS, 1.0)).astype(np.int8)
        column, row = view.corner
        return OccupancyMap(percent, cell, (column * cell, row * cell, 0.0))

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all; half precision is ample."""
        header = json.dumps({'format': FORMAT, 'made': self.made})
        halves: dict[str, Any] = {k: v.astype(np.float16) for k, v in self.weights.items()}
        write_whole(
            Path(path), lambda file: np.savez_compressed(file, header=header, **halves)
        )


def load(path: str | Path) -> Decoder:
    """Read a decoder; ValueError says what is wrong with a file that is none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file['header']))
            weights = {k: file[k].astype(np.float32) for k in file.files if k != 'header'}
        if header.get('format') != FORMAT:
            raise ValueError(f'format is {header.get("format")!r}, expected {FORMAT!r}')
        return Decoder(weights, header['made'])
    except FileNotFoundError:
        raise ValueError(f'{path}: there is no such decoder') from None
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f'{path}: is not a decoder: {error}') from None


@lru_cache(maxsize=2)
def packaged(path: Path = PACKAGED) -> Decoder:
    """Return the decoder that comes with the package."""
    return load(path)


def view(model: TileModel, keys: Keys, theta: Floats, evidence: Floats) -> View:
    """Prepare a map of tiles for the network: θ (n, K, 1), evidence (n, P)."""
    return view_of(keys, model.deviations(theta), evidence, model.bias)


def view_of(keys: Keys, deviations: Floats, evidence: Floats, bias: float) -> View:
    """Prepare any map cut into tiles: deviations of logits from the bias (n, S, S)."""
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
    """Add the margin, and what makes both edges multiples that the network can halve."""
    edge = POOL * MARGIN
    extra = [-(n + 2 * edge) % (POOL * unet.MULTIPLE) for n in cells.shape]
    return np.pad(cells, ((edge, edge + extra[0]), (edge, edge + extra[1])))
