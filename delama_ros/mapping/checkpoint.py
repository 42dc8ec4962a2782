"""A trained mapping model as one file that a robot reads with numpy alone."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.core.settings import Settings
from delama_ros.mapping.tiles import TileModel
from delama_sim.map_file import write_whole

FORMAT = 'delama mapping 1'


@dataclass(frozen=True)
class Checkpoint:
    """What all robots of a swarm must share: tile features and the coefficients of DeLAMA."""

    model: TileModel
    settings: Settings
    made: dict[str, Any] = field(default_factory=dict)  # how: command, seed, data, scores

    @property
    def fingerprint(self) -> int:
        """64 bits that differ as soon as anything differs that peers must agree on."""
        digest = hashlib.sha256(json.dumps(self._numbers(), sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self.model.table, '<f8').tobytes())
        return int.from_bytes(digest.digest()[:8], 'big')

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        header = json.dumps({'format': FORMAT, **self._numbers(), 'made': self.made})
        table = self.model.table.astype(np.float32)
        write_whole(
            Path(path), lambda file: np.savez_compressed(file, header=header, table=table)
        )

    def _numbers(self) -> dict[str, Any]:
        return {
            'settings': asdict(self.settings),
            'weights': self.model.weights.tolist(),
            'targets': self.model.targets.tolist(),
            'bias': self.model.bias,
            'resolution': self.model.resolution,
        }


def load(path: str | Path) -> Checkpoint:
    """Read a checkpoint; ValueError says what is wrong with a file that is none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file['header']))
            table = file['table'].astype(np.float64)
    except FileNotFoundError:
        raise ValueError(f'{path}: there is no such checkpoint') from None
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f'{path}: is not a mapping checkpoint: {error}') from None
    if header.get('format') != FORMAT:
        raise ValueError(f'{path}: format is {header.get("format")!r}, expected {FORMAT!r}')
    model = TileModel(
        table,
        np.array(header['weights']),
        np.array(header['targets']),
        header['bias'],
        header['resolution'],
    )
    return Checkpoint(model, Settings(**header['settings']), header['made'])
