"""The page in a real browser: what it shows, how it is used, that it comes back by itself."""

import base64
import io
import math
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from rcl_interfaces.msg import Log
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from delama_ros.web.view.serve import Server, application
from delama_ros.web.view.watch import Watch

STEPS = 6
ROBOTS = ('/fleet/ada', '/fleet/bob', '/robot3')
PICTURE = 'return document.querySelector(`[data-panel="${arguments[0]}"] canvas`).toDataURL()'


class Seen:
    """The page of a fleet's run, as somebody sees it."""

    def __init__(self, driver: WebDriver, fleet: Any, watch: Watch) -> None:
        self.driver, self.fleet, self.watch = driver, fleet, watch

    def text(self, selector: str) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def texts(self, selector: str) -> list[str]:
        return [e.text for e in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def click(self, selector: str) -> None:
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def pixels(self, robot: str) -> np.ndarray:
        """Return a panel's map as it stands on the screen, red, green and blue."""
        url = self.driver.execute_script(PICTURE, robot)
        picture = Image.open(io.BytesIO(base64.b64decode(url.partition(',')[2])))
        return np.asarray(picture.convert('RGB'))

    def walls(self, robot: str) -> float:
        """Share of a panel that is as dark as walls are."""
        return float((self.pixels(robot).max(-1) < 60).mean())

    def slide_to(self, seconds: float) -> None:
        self.driver.execute_script(
            "const slider = document.getElementById('time'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'));",
            seconds,
        )

    def mean(self, step: int) -> str:
        """Mean F1 that the page must show at a step."""
        everything = self.watch.scores.part(0, self.watch.scores.count(math.inf))
        return f'{100 * np.mean([s[2] for s in everything if s[1] == step]):.1f} %'


@pytest.fixture
def seen(make_fleet: Any, open_browser: Any, serve: Any, wait: Any) -> Seen:
    fleet = make_fleet(*ROBOTS, steps=STEPS)
    watch = Watch('a run', live=False)
    fleet.run(watch)
    driver = open_browser()
    driver.get(serve(application(watch, None)))
    page = Seen(driver, fleet, watch)
    wait(lambda: len(page.texts('[data-robot]')) == len(ROBOTS))
    return page


def test_every_robot_has_its_map_name_figures_and_score(seen: Seen, wait: Any) -> None:
    assert seen.texts('.panel b') == ['ada', 'bob', 'robot3']
    assert seen.texts('.robot .name') == ['ada', 'bob', 'robot3']
    for robot in ROBOTS:
        assert wait(lambda robot=robot: 0.02 < seen.walls(robot) < 0.5)
    facts = {f: seen.text(f'[data-robot="/robot3"] [data-fact={f}]') for f in ('step', 'peers')}
    assert facts == {'step': str(STEPS), 'peers': '2 / 2'}
    assert seen.text('[data-robot="/robot3"] [data-fact=late]') == '1'
    assert seen.text('[data-robot="/robot3"] [data-fact=refused]') == '2'
    assert seen.text('[data-robot="/robot3"] [data-fact=bytes]') == '1.2 KB / 7.4 KB'
    assert seen.text('#mean') == seen.mean(STEPS)
    logged = seen.driver.get_log('browser') if 'browser' in seen.driver.log_types else []
    assert [line for line in logged if line['level'] == 'SEVERE'] == []


def test_time_can_be_scrubbed_and_played(seen: Seen, wait: Any) -> None:
    late = seen.pixels(ROBOTS[0])
    seen.slide_to(4.5)
    wait(lambda: seen.text('#mean') == seen.mean(2) != seen.mean(STEPS))
    assert seen.text('[data-robot="/robot3"] [data-fact=step]') == '2'
    assert (seen.pixels(ROBOTS[0]) != late).any()
    seen.slide_to(0.1)
    wait(lambda: seen.texts('.robot .state') == ['not received yet'] * 3)
    wait(lambda: seen.walls(ROBOTS[0]) < 0.005)
    seen.driver.find_element(By.CSS_SELECTOR, '#speed').send_keys('30')
    seen.click('#play')
    wait(lambda: seen.text('#clock') == '12.0 s' and seen.text('#play') == 'Play')
    wait(lambda: (seen.pixels(ROBOTS[0]) == late).all())
    seen.slide_to(4.5)
    wait(lambda: seen.text('#clock') == '4.5 s')
    seen.click('#newest')
    wait(lambda: seen.text('#clock') == '12.0 s')


def test_one_map_layers_and_keys(seen: Seen, wait: Any) -> None:
    seen.click('[data-robot="/fleet/bob"] .head')
    wait(lambda: seen.texts('.panel b') == ['bob'])
    for key in 's', 'w', 'g', 'n', 't':
        before = seen.pixels('/fleet/bob')
        seen.driver.switch_to.active_element.send_keys(key)
        wait(lambda before=before: (seen.pixels('/fleet/bob') != before).any())
    panels = seen.driver.find_element(By.ID, 'panels')
    for key in '+', Keys.ARROW_LEFT, '0':
        before = seen.pixels('/fleet/bob')
        panels.send_keys(key)
        wait(lambda before=before: (seen.pixels('/fleet/bob') != before).any())
    panels.send_keys('3')
    wait(lambda: seen.texts('.panel b') == ['robot3'])
    panels.send_keys('m')
    wait(lambda: seen.texts('.panel b') == ['ada', 'bob', 'robot3'])
    panels.send_keys('?')
    wait(lambda: 'play or pause' in seen.text('dialog[open]'))


def test_what_robots_say_is_text_and_nothing_else(seen: Seen, wait: Any) -> None:
    evil = '<img src=x onerror="document.title=1"><b>hello</b>'
    seen.fleet.feed(seen.watch, '/rosout', Log(level=30, name=evil, msg=evil), 12.0)
    wait(lambda: evil in seen.text('#log li:last-child'))
    assert seen.driver.find_elements(By.CSS_SELECTOR, '#log img, #log b') == []
    assert seen.driver.title == 'delama view'


def saved(folder: Path, pattern: str) -> Path | None:
    return next(iter(folder.glob(pattern)), None)


def test_a_still_and_an_animation_can_be_saved(seen: Seen, wait: Any, tmp_path: Path) -> None:
    folder = tmp_path / 'saved'
    folder.mkdir()
    seen.driver.execute_cdp_cmd(
        'Browser.setDownloadBehavior', {'behavior': 'allow', 'downloadPath': str(folder)}
    )
    seen.click('#still')
    still = Image.open(wait(lambda: saved(folder, '*.png')))
    assert (np.asarray(still.convert('L')) < 60).mean() > 0.01
    seen.driver.set_window_size(620, 600)
    seen.click('#gif')
    gif = Image.open(wait(lambda: saved(folder, '*.gif')))
    assert gif.n_frames == 60
    assert min(gif.size) > 200
    frames = []
    for number in (0, 30, 59):
        gif.seek(number)
        frames.append(np.asarray(gif.convert('L')))
    dark = [float((frame < 60).mean()) for frame in frames]
    assert dark[0] < 0.005  # before the first step there is nothing
    assert 0.01 < dark[1] < dark[2]
    assert seen.text('#gif') == 'Save GIF'
    assert seen.text('#clock') == '12.0 s'


def test_a_phone_shows_all_without_sideways_scrolling(seen: Seen, wait: Any) -> None:
    seen.driver.execute_cdp_cmd(
        'Emulation.setDeviceMetricsOverride',
        {'width': 360, 'height': 740, 'deviceScaleFactor': 2, 'mobile': True},
    )
    size = 'return [document.documentElement.scrollWidth, window.innerWidth]'
    wait(lambda: seen.driver.execute_script(size) == [360, 360])
    assert wait(lambda: all(0.02 < seen.walls(robot) < 0.5 for robot in ROBOTS))


def test_the_page_comes_back_by_itself(make_fleet: Any, open_browser: Any, wait: Any) -> None:
    fleet = make_fleet('/ada', '/bob', steps=4)
    first = Watch('first', live=False)
    fleet.run(first, 2)
    server = Server(first, '127.0.0.1', 0)
    port = urlsplit(server.address).port
    driver = open_browser()
    try:
        driver.get(server.address)
        page = Seen(driver, fleet, first)
        wait(lambda: page.text('[data-robot="/bob"] [data-fact=step]') == '2')
    finally:
        server.stop()
    wait(lambda: 'connection lost' in page.text('#banner'))
    assert page.walls('/bob') > 0.02  # what was there stays
    second = Watch('second', live=False)
    fleet.run(second, 4)
    server = Server(second, '127.0.0.1', port)
    try:
        wait(lambda: page.text('[data-robot="/bob"] [data-fact=step]') == '4')
        wait(lambda: page.text('#source') == 'recording second')
        assert page.text('#banner') == ''
    finally:
        server.stop()


def test_from_other_machines_only_with_the_code(
    make_fleet: Any, open_browser: Any, wait: Any
) -> None:
    watch = Watch('a run', live=False)
    fleet = make_fleet('/ada')
    fleet.run(watch, 1)
    server = Server(watch, '0.0.0.0', 0)
    try:
        code = server.address.partition('code=')[2]
        port = urlsplit(server.address).port
        page = Seen(open_browser(), fleet, watch)
        page.driver.get(f'http://127.0.0.1:{port}/')
        wait(lambda: page.text('h1') == 'Join')
        page.driver.get(f'http://127.0.0.1:{port}/join?code={code}')
        wait(lambda: page.texts('.robot .name') == ['ada'])
    finally:
        server.stop()
