"""The only folder that services write to and read from: anybody in the ROS domain can call them."""

from __future__ import annotations

import os
from pathlib import Path


def save_folder(said: str, robot: str) -> Path:
    """Return the folder of a robot's services, without symbolic links.

    Args:
        said: the parameter `save_folder`.
        robot: name of the robot; without the parameter it has a folder of its own.

    Raises:
        ValueError: if it cannot be a folder.
    """
    home = os.environ.get('ROS_HOME') or '~/.ros'
    try:
        folder = Path(said or f'{home}/delama/{robot}').expanduser().resolve()
        wrong = folder.exists() and not folder.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f'save_folder is {said!r}: {error}') from None
    if wrong:
        raise ValueError(f'save_folder is {said!r}, which is a file, expected a folder')
    return folder


def below(folder: Path, said: str) -> Path:
    """Return the path that was asked for, seen from the folder, without symbolic links.

    Raises:
        ValueError: if it is empty, impossible, or not below the folder.
    """
    if not said:
        raise ValueError('path is empty, expected a file name')
    try:
        path = (folder / Path(said).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f'path is {said!r}: {error}') from None
    if not path.is_relative_to(folder):
        raise ValueError(
            f'path {said!r} is outside {folder}: give a path below that folder, or start the robot '
            'with another save_folder'
        )
    return path
