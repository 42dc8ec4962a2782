"""A viewer in the browser beside a run: served from its start, and after its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from delama_ros.swarm.processes import Domain, Processes
from delama_ros.web.serving import LOCALHOST, address, listen


@contextmanager
def viewer(folder: Path) -> Iterator[str]:
    """Serve the page while a swarm runs in this process's environment; yields its address."""
    domain = None if 'ROS_DOMAIN_ID' in os.environ else Domain()
    environment = domain.environment() if domain else {}
    os.environ.update(environment)
    with listen() as socket:  # finds a free port, which the node binds a moment later
        page, port = address(socket, None), socket.getsockname()[1]
    try:
        with Processes(folder, environment) as processes:
            parameters = {'host': LOCALHOST, 'port': port}
            processes.start('viewer', 'delama_ros.ros.viewer', '/', parameters)
            yield page
    finally:
        if domain:
            domain.close()
            for name in environment:
                del os.environ[name]
