"""Checkpoints: a trained model as arrays (`.npz`) beside a description of itself (`.json`).

Both sides read the arrays without executing anything: robots with numpy alone, training through
torch. The fingerprint is a digest of all that must agree before two models may be averaged.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from delama_ros import __version__
from delama_ros.core.settings import Settings

FORMAT = 1  # raised when older programs could not read the file any more

Arrays: TypeAlias = dict[str, NDArray[Any]]


class CheckpointError(Exception):
    """A file that is missing, damaged, or not a checkpoint this program can use."""


@dataclass(frozen=True)
class Checkpoint:
    """A model: its task, settings with learned coefficients, arrays, and what the task needs."""

    task: str
    settings: Settings
    arrays: Arrays
    options: Mapping[str, Any] = field(default_factory=dict)  # JSON values, such as a resolution

    @property
    def fingerprint(self) -> int:
        """64 bits that two models share only if they may be averaged; own limits do not count."""
        return _digest(self.task, asdict(self.settings), self.options, self.arrays)

    def save(self, path: Path) -> None:
        """Write path.json and path.npz (a suffix of path is replaced)."""
        description = {
            'format': FORMAT,
            'version': __version__,
            'task': self.task,
            'fingerprint': f'{self.fingerprint:016x}',
            'settings': asdict(self.settings),
            'options': dict(self.options),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path.with_suffix('.npz'), **self.arrays)  # type: ignore[arg-type]
        path.with_suffix('.json').write_text(json.dumps(description, indent=2) + '\n')


def _digest(
    task: str, settings: Mapping[str, Any], options: Mapping[str, Any], arrays: Arrays
) -> int:
    kept = {name: value for name, value in settings.items() if not name.startswith('max_')}
    text = json.dumps([task, kept, dict(options)], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f'{name} {array.dtype.str} {array.shape}'.encode())
        digest.update(array.tobytes())
    return int.from_bytes(digest.digest()[:8], 'big')


def load(path: Path, *, task: str | None = None) -> Checkpoint:
    """Read path.json and path.npz, made for the given task if one is named."""
    described = path.with_suffix('.json')
    description = _description(described)
    if task is not None and description['task'] != task:
        raise CheckpointError(f'{described}: made for task {description["task"]!r}, not {task!r}')
    try:
        settings = Settings(**description['settings'])
    except (TypeError, ValueError) as error:
        raise CheckpointError(f'{described}: settings cannot be used: {error}') from error
    loaded = Checkpoint(
        description['task'], settings, _arrays(path.with_suffix('.npz')), description['options']
    )
    # Over the settings as they were written: one that came later has its default.
    found = f'{_digest(loaded.task, description["settings"], loaded.options, loaded.arrays):016x}'
    if found != description['fingerprint']:
        raise CheckpointError(
            f'{path}: contents have fingerprint {found}, expected {description["fingerprint"]}: '
            'the two files do not belong together or were changed'
        )
    return loaded


def _description(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(path.read_text())
    except OSError as error:
        raise CheckpointError(f'{path}: cannot be read: {error.strerror}') from error
    except ValueError as error:
        raise CheckpointError(f'{path}: damaged or no checkpoint: {error}') from error
    if not isinstance(description, dict) or 'format' not in description:
        raise CheckpointError(f'{path}: no checkpoint of delama_ros: it has no format number')
    if description['format'] != FORMAT:
        raise CheckpointError(
            f'{path}: has format {description["format"]} (written by version '
            f'{description.get("version")}), this program reads format {FORMAT}'
        )
    missing = {'task', 'fingerprint', 'settings', 'options'} - description.keys()
    if missing:
        raise CheckpointError(f'{path}: damaged: {sorted(missing)} missing')
    return description


def _arrays(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise CheckpointError(f'{path}: cannot be read: {error.strerror}') from error
    except (OSError, ValueError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f'{path}: damaged or no checkpoint: {error}') from error
