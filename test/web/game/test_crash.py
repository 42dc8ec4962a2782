"""The server is killed in the middle of a game: nothing submitted is lost, and the game goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

Wait = Callable[[Callable[[], Any]], Any]


class Server:
    """`delama human` as a process of its own, in a session of its own."""

    def __init__(self, database: Path, port: int, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable, '-m', 'delama_ros.cli.main', 'human', '--db', str(database),
                '--port', str(port), *arguments,
            ],
            stdout=subprocess.PIPE, text=True,
        )
        assert self._process.stdout is not None
        self.lines = [self._process.stdout.readline() for _ in range(2)]
        found = re.search(r'http://\S+:(\d+)/', self.lines[0])
        assert found, self.lines
        self.port = int(found[1])

    def end(self, number: signal.Signals) -> int:
        os.kill(self._process.pid, number)
        return self._process.wait(60)


class Player:
    def __init__(self) -> None:
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def ask(self, port: int, path: str, **body: object) -> Any:
        request = urllib.request.Request(
            f'http://127.0.0.1:{port}/api/{path}',
            json.dumps(body).encode() if body else None,
            {'Content-Type': 'application/json'},
        )
        with self.opener.open(request, timeout=60) as answer:
            return json.load(answer)


def test_kill_9_in_the_middle(tmp_path: Path, wait: Wait) -> None:
    database = tmp_path / 'human.sqlite'
    one, two = Player(), Player()
    server = Server(database, 0)
    port = server.port
    for player in (one, two):
        wait(lambda player=player: player.ask(port, 'state'))
        player.ask(port, 'enter', name='x', quality='low', people=2)
    for t in (1, 2, 3):
        for k, player in enumerate((one, two)):
            player.ask(port, 'learn', round=t, slope=0.25 * t + k, offset=1 / 3)
            # Killed right after the answer: after the first, and after the last of a stage.
            if (t, k) in ((1, 0), (2, 1)):
                assert server.end(signal.SIGKILL) == -signal.SIGKILL
                server = Server(database, port)
            state = wait(lambda player=player: player.ask(port, 'state'))
            assert state['learned'] == [0.25 * t + k, 1 / 3]
            assert state['stage'] == ('learn' if k == 0 else 'aggregate')
        for k, player in enumerate((one, two)):
            others = player.ask(port, 'state')['others']
            ratings = {str(other['seat']): 2 for other in others}
            player.ask(port, 'aggregate', round=t, slope=t, offset=k, ratings=ratings)
        before = one.ask(port, 'state')
        assert before['stage'] == 'result'
        for player in (one, two):
            state = player.ask(port, 'proceed', round=t)
    assert state['stage'] == 'final'
    assert state['history'][2]['aggregated'][before['me']] == [3, 0]
    assert server.end(signal.SIGINT) == 0


def test_the_join_code_survives_a_restart(tmp_path: Path) -> None:
    codes = []
    for _ in range(2):
        server = Server(tmp_path / 'db', 0, '--host', '0.0.0.0')
        codes.append(server.lines[1])
        server.end(signal.SIGKILL)
    assert codes[0] == codes[1]
    assert re.fullmatch(r'join code: [A-Z2-9]{8}\n', codes[0])
