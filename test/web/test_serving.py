"""Pages are served to whom they are meant for, and to nobody else."""

import http.client
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI, Request, WebSocket
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from delama_ros.web import guard
from delama_ros.web.limits import RateLimit
from delama_ros.web.serving import add_pages, address, listen, make_app, new_access

Serve = Callable[[FastAPI], str]
Pages = Callable[[guard.Access | None], FastAPI]
ACCESS = guard.Access('ABCD2345', 'a-token')


def ask(
    url: str, path: str = '/', method: str = 'GET', body: bytes = b'', **headers: str
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    named = {name.replace('_', '-'): value for name, value in headers.items()}
    connection.request(method, path, body or None, named)
    return connection.getresponse()


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    (tmp_path / 'index.html').write_text('the page')

    def made(access: guard.Access | None) -> FastAPI:
        app = make_app(access=access)

        @app.post('/act')
        async def act(request: Request) -> int:
            return len(await request.body())

        @app.websocket('/live')
        async def live(socket: WebSocket) -> None:
            await socket.accept()
            await socket.send_text('hello')

        add_pages(app, tmp_path)
        return app

    return made


def test_a_page_on_this_machine_needs_no_code(
    serve: Serve, pages: Pages
) -> None:
    url = serve(pages(None))
    answer = ask(url)
    assert (answer.status, answer.read()) == (200, b'the page')
    assert "default-src 'self'" in answer.headers['Content-Security-Policy']
    assert answer.headers['X-Content-Type-Options'] == 'nosniff'
    assert ask(url, '/common/base.css').status == 200
    assert ask(url, '/join').headers['Location'] == '/'
    assert ask(url, '/../serving.py').status == 404
    assert ask(url, '/docs').status == 404


def test_other_sites_and_names_are_refused(
    serve: Serve, pages: Pages
) -> None:
    url = serve(pages(None))
    assert ask(url, '/act', 'POST', b'x', Origin='http://evil.example').status == 403
    assert ask(url, '/act', 'POST', b'x', Origin=url).read() == b'1'
    assert ask(url, Host='evil.example').status == 421
    live = url.replace('http', 'ws') + '/live'
    with connect(live, origin=url) as socket:  # type: ignore[arg-type]
        assert socket.recv() == 'hello'
    with (
        pytest.raises(InvalidStatus, match='403'),
        connect(live, origin='http://evil.example'),  # type: ignore[arg-type]
    ):
        pass


def test_large_requests_are_refused(serve: Serve, pages: Pages) -> None:
    url = serve(pages(None))
    assert ask(url, '/act', 'POST', b'x' * guard.MAX_BODY).read() == str(guard.MAX_BODY).encode()
    assert ask(url, '/act', 'POST', b'x' * (guard.MAX_BODY + 1)).status == 413
    # The same without saying how long it will be.
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    chunks = (b'x' * 1000 for _ in range(guard.MAX_BODY // 1000 + 2))
    connection.request('POST', '/act', chunks, encode_chunked=True)
    assert connection.getresponse().status == 413


def test_the_join_code_opens_everything(
    serve: Serve, pages: Pages
) -> None:
    url = serve(pages(ACCESS))
    assert ask(url).status == 401
    assert ask(url, Accept='text/html').headers['Location'] == '/join'
    assert ask(url, '/common/base.css').status == 200
    assert b'<form' in ask(url, '/join').read()
    with pytest.raises(InvalidStatus, match='403'), connect(url.replace('http', 'ws') + '/live'):
        pass
    wrong = ask(url, '/join', 'POST', b'code=ZZZZ2345')
    assert (wrong.headers['Location'], wrong.headers['Set-Cookie']) == ('/join?wrong=1', None)
    for answer in (ask(url, '/join', 'POST', b'code=+abcd2345+'), ask(url, '/join?code=ABCD2345')):
        assert answer.headers['Location'] == '/'
        cookie = answer.headers['Set-Cookie']
        assert 'HttpOnly' in cookie
        assert 'SameSite=strict' in cookie
        assert ask(url, Cookie=cookie.split(';')[0]).read() == b'the page'
    assert ask(url, Cookie=f'{guard.COOKIE}=ABCD2345').status == 401
    assert ask(url, Cookie=f'{guard.COOKIE}="').status == 401


def test_guessing_the_code_is_stopped(
    serve: Serve, pages: Pages
) -> None:
    url = serve(pages(ACCESS))
    for _ in range(30):
        ask(url, '/join', 'POST', b'code=ZZZZ2345')
    assert ask(url, '/join?code=ABCD2345').headers['Location'] == '/join?wrong=1'


def test_rate_limit_refills() -> None:
    now = 0.0
    limit = RateLimit(rate=2.0, burst=3, keys=2, clock=lambda: now)
    assert [limit.allows('a') for _ in range(4)] == [True, True, True, False]
    assert limit.exhausted('a')
    assert limit.allows('b')
    now = 1.0
    assert [limit.allows('a') for _ in range(3)] == [True, True, False]
    assert limit.allows('c')
    assert limit.allows('d')  # 'b' and 'a' were used longest ago and are forgotten
    assert limit.allows('a')


def test_ports() -> None:
    taken = listen(port=0)
    port = taken.getsockname()[1]
    with pytest.raises(ValueError, match=f'cannot listen on 127.0.0.1:{port}'):
        listen(port=port)
    with pytest.raises(ValueError, match='cannot listen on 203'):
        listen('203.0.113.1')
    with pytest.raises(ValueError, match=':70000: '):
        listen(port=70000)
    with listen(), listen() as other:
        assert other.getsockname()[1] > 0
    assert address(taken, None) == f'http://127.0.0.1:{port}/'
    assert address(taken, ACCESS) == f'http://127.0.0.1:{port}/join?code=ABCD2345'
    taken.close()
    with listen('0.0.0.0', 0) as everywhere:
        assert socket.gethostname() in address(everywhere, None)


def test_a_code_is_needed_beyond_this_machine_and_is_unlike_others() -> None:
    assert new_access('127.0.0.1') is new_access('localhost') is new_access('::1') is None
    made = [access for _ in range(100) if (access := new_access('0.0.0.0'))]
    assert len({access.code for access in made}) == len({access.token for access in made}) == 100
    assert all(set(access.code) <= set(guard.ALPHABET) for access in made)
