"""A trained mapping model as a checkpoint that a robot reads with numpy alone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.core import checkpoint
from delama_ros.core.array_file import check_arrays
from delama_ros.core.settings import Settings
from delama_ros.mapping.scan import KINDS
from delama_ros.mapping.tiles import PARTS, TileModel

TASK = 'mapping'
SHAPES: dict[str, tuple[int | str, ...]] = {
    'table': ('K', 'S', 'S'), 'weights': (KINDS,), 'targets': (KINDS,), 'bias': (),
    'resolution': (),
}


@dataclass(frozen=True)
class Checkpoint:
    """What all robots of a swarm must share: tile features and the coefficients of DeLAMA."""

    model: TileModel
    settings: Settings
    made: dict[str, Any] = field(default_factory=dict)  # how: command, seed, data, scores

    @property
    def fingerprint(self) -> int:
        """64 bits that differ as soon as anything differs that peers must agree on."""
        # Not that of the file it is stored in: messages and saved memories hold this one.
        numbers = {'settings': asdict(self.settings), **self._options()}
        digest = hashlib.sha256(json.dumps(numbers, sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self.model.table, '<f8').tobytes())
        return int.from_bytes(digest.digest()[:8], 'big')

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all, to a path that gets the suffix `.npz`."""
        arrays = {'table': self.model.table.astype(np.float32)}
        checkpoint.Checkpoint(TASK, self.settings, arrays, self._options(), self.made).save(path)

    def _options(self) -> dict[str, Any]:
        return {
            'weights': self.model.weights.tolist(),
            'targets': self.model.targets.tolist(),
            'bias': self.model.bias,
            'resolution': self.model.resolution,
        }


def load(path: str | Path) -> Checkpoint:
    """Read a mapping model.

    Args:
        path: of the file, with or without its suffix `.npz`.

    Returns:
        The model and its settings.

    Raises:
        ValueError: if the file is missing, damaged or no mapping model.
    """
    stored = checkpoint.load(path, task=TASK)
    try:
        table, options = stored.arrays['table'], stored.options
        numbers = {
            name: np.array(options[name]) for name in ('weights', 'targets', 'bias', 'resolution')
        }
        check_arrays({'table': table, **numbers}, SHAPES)
        if not numbers['resolution'] > 0:
            raise ValueError(f'resolution is {numbers["resolution"]} m, expected more than 0')
        if not table.size or table.shape[1] % PARTS:
            raise ValueError(f'table has shape {table.shape}, expected a multiple of {PARTS} cells')
        model = TileModel(
            table.astype(np.float64),
            numbers['weights'].astype(np.float64),
            numbers['targets'].astype(np.float64),
            float(numbers['bias']),
            float(numbers['resolution']),
        )
    except KeyError as error:
        raise ValueError(f'{path}: not a mapping model: {error} is missing') from None
    except ValueError as error:
        raise ValueError(f'{path}: not a mapping model: {error}') from None
    return Checkpoint(model, stored.settings, dict(stored.made))
