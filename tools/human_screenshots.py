"""Plays a game in two browsers and writes the screenshots of docs/human.md.

Usage: python tools/human_screenshots.py docs/images (needs chromium and chromium-driver).
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--hide-scrollbars')
PHONE = {'width': 375, 'height': 760, 'deviceScaleFactor': 2, 'mobile': True}
MARGIN = 24  # px
COLOURS = 64  # of the written pictures, which are flat: a quarter of the size, no difference to see


class Page:
    """Somebody at a browser, who draws what least squares would, not quite."""

    def __init__(self, url: str, folder: Path) -> None:
        options = Options()
        options.binary_location = '/usr/bin/chromium'
        for flag in (*FLAGS, f'--user-data-dir={tempfile.mkdtemp()}', '--window-size=1060,870'):
            options.add_argument(flag)
        self.driver = webdriver.Chrome(options=options, service=Service('/usr/bin/chromedriver'))
        self.folder = folder
        self.driver.get(url)

    def expect(self, stage: str, number: int = 0) -> None:
        """Wait for a stage."""
        place = f'#page[data-stage={stage}]' + (f'[data-round="{number}"]' if number else '')
        WebDriverWait(self.driver, 60).until(
            lambda driver: driver.find_elements(By.CSS_SELECTOR, place)
        )

    def click(self, selector: str) -> None:
        """Click on something."""
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def enter(self, name: str) -> None:
        """Fill in the form."""
        self.driver.find_element(By.ID, 'name').send_keys(name)
        Select(self.driver.find_element(By.ID, 'people')).select_by_value('2')

    def state(self) -> Any:
        """Return what the page knows."""
        return self.driver.execute_async_script(
            'const done = arguments[0];'
            'fetch("/api/state").then((answer) => answer.json()).then(done)'
        )

    def draw(self, wrong: float) -> None:
        """Draw a line whose slope is wrong by this much."""
        x, y = np.array(self.state()['points']).T
        slope, offset = np.polyfit(x, y, 1)
        plot = self.driver.find_element(By.CSS_SELECTOR, 'svg.plot')
        scale = plot.rect['width'] / 600 * (600 - 68)
        ends = [
            (round(at / 11.2 * scale), round(-(slope * at + offset + wrong * at) / 40 * scale))
            for at in (-4.0, 4.0)
        ]
        hand = ActionChains(self.driver).move_to_element_with_offset(plot, *ends[0])
        hand.click_and_hold().move_to_element_with_offset(plot, *ends[1]).release().perform()

    def rate(self) -> None:
        """Rate lines by how near they are."""
        state = self.state()
        for row, other in enumerate(state['others'], 1):
            distance = np.hypot(*np.subtract(other['line'], state['learned']))
            rating = int(np.clip(5 - distance, 0, 5))
            self.click(f'.rating:nth-of-type({row}) .choice:nth-of-type({rating + 1})')
        ActionChains(self.driver).move_to_element(
            self.driver.find_element(By.CSS_SELECTOR, 'h1')
        ).perform()

    def shoot(self, name: str) -> None:
        """Write a picture."""
        path = self.folder / f'human_{name}.png'
        self.driver.save_screenshot(str(path))
        picture = Image.open(path).convert('RGB')
        # Without the empty part below the page.
        pixels = np.asarray(picture)
        rows = np.flatnonzero((pixels != pixels[-1, 0]).any((1, 2)))
        height = min(picture.height, int(rows[-1]) + MARGIN)
        picture.crop((0, 0, picture.width, height)).quantize(COLOURS).save(path, optimize=True)


def main() -> None:
    """Start a server, play, and write the pictures."""
    folder = Path(sys.argv[1])
    with serve('127.0.0.1') as url:
        play(Page(url, folder), Page(url, folder))
    with serve('0.0.0.0') as url:
        page = Page(url, folder)
        page.shoot('join')
        page.driver.quit()


@contextmanager
def serve(host: str) -> Iterator[str]:
    """Run a server; gives its address on this machine."""
    with tempfile.TemporaryDirectory() as place:
        command = ['human', '--db', f'{place}/db', '--host', host, '--port', '0', '--seed', '9']
        server = subprocess.Popen(
            [sys.executable, '-m', 'delama_ros.cli.main', *command],
            stdout=subprocess.PIPE, text=True,
        )
        try:
            assert server.stdout is not None
            port = re.search(r':(\d+)/', server.stdout.readline())
            assert port
            yield f'http://127.0.0.1:{port[1]}/'
        finally:
            server.terminate()
            server.wait()


def play(ada: Page, bob: Page) -> None:
    """Play three rounds; Bob has a phone."""
    bob.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', PHONE)
    ada.expect('login')
    bob.expect('login')
    ada.enter('Ada')
    ada.shoot('login')
    ada.click('#play')
    ada.expect('waiting')
    ada.shoot('waiting')
    bob.enter('Bob')
    bob.click('#play')
    for t in (1, 2, 3):
        for page in (ada, bob):
            page.expect('learn', t)
            page.draw(0.5 / t)
            if t == 1:
                page.shoot('learn' if page is ada else 'phone_learn')
            page.click('#submit')
        for page in (ada, bob):
            page.expect('aggregate', t)
            page.rate()
            if t == 1:
                page.shoot('aggregate' if page is ada else 'phone_aggregate')
            page.click('#submit')
        for page in (ada, bob):
            page.expect('result', t)
            if t == 2 and page is ada:
                page.shoot('result')
            page.click('#next')
    for page in (ada, bob):
        page.expect('final')
        page.shoot('final' if page is ada else 'phone_final')
        page.driver.quit()


if __name__ == '__main__':
    main()
