"""The page that asks for the join code, in a real browser."""

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver

from delama_ros.web.guard import Access
from delama_ros.web.serving import add_pages, make_app


def test_the_code_is_asked_for_once(
    open_browser: Callable[..., WebDriver],
    serve: Callable[[FastAPI], str],
    wait: Callable[[Callable[[], object]], object],
    tmp_path: Path,
) -> None:
    folder = tmp_path / 'pages'
    folder.mkdir()
    (folder / 'index.html').write_text('<title>inside</title>')
    app = make_app(access=Access('ABCD2345', 'a-token'))
    add_pages(app, folder)
    url = serve(app)
    browser = open_browser()
    browser.get(url)
    assert browser.title == 'Join'
    assert not browser.find_element(By.ID, 'wrong').is_displayed()
    browser.find_element(By.ID, 'code').send_keys('WRONG\n')
    wait(lambda: browser.find_element(By.ID, 'wrong').is_displayed())
    browser.find_element(By.ID, 'code').send_keys('abcd2345\n')
    wait(lambda: browser.title == 'inside')
    browser.get(url)
    assert browser.title == 'inside'
