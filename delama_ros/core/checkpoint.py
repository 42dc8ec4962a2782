"""Checkpoints: a trained model as one `.npz` file, its arrays and a description of itself in JSON.

Reading a file executes nothing: robots need numpy alone, training converts to torch. The
fingerprint is a digest of all that must agree before two models may be averaged. Earlier formats
are still read: a description beside the arrays (`.json`), and headers of mapping models and
decoders.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros import __version__
from delama_ros.core.array_file import Arrays, read_arrays
from delama_ros.core.settings import Settings
from delama_ros.geometry.map_file import write_whole

FORMAT = 2  # raised when older programs can no longer read the file
DESCRIPTION = 'description'  # the array that holds the JSON text
BESIDE = 1  # format with the description in a .json file beside the arrays
HEADERS = {'delama mapping 1': 'mapping', 'delama decoder 1': 'decoder'}  # earlier format → task

_KINDS = {str: 'a name', dict: 'names and values'}


class CheckpointError(ValueError):
    """A file that is missing, damaged, or not a checkpoint this program can use."""


@dataclass(frozen=True)
class Checkpoint:
    """A model: its task, settings with learned coefficients, arrays, and what the task needs."""

    task: str
    settings: Settings
    arrays: Arrays
    options: Mapping[str, Any] = field(default_factory=dict)  # JSON values, such as a resolution
    made: Mapping[str, Any] = field(default_factory=dict)  # how: command, seed, data, scores

    @property
    def fingerprint(self) -> int:
        """64 bits that two models share only if they may be averaged; own limits do not count."""
        return _digest(self.task, asdict(self.settings), self.options, self.arrays)

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all.

        Args:
            path: of the file; its name gets the suffix `.npz`.

        Raises:
            ValueError: if an array has the name under which the description is stored.
        """
        if DESCRIPTION in self.arrays:
            raise ValueError(f'an array is named {DESCRIPTION!r}, expected another name')
        description = {
            'format': FORMAT,
            'version': __version__,
            'task': self.task,
            'fingerprint': f'{self.fingerprint:016x}',
            'settings': asdict(self.settings),
            'options': dict(self.options),
            'made': dict(self.made),
        }
        content: dict[str, Any] = {DESCRIPTION: json.dumps(description), **self.arrays}
        write_whole(
            Path(path).with_suffix('.npz'), lambda file: np.savez_compressed(file, **content)
        )


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


def load(path: str | Path, *, task: str | None = None) -> Checkpoint:
    """Read a checkpoint.

    Args:
        path: of the file, with or without its suffix `.npz`.
        task: that the model must have been made for; None: any.

    Returns:
        The checkpoint, with defaults for settings that were added since it was written.

    Raises:
        CheckpointError: if the file is missing, damaged or made for another task.
    """
    path = Path(path)
    file = path if path.is_file() else path.with_suffix('.npz')
    if not file.exists():
        raise CheckpointError(f'{path}: no such checkpoint')
    arrays = _arrays(file)
    description = _description(file, arrays)
    if task is not None and description['task'] != task:
        raise CheckpointError(f'{file}: made for task {description["task"]!r}, not {task!r}')
    try:
        settings = Settings(**description['settings'])
    except (TypeError, ValueError) as error:
        raise CheckpointError(f'{file}: settings cannot be used: {error}') from error
    loaded = Checkpoint(
        description['task'], settings, arrays, description['options'], description.get('made', {})
    )
    # Over the settings as they were written: one that was added later has its default.
    found = f'{_digest(loaded.task, description["settings"], loaded.options, arrays):016x}'
    if description.get('fingerprint', found) != found:
        raise CheckpointError(
            f'{file}: contents have fingerprint {found}, expected {description["fingerprint"]}: '
            'arrays and description do not belong together or were changed'
        )
    return loaded


def _arrays(path: Path) -> Arrays:
    try:
        return read_arrays(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f'{path}: damaged or no checkpoint: {error}') from error


def _description(path: Path, arrays: Arrays) -> dict[str, Any]:
    """Return the description, in the present form; its text is taken out of the arrays."""
    beside = path.with_suffix('.json')
    known: tuple[object, ...] = (FORMAT,)
    try:
        if DESCRIPTION in arrays:
            description = json.loads(str(arrays.pop(DESCRIPTION)))
        elif 'header' in arrays:
            description = _from_header(json.loads(str(arrays.pop('header'))))
        elif beside.exists():
            description, known = json.loads(beside.read_text()), (BESIDE,)
        else:
            raise CheckpointError(f'{path}: not a checkpoint of delama_ros: it has no description')
    except OSError as error:
        raise CheckpointError(f'{beside}: cannot be read: {error.strerror}') from error
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f'{path}: damaged or no checkpoint: {error}') from error
    if not isinstance(description, dict) or 'format' not in description:
        raise CheckpointError(f'{path}: not a checkpoint of delama_ros: it has no format number')
    if description['format'] not in known:
        raise CheckpointError(
            f'{path}: has format {description["format"]} (written by version '
            f'{description.get("version")}), this program reads format {FORMAT}'
        )
    missing = {'task', 'settings', 'options'} - description.keys()
    if missing:
        raise CheckpointError(f'{path}: damaged: {sorted(missing)} missing')
    kinds = {'task': str, 'settings': dict, 'options': dict, 'made': dict}
    for name, kind in kinds.items():
        if not isinstance(value := description.get(name, kind()), kind):
            raise CheckpointError(f'{path}: damaged: {name} is {value!r}, expected {_KINDS[kind]}')
    return description


def _from_header(header: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a mapping model or decoder of the earlier format."""
    name, made, settings = header.pop('format'), header.pop('made'), header.pop('settings', {})
    if name not in HEADERS:
        return {'format': name}
    return {
        'format': FORMAT, 'task': HEADERS[name], 'settings': settings, 'options': header,
        'made': made,
    }
