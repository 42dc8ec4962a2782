"""Protects every page: join code, same origin, size of requests, security headers.

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
# No letters or digits that are easily confused when read aloud or from a screen.
ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
CODE_LENGTH = 8
MAX_BODY = 64 * 1024  # bytes of a request; regular ones are far smaller
TOO_LARGE = f'a request may hold {MAX_BODY} bytes'
OPEN_PATHS = ('/join', '/common/')  # served without the code
HEADERS = {
    'Content-Security-Policy': "default-src 'self'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    # 'no-referrer' would make browsers hide the origin of forms from this server, too.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
}


@dataclass(frozen=True)
class Access:
    """Credentials of the pages: a code that people type once, and the cookie they get for it."""

    code: str
    token: str

    @classmethod
    def new(cls) -> Access:
        """Create a code that cannot be guessed within the rate limit, and a random token."""
        code = ''.join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        return cls(code, secrets.token_urlsafe(32))


def is_loopback(host: str) -> bool:
    """Tell whether a host name refers to this machine only."""
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
    """Passes a request on to the pages, or answers why not."""

    def __init__(self, app: ASGIApp, *, access: Access | None) -> None:
        """Require the join code, or with None accept only requests to this machine itself."""
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
                # Pages are revalidated, so that an update shows at once; ETags make that cheap.
                MutableHeaders(scope=message).setdefault('Cache-Control', 'no-cache')
            await send(message)

        if refusal is None and scope['path'] == '/join':
            refusal = await self._join(scope, headers, receive)
        answer = self._app if refusal is None else refusal
        await answer(scope, _limited(receive), send_guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get('host', '')
        origin = headers.get('origin')
        # Pages of other sites must not act for a visitor, nor use DNS rebinding to read.
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
        """Check a code from the link or the form; None shows the page with the form."""
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
        # After too many wrong guesses all codes are rejected for a while.
        allowed = not self._wrong.exhausted(client)
        if allowed and hmac.compare_digest(given.encode(), self._access.code.encode()):
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
    """Reject a body that exceeds the limit without announcing its length."""
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
