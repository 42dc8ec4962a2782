"""Serves the page and tells every browser what has changed, as often as it asks."""

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
PACE = 0.08  # s between updates at least
HEARTBEAT = 1.0  # s between updates at most, so that silence means a lost connection


class Server:
    """The page of a swarm, served in a thread of its own until it is stopped."""

    def __init__(self, watch: Watch, host: str, port: int | None) -> None:
        """Start; ValueError if the address cannot be had."""
        self._listener = listen(host, port)
        access = new_access(host)
        self.address = address(self._listener, access)
        self._server = make_server(application(watch, access))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listener],), name='web', daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End all connections and stop."""
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
    """One browser: it asks for a moment, is told what that changes, and asks again when drawn."""

    def __init__(self, watch: Watch, socket: WebSocket) -> None:
        self._watch, self._socket = watch, socket
        self._mirror = Mirror(watch)
        self._at: float | None = None
        self._asked = asyncio.Event()
        self._elsewhere = True  # another moment than the last one is asked for

    async def run(self) -> None:
        """Talk until the browser goes away."""
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
        """Take {"at": seconds, or null for the newest}; ValueError for anything else."""
        try:
            at = json.loads(text)['at']
            valid = at is None or (isinstance(at, int | float) and math.isfinite(at))
        except (ValueError, TypeError, KeyError):
            valid = False
        if not valid:
            raise ValueError(f'asked for {text!r}')
        self._elsewhere = self._elsewhere or at != self._at
        self._at = at
        self._asked.set()

    async def _answer(self) -> None:
        loop = asyncio.get_running_loop()
        version = -1
        while True:
            await self._asked.wait()
            late = loop.time() + HEARTBEAT
            while self._unchanged(version) and loop.time() < late:
                await asyncio.sleep(PACE / 2)
            self._asked.clear()
            self._elsewhere = False
            version = self._watch.version
            try:
                await self._socket.send_bytes(self._mirror.update(self._at))
            except (WebSocketDisconnect, RuntimeError):  # gone, or being shown out
                return
            await asyncio.sleep(PACE)

    def _unchanged(self, version: int) -> bool:
        return self._watch.version == version and not self._elsewhere
