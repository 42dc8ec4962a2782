"""The socket behind the page: it answers questions, waits for news, and hangs up on nonsense."""

import json
import struct
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from delama_ros.web.view.serve import application
from delama_ros.web.view.watch import Watch


def answer(socket: ClientConnection, at: float | None) -> dict[str, Any]:
    socket.send(json.dumps({'at': at}))
    data = socket.recv(timeout=60)
    assert isinstance(data, bytes)
    (length,) = struct.unpack('<I', data[:4])
    text: dict[str, Any] = json.loads(data[4 : 4 + length])
    return text


@pytest.fixture
def address(serve: Any, make_fleet: Any) -> str:
    watch = Watch('a run', live=False)
    make_fleet('/ada', '/bob').run(watch, 3)
    url: str = serve(application(watch, None))
    return url.replace('http', 'ws') + '/updates'


def test_questions_are_answered_and_nothing_new_is_said_too(address: str) -> None:
    with connect(address) as socket:
        assert len(answer(socket, None)['changes']) == 2
        assert answer(socket, None)['changes'] == []  # a sign of life
        assert answer(socket, 2.5)['at'] == 2.5
        assert answer(socket, None)['at'] == 6.0


@pytest.mark.parametrize(
    'rot', ['', 'null', '[]', '{"at": "now"}', '{"at": NaN}', '{"at": 1e999}', '{}', '{"at', b'\0']
)
def test_nonsense_ends_a_conversation_and_no_other(address: str, rot: str | bytes) -> None:
    with connect(address) as good, connect(address) as bad:
        answer(good, None)
        bad.send(rot)
        with pytest.raises(ConnectionClosed):
            bad.recv(timeout=60)
        assert answer(good, 1.0)['at'] == 1.0
