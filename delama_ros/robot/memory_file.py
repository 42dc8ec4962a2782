"""A robot's memory on disk: map, keyframes and pose graph in one file, written atomically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.core.array_file import check_arrays, read_arrays
from delama_ros.geometry.map_file import write_whole
from delama_ros.mapping.mapper import Mapper
from delama_ros.robot.localization import Localization

VERSION = 2  # 1, without this number, has no localization


class MemoryFileError(ValueError):
    """A file that is not a memory of this robot's model: the text says which and why."""


def save_memory(path: Path, mapper: Mapper, localization: Localization | None = None) -> None:
    """Write everything a robot needs to continue later; a crash leaves the old file or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state: dict[str, Any] = {
        'version': np.int64(VERSION),
        'fingerprint': np.uint64(mapper.agent.fingerprint),
        **mapper.state(),
        **(localization.state() if localization is not None else {}),
    }
    write_whole(path, lambda file: np.savez(file, **state))


def load_memory(path: Path, mapper: Mapper, localization: Localization | None = None) -> None:
    """Make a robot continue from a file; it is unchanged if the file does not fit.

    Raises:
        MemoryFileError: if the file is damaged, of another version or of another model.
        OSError: if it cannot be read.
    """
    try:
        state = read_arrays(path)
        check_arrays(state, {'fingerprint': (), 'version': ()}, whole=('fingerprint', 'version'))
        fingerprint, version = int(state.pop('fingerprint')), int(state.pop('version', 1))
    except (KeyError, ValueError) as error:
        raise MemoryFileError(f'{path} is not a memory file: {error}') from error
    if not 1 <= version <= VERSION:
        raise MemoryFileError(f'{path} has version {version}, expected at most {VERSION}')
    if fingerprint != mapper.agent.fingerprint:
        raise MemoryFileError(
            f'{path} was written with another model (fingerprint {fingerprint:016x}, '
            f'expected {mapper.agent.fingerprint:016x})'
        )
    try:
        found = None if localization is None else localization.read(state)
        mapper.restore(state)
    except KeyError as error:
        raise MemoryFileError(f'{path} does not fit this model: {error} is missing') from error
    except ValueError as error:
        raise MemoryFileError(f'{path} does not fit this model: {error}') from error
    if localization is not None:
        localization.adopt(found)
