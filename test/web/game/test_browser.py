"""Whole games in real browsers, against a real server."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.action_chains import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from delama_ros.experiments.human.game import Limits
from delama_ros.experiments.human.host import Host
from delama_ros.experiments.human.store import Store
from delama_ros.web.game.app import game_app

Wait = Callable[[Callable[[], Any]], Any]
Point = tuple[float, float]
PATIENT = Limits(learn=3600, aggregate=3600, result=3600)


class Page:
    """A person at a browser."""

    def __init__(self, driver: WebDriver, url: str, wait: Wait) -> None:
        self.driver, self.url, self.wait = driver, url, wait
        driver.get(url)
        self.expect('login')

    def expect(self, stage: str, number: int | None = None) -> None:
        """Wait for a stage, and check that nothing hangs out of the window."""
        place = f'#page[data-stage={stage}]' + (f'[data-round="{number}"]' if number else '')
        self.wait(lambda: self.find(place))
        width = 'document.documentElement.scrollWidth - window.innerWidth'
        assert self.driver.execute_script(f'return {width}') <= 0

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        """Click when it can be clicked; a page may just be changing."""
        self.wait(lambda: self._clicked(selector))

    def _clicked(self, selector: str) -> bool:
        element = self.find(selector)
        self.driver.execute_script('arguments[0].scrollIntoView({block: "center"})', element)
        element.click()
        return True

    def enter(self, name: str, people: int, quality: str) -> None:
        self.find('#name').send_keys(name)
        Select(self.find('#people')).select_by_value(str(people))
        Select(self.find('#quality')).select_by_value(quality)
        self.click('#play')

    def draw(self, start: Point, end: Point, kind: str = 'mouse') -> list[float]:
        """Drag across the plot, in x and y of the plot; returns the line that came of it."""
        plot = self.find('svg.plot')
        self.driver.execute_script('arguments[0].scrollIntoView({block: "center"})', plot)
        width = plot.rect['width']
        # From the middle of the plot, whose drawing is 600 wide with a margin of 34.
        scale = width / 600 * (600 - 68)
        places = [(round(x / 11.2 * scale), round(-y / 40 * scale)) for x, y in (start, end)]
        hand = ActionBuilder(self.driver, mouse=PointerInput(kind, kind))
        pointer = hand.pointer_action
        pointer.move_to(plot, *places[0]).pointer_down()
        pointer.move_to(plot, *(sum(c) // 2 for c in zip(*places, strict=True)))  # type: ignore[arg-type]
        pointer.move_to(plot, *places[1]).pointer_up()
        hand.perform()
        return self.line()

    def line(self) -> list[float]:
        """Return the own line, as the page writes it: y = slope x + offset."""
        words = self.find('.equation').text.replace('−', '-').split()
        return [float(words[2]), float(words[-2] + words[-1])] if words else []

    def rate(self, ratings: list[int]) -> None:
        for row, rating in enumerate(ratings):
            self.click(f'.rating:nth-of-type({row + 1}) .choice:nth-of-type({rating + 1})')

    def rated(self) -> list[str]:
        chosen = self.all('.rating input:checked')
        return [radio.get_attribute('value') or '' for radio in chosen]

    def problems(self) -> list[Any]:
        """Return what the browser complained about, such as scripts or hosts not allowed."""
        asked = self.driver.execute_script(
            'return performance.getEntriesByType("resource").map((entry) => entry.name)'
        )
        return [
            *(entry for entry in self.driver.get_log('browser') if entry['level'] == 'SEVERE'),  # type: ignore[attr-defined]
            *(name for name in asked if not name.startswith(self.url)),
        ]


@pytest.fixture
def game(
    tmp_path: Path, serve: Callable[[FastAPI], str], wait: Wait,
    open_browser: Callable[..., WebDriver],
) -> Iterator[tuple[Callable[[], Page], Path]]:
    store = Store(tmp_path / 'db')
    url = serve(game_app(Host(store, PATIENT, seed=1), None))
    yield lambda: Page(open_browser(), url, wait), tmp_path / 'db'
    store.close()


def as_phone(page: Page) -> None:
    metrics = {'width': 360, 'height': 740, 'deviceScaleFactor': 2, 'mobile': True}
    page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', metrics)  # type: ignore[attr-defined]
    page.driver.execute_cdp_cmd('Emulation.setTouchEmulationEnabled', {'enabled': True})  # type: ignore[attr-defined]


def test_two_people_and_two_agents(game: tuple[Callable[[], Page], Path]) -> None:
    open_page, database = game
    name = '<img src=x>&amp;'
    ada = open_page()
    ada.enter('Ada', 2, 'medium')
    ada.expect('waiting')
    assert [item.text for item in ada.all('#names li')] == ['Ada (you)']
    bob = open_page()
    as_phone(bob)
    bob.enter(name, 2, 'medium')

    for t in (1, 2, 3):
        ada.expect('learn', t)
        bob.expect('learn', t)
        assert len(ada.all('circle.point')) == 5
        ada.click('#submit')  # without a line it is not possible
        ada.wait(lambda: 'Draw a line first' in ada.find('[role=alert]').text)
        first = ada.draw((-4, -5), (4, 3 * t))
        assert first == pytest.approx([(3 * t + 5) / 8, (3 * t - 5) / 2], abs=0.3)
        second = ada.draw((-4, 5), (4, -2))
        assert second == pytest.approx([-7 / 8, 1.5], abs=0.3)
        ada.click('.undo')
        assert ada.line() == first
        if t == 1:  # what is drawn and not submitted outlives a reload, and only here
            ada.driver.refresh()
            ada.expect('learn', 1)
            ada.wait(lambda drawn=first: ada.line() == drawn)
        ada.click('#submit')
        ada.wait(lambda: 'Waiting for one more player' in ada.find('#status').text)
        if t == 2:  # somebody leaves, and returns
            bob.driver.get('about:blank')
            bob.driver.get(bob.url)
            bob.expect('learn', 2)
        assert not bob.all('.others .seat-line')
        assert bob.draw((-4, 2), (3, -6), 'touch') == pytest.approx([-8 / 7, -18 / 7], abs=0.4)
        bob.click('#submit')

        for page, ratings in ((ada, [0, 5, t]), (bob, [1, 2, 3])):
            page.expect('aggregate', t)
            assert len(page.all('.others .seat-line')) == 3
            page.rate(ratings[:2])
            page.click('#submit')
            page.wait(lambda page=page: 'Rate every line' in page.find('[role=alert]').text)
            page.rate(ratings)
            if t == 3:
                page.driver.refresh()
                page.expect('aggregate', 3)
            assert page.rated() == [str(rating) for rating in ratings]
            if page is bob:
                page.draw((-4, t), (4, t), 'touch')
            page.click('#submit')
        for page in (ada, bob):
            page.expect('result', t)
            assert float(page.find('#loss').text) > 0
            page.click('#next')

    connection = sqlite3.connect(database)
    for page in (ada, bob):
        page.expect('final')
        assert name in page.find('#leaderboard').text
        assert not page.all('img')
        check_final(page, connection)
        assert page.problems() == []
    ratings = connection.execute(
        'SELECT rating FROM rating JOIN seat USING (game, seat) WHERE seat.name = ? '
        'ORDER BY round, rated', ('Ada',),
    ).fetchall()
    assert [rating for (rating,) in ratings] == [0, 5, 1, 0, 5, 2, 0, 5, 3]
    ada.click('#again')
    ada.expect('login')
    assert ada.find('#name').get_attribute('value') == 'Ada'


def check_final(page: Page, connection: sqlite3.Connection) -> None:
    """Compare the leaderboard with the database, and with losses computed another way."""
    x = np.linspace(-5, 5, 20_001)
    groups = connection.execute('SELECT targets FROM game').fetchone()[0]
    targets = connection.execute('SELECT slope, offset FROM target ORDER BY target').fetchall()
    rows = page.all('#leaderboard tbody tr')
    last = []
    for row in rows:
        seat = int(row.get_attribute('data-seat') or -1)
        shown = [float(cell.text) for cell in row.find_elements(By.CSS_SELECTOR, '.loss-cell')]
        stored = connection.execute(
            "SELECT slope, offset, mse FROM answer WHERE seat = ? AND stage = 'aggregate' "
            'ORDER BY round', (seat,),
        ).fetchall()
        assert shown == [float(f'{mse:.3g}') for *_, mse in stored]
        for slope, offset, mse in stored:
            target = targets[int(groups[seat])]
            error = np.mean((np.polyval((slope, offset), x) - np.polyval(target, x)) ** 2)
            assert mse == pytest.approx(error, rel=1e-3)
        last.append(stored[-1][2])
    assert len(rows) == 4
    assert last == sorted(last)


def test_alone_with_the_keyboard_only(game: tuple[Callable[[], Page], Path]) -> None:
    open_page, database = game
    page = open_page()

    def press(*keys: str) -> None:
        ActionChains(page.driver).send_keys(*keys).perform()

    def go_to(selector: str) -> None:
        for _ in range(60):
            if page.driver.execute_script('return document.activeElement.matches(arguments[0])',
                                          selector):
                return
            press(Keys.TAB)
        raise AssertionError(f'Tab does not lead to {selector}')

    go_to('#name')
    press('Kay', Keys.ENTER)
    for t in (1, 2, 3):
        page.expect('learn', t)
        go_to('svg.plot')
        press(Keys.ENTER, *[Keys.PAGE_UP] * 2, Keys.ARROW_UP)
        assert page.line() == pytest.approx([-2.1 / 9.2, 1.05], abs=0.011)
        ActionChains(page.driver).key_down(Keys.CONTROL).send_keys('z').key_up(Keys.CONTROL).perform()
        assert page.line() == pytest.approx([-2 / 9.2, 1.0], abs=0.011)
        go_to('#submit')
        press(Keys.ENTER)
        page.expect('aggregate', t)
        for seat in [row.get_attribute('data-seat') for row in page.all('.rating')]:
            go_to(f'[name=rating{seat}]')
            press(Keys.SPACE, Keys.ARROW_RIGHT)
        assert page.rated() == ['1', '1', '1']
        go_to('#submit')
        press(Keys.ENTER)
        page.expect('result', t)
        go_to('#next')
        press(Keys.ENTER)
    page.expect('final')
    check_final(page, sqlite3.connect(database))
    assert page.problems() == []
