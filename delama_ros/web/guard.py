"""What stands before every page: join code, same origin, size of requests, security headers.

Pure ASGI, so that it covers web sockets as well as requests.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from delama_ros.web.limits import RateLimit

COOKIE = 'delama_join'
# No letters or digits that are taken for each other when read aloud or off a screen.
ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
CODE_LENGTH = 8
MAX_BODY = 64 * 1024  # bytes of a request; nothing people send comes near
TOO_LARGE = f'a request may hold {MAX_BODY} bytes'
OPEN_PATHS = ('/join', '/common/')  # what somebody without the code may see
HEADERS = {
    'Content-Security-Policy': "default-src 'self'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    # Not 'no-referrer', with which browsers hide the origin of forms from ourselves, too.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
}


@dataclass(frozen=True)
class Access:
    """What opens the pages: a code that people type once, and the cookie they get for it."""

    code: str
    token: str

    @classmethod
    def new(cls) -> Access:
        """Return a code that cannot be guessed in the tries allowed, and a token in no number."""
        code = ''.join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        return cls(code, secrets.token_urlsafe(32))


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine only."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def set_cookie(response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send, for a week."""
    response.set_cookie(name, value, max_age=7 * 86400, httponly=True, samesite='strict')


class Guard:
    """Let a request through to the pages, or say why not."""

    def __init__(self, app: ASGIApp, *, access: Access | None) -> None:
        """Ask for the join code, or with None answer only requests to this very machine."""
        self._app = app
        self._access = access
        self._wrong = RateLimit(rate=0.5, burst=10)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or web socket."""
        if scope['type'] not in ('http', 'websocket'):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if scope['type'] == 'websocket':
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({'type': 'websocket.close', 'code': 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message['type'] == 'http.response.start':
                MutableHeaders(scope=message).update(HEADERS)
                # Pages are asked for anew, so that an update is seen at once; ETags make it cheap.
                MutableHeaders(scope=message).setdefault('Cache-Control', 'no-cache')
            await send(message)

        if refusal is None and scope['path'] == '/join':
            refusal = await self._join(scope, headers, receive)
        answer = self._app if refusal is None else refusal
        await answer(scope, _limited(receive), send_guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get('host', '')
        origin = headers.get('origin')
        # Another site's page must not act in a visitor's name, nor read through a changed name.
        if origin is not None and urlsplit(origin).netloc != host:
            return PlainTextResponse('this page is not open to other sites', 403)
        if self._access is None and not is_loopback(urlsplit(f'//{host}').hostname or ''):
            return PlainTextResponse(f'unknown host {host!r}: open it as localhost', 421)
        if _length(headers) > MAX_BODY:
            return PlainTextResponse(TOO_LARGE, 413)
        if self._access is None or scope['path'].startswith(OPEN_PATHS):
            return None
        given = cookie(headers, COOKIE) or ''
        if hmac.compare_digest(given.encode(), self._access.token.encode()):
            return None
        if scope['type'] == 'http' and 'text/html' in headers.get('accept', ''):
            return RedirectResponse('/join', 303)
        return PlainTextResponse('the join code is missing', 401)

    async def _join(self, scope: Scope, headers: Headers, receive: Receive) -> Response | None:
        """Take a code from the link or the form; None shows the page that asks for it."""
        if self._access is None:
            return RedirectResponse('/', 303)
        query = scope['query_string'].decode('latin-1')
        if scope['method'] == 'POST':
            try:
                query = (await _body(receive)).decode('latin-1')
            except HTTPException as error:
                return PlainTextResponse(error.detail, error.status_code)
        given = parse_qs(query).get('code', [''])[0].strip().upper()
        if not given:
            return None
        client = (scope.get('client') or ('', 0))[0]
        # Who has guessed too often is not listened to for a while, right or wrong.
        heard = not self._wrong.exhausted(client)
        if heard and hmac.compare_digest(given.encode(), self._access.code.encode()):
            response = RedirectResponse('/', 303)
            set_cookie(response, COOKIE, self._access.token)
            return response
        self._wrong.allows(client)
        return RedirectResponse('/join?wrong=1', 303)


def _length(headers: Headers) -> int:
    text = headers.get('content-length', '0')
    return int(text) if text.isascii() and text.isdigit() else 0


def cookie(headers: Headers, name: str) -> str | None:
    """Return a cookie of a request, None if it has none of this name."""
    try:
        found = SimpleCookie(headers.get('cookie', '')).get(name)
    except CookieError:
        return None
    return found.value if found else None


def _limited(receive: Receive) -> Receive:
    """Refuse a body that grows beyond the limit without having announced it."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        if message['type'] == 'http.request':
            size += len(message.get('body', b''))
            if size > MAX_BODY:
                raise HTTPException(413, TOO_LARGE)
        return message

    return limited


async def _body(receive: Receive) -> bytes:
    body, more = b'', True
    limited = _limited(receive)
    while more:
        message = await limited()
        body += message.get('body', b'')
        more = message.get('more_body', False)
    return body
