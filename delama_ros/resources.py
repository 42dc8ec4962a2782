"""Where the files that ship with the package are, in a source tree and when installed."""

from __future__ import annotations

from pathlib import Path


def resource(name: str) -> Path:
    """Path of a shipped file such as 'config/swarm.yaml'."""
    source = Path(__file__).resolve().parent.parent / name
    if source.exists():
        return source
    # Here, not above: only an installed package needs the ament index.
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory('delama_ros')) / name
