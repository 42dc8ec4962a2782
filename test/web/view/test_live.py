"""The page during a real run of five robots, after the death of one, at the end, and afterwards."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver

from delama_ros.swarm.description import from_mapping
from delama_ros.swarm.processes import Processes
from delama_ros.web.serving import listen
from delama_ros.web.view.recording import fill, find_bag
from delama_ros.web.view.serve import application
from delama_ros.web.view.watch import Watch

spec = importlib.util.spec_from_file_location(
    'live', Path(__file__).parents[2] / 'swarm' / 'live.py'
)
assert spec is not None
assert spec.loader is not None
live = importlib.util.module_from_spec(spec)
sys.modules['live'] = live
spec.loader.exec_module(live)

ROBOTS = ('ada', 'bob', 'cid', 'dot', 'eve')
DARK = """return [...document.querySelectorAll('.panel canvas')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let dark = 0;
  for (let i = 0; i < data.length; i += 4) {
    dark += data[i] < 60 && data[i + 1] < 60 && data[i + 2] < 70;
  }
  return (4 * dark) / data.length;
});"""


class LivePage:
    """The page in a browser."""

    def __init__(self, driver: WebDriver) -> None:
        self.driver = driver

    def texts(self, selector: str) -> list[str]:
        return [e.text for e in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def text(self, selector: str) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def walls(self) -> list[float]:
        """Share of dark pixels in each map on the screen."""
        shares: list[float] = self.driver.execute_script(DARK)
        return shares

    def step(self, robot: str) -> int:
        return int(self.text(f'[data-robot="/{robot}"] [data-fact=step]'))


def test_a_real_run_from_start_to_end_and_its_recording(
    tmp_path: Path,
    ros_environment: dict[str, str],
    open_browser: Callable[..., WebDriver],
    serve: Callable[..., str],
    wait: Any,
) -> None:
    description = {'robots': list(ROBOTS), 'steps': 1000, 'period': 2.0, 'deadline': 0.5}
    swarm = from_mapping({**description, 'localization': 'tf'})
    with listen(port=0) as free:
        port = free.getsockname()[1]
    with (
        Processes(tmp_path, ros_environment) as beside,
        live.LiveSwarm(swarm, tmp_path, ros_environment) as run,
    ):
        beside.start('viewer', 'delama_ros.ros.viewer', '/', {'host': '127.0.0.1', 'port': port})
        bag = {'use_sim_time': True, 'path': str(tmp_path / 'bag'), 'robots': list(ROBOTS)}
        run.processes.start('recorder', 'delama_ros.ros.recorder', '/', bag)
        for name in ROBOTS:
            run.start_robot(name)
        run.start_simulator()
        page = LivePage(open_browser())

        def opened() -> bool:
            page.driver.get(f'http://127.0.0.1:{port}/')
            return True

        wait(opened)
        # five maps, five names, five scores, and all that robots say of themselves
        wait(lambda: page.texts('.panel b') == list(ROBOTS))
        wait(lambda: all(0.01 < share < 0.5 for share in page.walls()))
        wait(lambda: all(text.endswith('%') for text in page.texts('.robot .score')))
        wait(lambda: all(text != '–' for text in page.texts('[data-fact=refused]')))
        assert len(page.texts('.robot .score')) == 5
        # F1 moves
        first = page.text('#mean')
        wait(lambda: page.text('#mean') not in ('', first))
        # collaboration is drawn: without that layer the picture is another one
        wait(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, '.weight')) >= 10)

        # a robot dies
        run.processes.kill('cid')
        wait(lambda: 'silent' in page.text('[data-robot="/cid"] .state'))
        wait(lambda: any('cid is no longer received' in line for line in page.texts('#log li')))
        then = page.step('ada')
        wait(lambda: page.step('ada') > then)
        assert page.texts('.panel b') == list(ROBOTS)
        assert 'silent' not in page.text('[data-robot="/ada"] .state')

        # the run ends, all but the page
        run.processes.stop(patience=60.0)  # the recorder has a bag to finish
        wait(lambda: 'the run is over' in page.text('#banner'))
        assert page.text('#status') == 'connected'
        assert all(share > 0.01 for share in page.walls())
        last = page.step('ada')
        page.driver.quit()

    # its recording
    watch = Watch('recorded', live=False)
    fill(watch, find_bag(tmp_path / 'bag'))
    page = LivePage(open_browser())
    page.driver.get(serve(application(watch, None)))
    wait(lambda: page.texts('.panel b') == list(ROBOTS))
    wait(lambda: all(0.01 < share < 0.5 for share in page.walls()))
    assert abs(page.step('ada') - last) <= 1
    recorded = [s for s in watch.scores.part(0, 10**6) if s[0] == '/ada']
    observed = run.record.f1
    for _, step, f1, _, _ in recorded:
        if step in observed and 'ada' in observed[step]:
            np.testing.assert_allclose(f1, observed[step]['ada'], atol=1e-6)
    assert len(recorded) >= 2
