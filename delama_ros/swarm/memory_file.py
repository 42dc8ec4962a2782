"""A robot's memory on disk: written so that a crash leaves the old file or the new one, whole."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from delama_ros.mapping.mapper import Mapper
from delama_sim.map_file import write_whole


class MemoryFileError(ValueError):
    """A file that is no memory of this robot's model: the text says which and why."""


def save_memory(path: Path, mapper: Mapper) -> None:
    """Write all that the robot needs to go on later."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state: dict[str, Any] = {'fingerprint': np.uint64(mapper.agent.fingerprint), **mapper.state()}
    write_whole(path, lambda file: np.savez(file, **state))


def load_memory(path: Path, mapper: Mapper) -> None:
    """Let the robot go on from a file; it is left as it was if the file does not fit."""
    try:
        with np.load(path, allow_pickle=False) as file:
            state = {name: file[name] for name in file.files}
        fingerprint = int(state.pop('fingerprint'))
    except (zipfile.BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
        raise MemoryFileError(f'{path} is not a memory file: {error}') from error
    if fingerprint != mapper.agent.fingerprint:
        raise MemoryFileError(
            f'{path} was written with another model (fingerprint {fingerprint:016x}, '
            f'ours is {mapper.agent.fingerprint:016x})'
        )
    try:
        mapper.restore(state)
    except (KeyError, ValueError) as error:
        raise MemoryFileError(f'{path} does not fit this model: {error}') from error
