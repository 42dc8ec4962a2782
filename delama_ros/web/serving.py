"""Serves pages with uvicorn: address and port, access control, static files.

A server is composed of `listen`, `make_app`, routes, `add_pages` (last) and
`make_server(app).run(sockets=[listener])`, which runs until Ctrl-C, also in a thread.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles
from uvicorn.config import WS_PROTOCOLS

from delama_ros.web.guard import Access, Guard, is_loopback

COMMON = Path(__file__).parent / 'static'
LOCALHOST = '127.0.0.1'
USUAL_PORT = 8420
# The older of the two, of which websockets warns, is all that uvicorn of Ubuntu 24.04 has.
PROTOCOL = 'websockets-sansio' if 'websockets-sansio' in WS_PROTOCOLS else 'websockets'


def listen(host: str = LOCALHOST, port: int | None = None) -> socket.socket:
    """Bind to a port, or without one to the usual port or any free one; ValueError if it fails."""
    for candidate in (port,) if port is not None else (USUAL_PORT, 0):
        try:
            family = socket.AF_INET6 if ':' in host else socket.AF_INET
            listener = socket.create_server((host, candidate), family=family, backlog=512)
            # Inherited by connections; without it, the second packet of an answer waits 40 ms.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listener
        except (OSError, OverflowError) as error:
            problem = error
    raise ValueError(f'cannot listen on {host}:{port}: {problem}; choose another --host or --port')


def new_access(host: str) -> Access | None:
    """Return the credentials of a new server, None if only this machine can connect."""
    return None if is_loopback(host) else Access.new()


def address(listener: socket.socket, access: Access | None) -> str:
    """Return the address to open in a browser, with the join code if one is needed."""
    host, port = listener.getsockname()[:2]
    if host in ('0.0.0.0', '::'):
        host = socket.gethostname()
    shown = f'[{host}]' if ':' in host else host
    return f'http://{shown}:{port}/' + (f'join?code={access.code}' if access else '')


def make_app(*, access: Access | None, **options: Any) -> FastAPI:
    """Return an application behind the guard, with the common files and the join page."""
    app = FastAPI(
        docs_url=None, redoc_url=None, openapi_url=None,
        middleware=[Middleware(Guard, access=access)], **options,
    )
    app.mount('/common', StaticFiles(directory=COMMON))

    @app.api_route('/join', methods=['GET', 'POST'], include_in_schema=False)
    def join() -> FileResponse:
        return FileResponse(COMMON / 'join.html')

    return app


def add_pages(app: FastAPI, folder: Path) -> None:
    """Serve a folder of the package at /, with its index.html; call it after all other routes."""
    app.mount('/', StaticFiles(directory=folder, html=True))


def make_server(app: FastAPI) -> uvicorn.Server:
    """Return a server for the application; `run(sockets=[listener])` blocks until it is stopped."""
    return uvicorn.Server(
        uvicorn.Config(
            app, log_level='warning', ws=PROTOCOL, ws_max_size=2**20,
            timeout_keep_alive=75, timeout_graceful_shutdown=3, server_header=False,
            proxy_headers=False,
        )
    )
