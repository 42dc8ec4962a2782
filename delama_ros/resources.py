"""Where the files that ship with the package are: in a source tree, a wheel, a ROS workspace."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """Path of a shipped file such as 'config/swarm.yaml'.

    Raises:
        FileNotFoundError: none of the places where it may be has it.

    """
    prefixes = filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep))
    shares = [Path(prefix) / 'share' / 'delama_ros' for prefix in prefixes]
    for folder in (PACKAGE.parent, PACKAGE / 'share', *shares):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(
        f'{name} is not in the source tree, the wheel or AMENT_PREFIX_PATH; install delama_ros'
    )
