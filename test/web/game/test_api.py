"""The game's requests, to a real server: what is refused, and what nobody gets to see."""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from delama_ros.experiments.human.game import Limits
from delama_ros.experiments.human.host import Host
from delama_ros.experiments.human.store import Store
from delama_ros.web.game.app import COOKIE, SOCKETS, game_app

Serve = Callable[[FastAPI], str]
LINE = {'slope': 0.123456789, 'offset': 1.5}


class Player:
    """A browser's side: one connection, cookies kept."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.cookie = ''
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {'Content-Type': 'application/json', 'Cookie': self.cookie}
        self._connection.request(method, path, data if method == 'POST' else None, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if cookie := answer.headers['Set-Cookie']:
            self.cookie = cookie.split(';')[0]
        return answer.status, json.loads(text)

    def post(self, path: str, **body: object) -> tuple[int, Any]:
        return self.ask('POST', f'/api/{path}', body)

    def see(self) -> Any:
        return self.ask('GET', '/api/state')[1]

    def enter(self, name: str = 'Ada', people: int = 1, quality: str = 'high') -> Any:
        status, state = self.post('enter', name=name, quality=quality, people=people)
        assert status == 200
        return state


@pytest.fixture
def url(serve: Serve, tmp_path: Path) -> Iterator[str]:
    store = Store(tmp_path / 'db')
    yield serve(game_app(Host(store, Limits()), None))
    store.close()


def test_a_game_alone(url: str) -> None:
    player = Player(url)
    assert player.see()['stage'] == 'login'
    assert player.enter()['stage'] == 'learn'
    for t in (1, 2, 3):
        status, state = player.post('learn', round=t, **LINE)
        assert (status, state['stage']) == (200, 'aggregate')
        ratings = {str(other['seat']): 5 for other in state['others']}
        status, state = player.post('aggregate', round=t, ratings=ratings, **LINE)
        assert (status, state['stage']) == (200, 'result')
        assert len(state['losses']) == t
        status, state = player.post('proceed', round=t)
        assert status == 200
    assert state['stage'] == 'final'
    assert player.see()['players'] == state['players']
    assert player.post('leave')[1]['stage'] == 'login'
    assert player.see()['name'] == 'Ada'


@pytest.mark.parametrize(
    ('path', 'body'),
    [
        ('enter', {'name': '', 'quality': 'low', 'people': 1}),
        ('enter', {'name': '   ', 'quality': 'low', 'people': 1}),
        ('enter', {'name': 'x' * 25, 'quality': 'low', 'people': 1}),
        ('enter', {'name': 'a\u202eb', 'quality': 'low', 'people': 1}),
        ('enter', {'name': 'a\x00b', 'quality': 'low', 'people': 1}),
        ('enter', {'name': 'a', 'quality': 'perfect', 'people': 1}),
        ('enter', {'name': 'a', 'quality': 'low', 'people': 0}),
        ('enter', {'name': 'a', 'quality': 'low', 'people': 5}),
        ('enter', {'name': 'a', 'quality': 'low', 'people': '1'}),
        ('enter', {'name': 'a', 'quality': 'low', 'people': 1, 'admin': True}),
        ('enter', []),
        ('learn', {'round': 1, 'slope': '1', 'offset': 0}),
        ('learn', {'round': 1, 'slope': 1e9, 'offset': 0}),
        ('learn', {'round': 1, 'slope': None, 'offset': 0}),
        ('learn', {'round': 4, 'slope': 1, 'offset': 0}),
        ('learn', {'round': 1, 'slope': 1}),
        ('learn', {'round': 1, 'slope': 1, 'offset': 0, 'seat': 2}),
        ('aggregate', {'round': 1, 'slope': 1, 'offset': 0, 'ratings': {'9': 1}}),
        ('aggregate', {'round': 1, 'slope': 1, 'offset': 0, 'ratings': {'1': 6}}),
        ('aggregate', {'round': 1, 'slope': 1, 'offset': 0, 'ratings': {'1': True}}),
        ('proceed', {'round': '1; DROP TABLE answer'}),
    ],
)
def test_bad_input_is_refused_and_not_repeated(url: str, path: str, body: object) -> None:
    player = Player(url)
    if path != 'enter':
        player.enter()
    before = player.see()
    assert player.ask('POST', f'/api/{path}', body) == (422, {'error': 'invalid'})
    after = player.see()
    for state in (before, after):
        state.pop('order')
        state.pop('remaining', None)
    assert after == before


def test_what_is_no_json_is_refused(url: str) -> None:
    player = Player(url)
    player.enter()
    for body in (b'', b'{', b'\xff\xfe', b'{"round": 1, "slope": NaN, "offset": Infinity}'):
        assert player.ask('POST', '/api/learn', body) == (422, {'error': 'invalid'})
    assert player.see()['learned'] is None


def test_strangers_can_do_nothing(url: str) -> None:
    stranger = Player(url)
    for cookie in ('', f'{COOKIE}=guess', f'{COOKIE}="; DROP TABLE person"'):
        stranger.cookie = cookie
        assert stranger.post('learn', round=1, **LINE) == (401, {'error': 'unknown'})
        assert stranger.post('start') == (401, {'error': 'unknown'})
        assert stranger.post('leave') == (401, {'error': 'unknown'})
        assert stranger.see()['stage'] == 'login'
        with (
            pytest.raises(InvalidStatus, match='403'),
            connect(url.replace('http', 'ws') + '/api/live', additional_headers={'Cookie': cookie}),
        ):
            pass


def test_nobody_reads_or_changes_anothers_answer(url: str) -> None:
    one, two = Player(url), Player(url)
    one.enter('One', 2)
    two.enter('Two', 2)
    assert one.cookie != two.cookie
    assert one.post('learn', round=1, **LINE)[0] == 200
    assert one.see()['learned'] == [LINE['slope'], LINE['offset']]
    assert str(LINE['slope']) not in json.dumps(two.see())
    assert one.post('learn', round=1, slope=0, offset=0) == (409, {'error': 'answered'})
    assert two.post('proceed', round=1) == (409, {'error': 'stage'})
    assert two.post('learn', round=1, slope=0, offset=0)[0] == 200
    assert one.see()['learned'] == [LINE['slope'], LINE['offset']]
    ratings = {str(other['seat']): 0 for other in two.see()['others']}
    mine = str(two.see()['me'])
    assert two.post(
        'aggregate', round=1, ratings={**ratings, mine: 5}, **LINE
    ) == (409, {'error': 'ratings'})


def test_changes_are_told_at_once(url: str) -> None:
    one, two = Player(url), Player(url)
    one.enter('One', 2)
    live = url.replace('http', 'ws') + '/api/live'
    with connect(live, additional_headers={'Cookie': one.cookie}) as socket:
        assert json.loads(socket.recv(60))['names'] == ['One']
        two.enter('Two', 2)
        assert json.loads(socket.recv(60))['stage'] == 'learn'
        two.post('learn', round=1, **LINE)
        text = socket.recv(60)
        assert json.loads(text)['waiting_for'] == 1
        assert str(LINE['slope']) not in str(text)


def test_one_person_holds_a_few_sockets_only(url: str) -> None:
    player = Player(url)
    player.enter()
    live, headers = url.replace('http', 'ws') + '/api/live', {'Cookie': player.cookie}
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(connect(live, additional_headers=headers))
            for _ in range(SOCKETS + 1)
        ]
        for socket in sockets[1:]:
            assert json.loads(socket.recv(60))['stage'] == 'learn'
        assert len(list(sockets[0])) <= 1  # it ends
        player.post('learn', round=1, **LINE)
        assert json.loads(sockets[-1].recv(60))['stage'] == 'aggregate'


def test_too_many_requests_are_refused(url: str) -> None:
    player = Player(url)
    player.enter()
    answers = [player.post('learn', round=2, **LINE) for _ in range(200)]
    assert answers[0] == (409, {'error': 'stage'})
    assert (429, {'error': 'slow'}) in answers
    other = Player(url)  # who is not kept from playing by that
    other.enter()
    assert other.post('learn', round=1, **LINE)[0] == 200


def test_somebody_who_takes_too_long_is_not_waited_for(serve: Serve, tmp_path: Path) -> None:
    store = Store(tmp_path / 'short')
    url = serve(game_app(Host(store, Limits(learn=1, aggregate=3600, result=3600)), None))
    player = Player(url)
    player.enter()
    live = url.replace('http', 'ws') + '/api/live'
    with connect(live, additional_headers={'Cookie': player.cookie}) as socket:
        while (state := json.loads(socket.recv(60)))['stage'] == 'learn':
            pass
    assert state['stage'] == 'aggregate'
    assert state['learned'] is None
    ratings = {str(other['seat']): 0 for other in state['others']}
    assert player.post('aggregate', round=1, ratings=ratings, **LINE)[1]['stage'] == 'result'
