"""Load on the game's server: 50 participants at once, each a client with a web socket of its own.

Twelve games of four people and one of two people with two agents, over real HTTP to a server in a
process of its own. Participants think for up to three seconds, where people take many.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.client import connect

CROWDS = [4] * 48 + [2] * 2  # how many people each participant wants to play with
THINK = 3.0  # s at most
PATIENCE = 300.0  # s for all games

# game, round, seat and stage → the line sent; game, round, seat and rated seat → the rating.
Sent = dict[tuple[Any, ...], Any]


class Participant:
    """One client: acts over a kept connection, and receives changes through the web socket."""

    def __init__(self, port: int, number: int, seed: int) -> None:
        self._port, self._number = port, number
        self._rng = np.random.default_rng([seed, number])
        self._cookie = ''
        self.times: list[float] = []  # s that each act took
        self.sent: Sent = {}

    async def play(self, people: int) -> None:
        """Play one game to its end."""
        self._reader, self._writer = await asyncio.open_connection('127.0.0.1', self._port)
        await self._act('enter', name=f'p{self._number}', quality='medium', people=people)
        live = f'ws://127.0.0.1:{self._port}/api/live'
        async with connect(live, additional_headers={'Cookie': self._cookie}) as socket:
            async for text in socket:
                state = json.loads(text)
                if state['stage'] == 'final':
                    break
                if state['stage'] != 'waiting' and not state['answered']:
                    await self._answer(state)
        self._writer.close()

    async def _answer(self, state: dict[str, Any]) -> None:
        key = (state['game'], state['round'], state['me'], state['stage'])
        if key in self.sent:  # an answer of somebody else arrived while this one was on its way
            return
        self.sent[key] = line = self._rng.normal(size=2).tolist()
        body: dict[str, Any] = {'round': state['round']}
        if state['stage'] != 'result':
            body |= {'slope': line[0], 'offset': line[1]}
        if state['stage'] == 'aggregate':
            body['ratings'] = {
                str(other['seat']): int(self._rng.integers(6)) for other in state['others']
            }
            for rated, rating in body['ratings'].items():
                self.sent[(*key[:3], int(rated))] = rating
        await asyncio.sleep(self._rng.uniform(0, THINK))
        path = {'learn': 'learn', 'aggregate': 'aggregate', 'result': 'proceed'}[state['stage']]
        await self._act(path, **body)

    async def _act(self, path: str, **body: Any) -> None:
        data = json.dumps(body).encode()
        head = (
            f'POST /api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nCookie: {self._cookie}'
            f'\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n'
        )
        start = time.perf_counter()
        self._writer.write(head.encode() + data)
        answer = (await self._reader.readuntil(b'\r\n\r\n')).decode()
        length = re.search(r'content-length: (\d+)', answer, re.IGNORECASE)
        assert length, answer
        text = await self._reader.readexactly(int(length[1]))
        self.times.append(time.perf_counter() - start)
        if ' 200 ' not in answer.splitlines()[0]:
            raise RuntimeError(f'{path}: {answer.splitlines()[0]} {text.decode()}')
        if cookie := re.search(r'set-cookie: ([^;]+)', answer, re.IGNORECASE):
            self._cookie = cookie[1]


def run(*, seed: int = 0) -> dict[str, float]:
    """Let all participants play, and compare what is stored with what they sent."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / 'human.sqlite'
        server = subprocess.Popen(
            [sys.executable, '-m', 'delama_ros.web.game.serve', str(database), str(seed)],
            stdout=subprocess.PIPE, text=True,
        )
        try:
            assert server.stdout is not None
            found = re.search(r':(\d+)/', server.stdout.readline())
            assert found, 'the server did not start'
            participants = [
                Participant(int(found[1]), number, seed) for number in range(len(CROWDS))
            ]
            seconds = asyncio.run(_play(participants))
        finally:
            server.terminate()
            server.wait()
        sent = {key: value for player in participants for key, value in player.sent.items()}
        games, wrong = _compare(sqlite3.connect(database), sent)
    times = sorted(1e3 * t for player in participants for t in player.times)
    return {
        'participants': len(participants),
        'games finished': games,
        'acts': len(times),
        'acts per second': len(times) / seconds,
        'answers not stored as sent': wrong,
        'median response, ms': statistics.median(times),
        '99 % of responses within, ms': times[int(0.99 * len(times))],
        'longest response, ms': times[-1],
    }


async def _play(participants: list[Participant]) -> float:
    """Return how long all games together took."""
    start = time.perf_counter()
    everybody = (
        player.play(people) for player, people in zip(participants, CROWDS, strict=True)
    )
    await asyncio.wait_for(asyncio.gather(*everybody), PATIENCE)
    return time.perf_counter() - start


def _compare(database: sqlite3.Connection, sent: Sent) -> tuple[int, int]:
    """Return how many games were finished, and how many answers are missing or not as sent."""
    games = database.execute("SELECT count(*) FROM game WHERE stage = 'final'").fetchone()[0]
    stored: Sent = {
        tuple(key): [slope, offset]
        for *key, slope, offset in database.execute(
            'SELECT game, round, seat, stage, slope, offset FROM answer'
        )
    }
    for *key, rating in database.execute('SELECT game, round, seat, rated, rating FROM rating'):
        stored[tuple(key)] = rating
    wrong = sum(
        stored.get(key) != value for key, value in sent.items() if key[3] != 'result'
    )
    return games, wrong
