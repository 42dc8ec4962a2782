"""The server is killed in the middle of a game: nothing submitted is lost, and the game goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver

Wait = Callable[[Callable[[], Any]], Any]
Start = Callable[..., 'Server']


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
        if self._process.poll() is None:
            os.kill(self._process.pid, number)
        return self._process.wait(60)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers on one database; none outlives the test."""
    servers: list[Server] = []

    def started(port: int, *arguments: str) -> Server:
        servers.append(Server(tmp_path / 'human.sqlite', port, *arguments))
        return servers[-1]

    yield started
    for server in servers:
        server.end(signal.SIGKILL)


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


def test_kill_9_in_the_middle(start: Start, wait: Wait) -> None:
    one, two = Player(), Player()
    server = start(0)
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
                server = start(port)
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


def test_the_join_code_survives_a_restart(start: Start) -> None:
    codes = []
    for _ in range(2):
        server = start(0, '--host', '0.0.0.0')
        codes.append(server.lines[1])
        server.end(signal.SIGKILL)
    assert codes[0] == codes[1]
    assert re.fullmatch(r'join code: [A-Z2-9]{8}\n', codes[0])


def test_a_page_lives_through_it(
    start: Start, wait: Wait, open_browser: Callable[..., WebDriver]
) -> None:
    server = start(0)
    browser = open_browser()
    browser.get(f'http://127.0.0.1:{server.port}/')
    wait(lambda: browser.find_element(By.ID, 'name')).send_keys('Eve\n')
    plot = wait(lambda: browser.find_element(By.CSS_SELECTOR, '[data-stage=learn] svg.plot'))
    drag = ActionChains(browser).move_to_element_with_offset(plot, -100, 50).click_and_hold()
    drag.move_to_element_with_offset(plot, 100, -50).release().perform()
    line = browser.find_element(By.CSS_SELECTOR, '.equation').text
    assert line
    offline = browser.find_element(By.ID, 'offline')
    assert not offline.is_displayed()
    server.end(signal.SIGKILL)
    wait(offline.is_displayed)
    server = start(server.port)
    wait(lambda: not offline.is_displayed())
    assert browser.find_element(By.CSS_SELECTOR, '.equation').text == line
    browser.find_element(By.ID, 'submit').click()
    wait(lambda: browser.find_element(By.CSS_SELECTOR, '[data-stage=aggregate]'))
