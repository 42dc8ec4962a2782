"""A page in the browser beside a run: it is there from the start and stays when the run is over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from delama_ros.swarm.processes import Domain, Processes
from delama_ros.web.serving import LOCALHOST, address, listen


@contextmanager
def shown(folder: Path) -> Iterator[str]:
    """Serve the page while a swarm runs in this process's environment; gives its address."""
    domain = None if 'ROS_DOMAIN_ID' in os.environ else Domain()
    environment = domain.environment() if domain else {}
    os.environ.update(environment)
    with listen() as found:  # free now, and nobody else's in the moment until the node has it
        page, port = address(found, None), found.getsockname()[1]
    try:
        with Processes(folder, environment) as processes:
            parameters = {'host': LOCALHOST, 'port': port}
            processes.start('viewer', 'delama_ros.nodes.viewer', '/', parameters)
            yield page
    finally:
        if domain:
            domain.close()
            for name in environment:
                del os.environ[name]
