"""What tests of pages share: real servers on free ports and real headless browsers."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from fastapi import FastAPI

from delama_ros.web.serving import listen, make_server

if TYPE_CHECKING:  # without selenium, only tests that open a browser are skipped
    from selenium.webdriver.remote.webdriver import WebDriver

T = TypeVar('T')

PATIENCE = 120.0  # s; a loaded machine is slow, a broken page never gets there
FLAGS = (
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--disable-dev-shm-usage', '--window-size=1100,900',
)

OpenBrowser = Callable[..., 'WebDriver']
Wait = Callable[[Callable[[], T]], T]
Serve = Callable[[FastAPI], str]


@pytest.fixture
def open_browser(tmp_path: Path) -> Iterator[OpenBrowser]:
    """Open browsers, each with an empty profile of its own; they are closed after the test."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    programs = shutil.which('chromium'), shutil.which('chromedriver')
    if not all(programs):
        pytest.skip('no chromium here: sudo apt-get install chromium chromium-driver')
    drivers: list[WebDriver] = []

    def opened(*flags: str) -> WebDriver:
        options = Options()
        options.binary_location = str(programs[0])
        profile = tmp_path / f'profile{len(drivers)}'
        for flag in (*FLAGS, f'--user-data-dir={profile}', *flags):
            options.add_argument(flag)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        driver = webdriver.Chrome(options=options, service=Service(str(programs[1])))
        driver.set_page_load_timeout(PATIENCE)
        drivers.append(driver)
        return driver

    yield opened
    for driver in drivers:
        driver.quit()


@pytest.fixture
def wait() -> Wait[object]:
    """Wait until a condition returns something true, and return that; errors count as not yet."""

    def until(condition: Callable[[], T]) -> T:
        deadline = time.monotonic() + PATIENCE
        while True:
            last: object
            try:
                last = condition()
            except Exception as error:
                last = error
            else:
                if last:
                    return last
            assert time.monotonic() < deadline, f'waited {PATIENCE} s in vain: {last}'
            time.sleep(0.05)

    return until


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve applications on free ports of this machine in threads; returns their addresses."""
    running = []

    def served(app: FastAPI) -> str:
        listener = listen(port=0)
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={'sockets': [listener]})
        thread.start()
        running.append((server, thread))
        return f'http://127.0.0.1:{listener.getsockname()[1]}'

    yield served
    for server, thread in running:
        server.should_exit = True
        thread.join()
