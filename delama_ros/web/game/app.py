"""The game over HTTP: actions are requests, and a web socket sends each player their view."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.websockets import WebSocketDisconnect

from delama_ros.experiments.human.game import Game, Reason, RefusedError
from delama_ros.experiments.human.host import Host
from delama_ros.experiments.human.store import Person
from delama_ros.web.game.requests import Aggregate, Enter, Learn, Proceed
from delama_ros.web.guard import Access, cookie, set_cookie
from delama_ros.web.limits import RateLimit
from delama_ros.web.serving import add_pages, make_app

COOKIE = 'delama_player'
TICK = 0.25  # s
SOCKETS = 4  # per player; a new one closes the oldest


class _Live:
    """Open web sockets: an event per socket, set when its player's view has changed."""

    def __init__(self) -> None:
        self._events: dict[int, list[asyncio.Event]] = defaultdict(list)
        self._closed: set[asyncio.Event] = set()

    def changed(self, game: Game) -> None:
        for seat in game.seats:
            if seat.person is not None:
                self.notify(seat.person)

    def notify(self, person: int) -> None:
        for event in self._events.get(person, ()):
            event.set()

    @asynccontextmanager
    async def open(self, person: int) -> AsyncIterator[asyncio.Event]:
        event = asyncio.Event()
        event.set()
        events = self._events[person]
        events.append(event)
        for old in events[:-SOCKETS]:
            self._closed.add(old)
            old.set()
        try:
            yield event
        finally:
            events.remove(event)
            self._closed.discard(event)
            if not events:
                del self._events[person]

    def is_closed(self, event: asyncio.Event) -> bool:
        return event in self._closed


def game_app(host: Host, access: Access | None) -> FastAPI:
    """Return the application of one host."""
    live = _Live()
    host.changed = live.changed

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async def keep_time() -> None:
            while True:
                try:
                    host.tick()
                except sqlite3.Error:  # such as a full disk: games wait until it is resolved
                    logging.exception('time does not pass: cannot store games')
                await asyncio.sleep(TICK)

        timer = asyncio.create_task(keep_time())
        yield
        timer.cancel()

    app = make_app(access=access, lifespan=lifespan)
    _add_errors(app)
    acts = RateLimit(rate=5.0, burst=30)
    entries, looks = RateLimit(rate=5.0, burst=100), RateLimit(rate=50.0, burst=500)

    def limit(rate: RateLimit, request: Request) -> None:
        if not rate.allows(request.client.host if request.client else ''):
            raise RefusedError(Reason.SLOW)

    def who(connection: HTTPConnection) -> Person | None:
        return host.find(cookie(connection.headers, COOKIE))

    def actor(request: Request) -> Person:
        person = who(request)
        if person is None:
            raise RefusedError(Reason.UNKNOWN)
        if not acts.allows(str(person.id)):
            raise RefusedError(Reason.SLOW)
        return person

    def act(request: Request, do: Callable[[Game, int, float], None]) -> dict[str, Any]:
        person = actor(request)
        host.act(person, do)
        return host.see(person)

    @app.get('/api/state')
    async def state(request: Request) -> dict[str, Any]:
        limit(looks, request)
        return host.see(who(request))

    @app.post('/api/enter')
    async def enter(body: Enter, request: Request, response: Response) -> dict[str, Any]:
        limit(entries, request)
        person, token = host.enter(who(request), body.name, body.quality, body.people)
        if token:
            set_cookie(response, COOKIE, token)
        return host.see(person)

    @app.post('/api/leave')
    async def leave(request: Request) -> dict[str, Any]:
        return host.see(host.leave(actor(request)))

    @app.post('/api/start')
    async def start(request: Request) -> dict[str, Any]:
        return act(request, lambda game, seat, now: game.start(now))

    @app.post('/api/learn')
    async def learn(body: Learn, request: Request) -> dict[str, Any]:
        return act(
            request, lambda game, seat, now: game.draw_line(seat, body.round, body.line, now)
        )

    @app.post('/api/aggregate')
    async def aggregate(body: Aggregate, request: Request) -> dict[str, Any]:
        ratings = {int(seat): rating for seat, rating in body.ratings.items()}
        return act(
            request,
            lambda game, seat, now: game.aggregate(seat, body.round, body.line, ratings, now),
        )

    @app.post('/api/proceed')
    async def proceed(body: Proceed, request: Request) -> dict[str, Any]:
        return act(request, lambda game, seat, now: game.proceed(seat, body.round, now))

    @app.websocket('/api/live')
    async def tell(socket: WebSocket) -> None:
        person = who(socket)
        if person is None:
            await socket.close(1008)
            return
        await socket.accept()
        host.come_back(person)
        async with live.open(person.id) as event:
            watcher = asyncio.create_task(_wait_for_end(socket, event))
            with suppress(WebSocketDisconnect, RuntimeError):  # disconnected while sending
                while True:
                    await event.wait()
                    if live.is_closed(event) or watcher.done():
                        break
                    event.clear()
                    await socket.send_json(host.see(who(socket)))
                await socket.close()
            watcher.cancel()

    add_pages(app, Path(__file__).parent / 'static')
    return app


async def _wait_for_end(socket: WebSocket, event: asyncio.Event) -> None:
    """Wake the sender when the browser disconnects; a browser that sends data is cut off."""
    await socket.receive()
    event.set()


def _add_errors(app: FastAPI) -> None:
    """Answer with a keyword that pages turn into a sentence; never with the input itself."""
    status = {Reason.SLOW: 429, Reason.UNKNOWN: 401}

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RefusedError)
        return JSONResponse({'error': error.reason.value}, status.get(error.reason, 409))

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({'error': 'invalid'}, 422)

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
