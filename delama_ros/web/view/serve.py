"""Serves the page and sends every browser what has changed, as often as it asks."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from pathlib import Path

from fastapi import FastAPI, WebSocket, WebSocketDisconnect

from delama_ros.web.guard import Access
from delama_ros.web.serving import add_pages, address, listen, make_app, make_server, new_access
from delama_ros.web.view.mirror import Mirror
from delama_ros.web.view.watch import Watch

STATIC = Path(__file__).parent / 'static'
PACE = 0.08  # s between updates, minimum
HEARTBEAT = 1.0  # s between updates, maximum: longer silence means a lost connection


class Server:
    """Serves the page of a swarm in a thread of its own until it is stopped."""

    def __init__(self, watch: Watch, host: str, port: int | None) -> None:
        """Start; ValueError if the address is not available."""
        self._listener = listen(host, port)
        access = new_access(host)
        self.address = address(self._listener, access)
        self._server = make_server(application(watch, access))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listener],), name='web', daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close all connections and stop."""
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()


def application(watch: Watch, access: Access | None) -> FastAPI:
    """Return the web application: one socket, and the files of the page."""
    app = make_app(access=access)

    @app.websocket('/updates')
    async def updates(socket: WebSocket) -> None:
        await socket.accept()
        try:
            await _Conversation(watch, socket).run()
        except ValueError:
            await socket.close(1003)

    add_pages(app, STATIC)
    return app


class _Conversation:
    """One browser: it requests a time, receives what that changes, and requests again."""

    def __init__(self, watch: Watch, socket: WebSocket) -> None:
        self._watch, self._socket = watch, socket
        self._mirror = Mirror(watch)
        self._at: float | None = None
        self._requested = asyncio.Event()
        self._moved = True  # another time than the last one is requested

    async def run(self) -> None:
        """Serve the browser until it disconnects."""
        answering = asyncio.create_task(self._answer())
        try:
            while True:
                message = await self._socket.receive()
                if message['type'] == 'websocket.disconnect':
                    return
                self._take(message.get('text') or '')
        finally:
            answering.cancel()

    def _take(self, text: str) -> None:
        """Read {"at": seconds, or null for the newest}; ValueError for anything else."""
        try:
            at = json.loads(text)['at']
            valid = at is None or (isinstance(at, int | float) and math.isfinite(at))
        except (ValueError, TypeError, KeyError):
            valid = False
        if not valid:
            raise ValueError(f'request {text!r}, expected {{"at": seconds or null}}')
        self._moved = self._moved or at != self._at
        self._at = at
        self._requested.set()

    async def _answer(self) -> None:
        loop = asyncio.get_running_loop()
        version = -1
        while True:
            await self._requested.wait()
            late = loop.time() + HEARTBEAT
            while self._unchanged(version) and loop.time() < late:
                await asyncio.sleep(PACE / 2)
            self._requested.clear()
            self._moved = False
            version = self._watch.version
            try:
                await self._socket.send_bytes(self._mirror.update(self._at))
            except (WebSocketDisconnect, RuntimeError):  # disconnected, or shutting down
                return
            await asyncio.sleep(PACE)

    def _unchanged(self, version: int) -> bool:
        return self._watch.version == version and not self._moved
