"""Twenty robots over ROS: the page goes on drawing and answers at once."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from nav_msgs.msg import OccupancyGrid
from rclpy.qos import qos_profile_sensor_data
from selenium.webdriver.remote.webdriver import WebDriver
from sensor_msgs.msg import LaserScan
from tf2_msgs.msg import TFMessage

from delama_ros.msg import Collaboration, RobotStatus
from delama_ros.ros.conversions import LATCHED
from delama_ros.swarm.processes import Processes
from delama_ros.web.serving import listen

NUMBER = 20
TICK = 0.05  # s between transforms; scans at 5 Hz; every robot ends a step every 2 s
NOTE_FRAMES = """window.seen = [];
const note = (time) => { window.seen.push(time); requestAnimationFrame(note); };
requestAnimationFrame(note);"""
# Clicks a robot's card and tells the ms until its map is drawn.
CLICK = """const [robot, done] = arguments;
const began = performance.now();
document.querySelector(`[data-robot="/${robot}"] .head`).click();
const look = () => {
  const names = [...document.querySelectorAll('.panel b')].map((name) => name.textContent);
  const there = names.length === 1 && names[0] === robot;
  requestAnimationFrame(there ? () => done(performance.now() - began) : look);
};
look();"""


@contextmanager
def published(fleet: Any) -> Iterator[None]:
    """Publish all that twenty robots would, from one node, as often as they would."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('many', context=context)
    kinds = {'map': OccupancyGrid, 'collaboration': Collaboration, 'status': RobotStatus}
    out = {f'{r}/{n}': node.create_publisher(k, f'{r}/{n}', LATCHED)
           for r in fleet.robots for n, k in kinds.items()}
    for robot in fleet.robots:
        topic = f'{robot}/scan'
        out[topic] = node.create_publisher(LaserScan, topic, qos_profile_sensor_data)
    out['/tf'] = node.create_publisher(TFMessage, '/tf', 100)
    out['/sim/truth'] = node.create_publisher(OccupancyGrid, '/sim/truth', LATCHED)
    out['/sim/truth'].publish(fleet.truth())
    over = threading.Event()

    def publish() -> None:
        tick = 0
        while not over.wait(TICK):
            now = tick * TICK
            links = [fleet.tf(robot, now).transforms[0] for robot in fleet.robots]
            out['/tf'].publish(TFMessage(transforms=links))
            if tick % 4 == 0:
                for robot in fleet.robots:
                    out[f'{robot}/scan'].publish(fleet.scan(robot, now))
            if tick % 2 == 0:  # one robot after another ends its step
                robot, step = fleet.robots[tick // 2 % NUMBER], 1 + tick // (2 * NUMBER)
                for topic, message in fleet.step(robot, min(step, fleet.steps)):
                    if topic.endswith(('/map', '/collaboration', '/status')):
                        out[topic].publish(message)
            tick += 1

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        node.destroy_node()
        rclpy.try_shutdown(context=context)


def test_twenty_robots_stay_responsive(
    tmp_path: Path,
    make_fleet: Any,
    ros_environment: dict[str, str],
    open_browser: Callable[..., WebDriver],
    wait: Any,
) -> None:
    fleet = make_fleet(*(f'/robot{i}' for i in range(1, NUMBER + 1)), steps=10)
    with listen(port=0) as free:
        port = free.getsockname()[1]
    with published(fleet), Processes(tmp_path, ros_environment) as processes:
        processes.start('viewer', 'delama_ros.ros.viewer', '/', {'port': port})
        driver = open_browser()

        def opened() -> bool:
            driver.get(f'http://127.0.0.1:{port}/')
            return True

        wait(opened)
        wait(lambda: len(driver.find_elements('css selector', '.panel')) == NUMBER)
        driver.execute_script(NOTE_FRAMES)
        driver.set_script_timeout(120)
        clicks = []
        for number in range(1, NUMBER + 1, 2):
            clicks.append(driver.execute_async_script(CLICK, f'robot{number}'))
            time.sleep(0.3)  # so that updates come in between
        driver.find_element('id', 'apart').click()
        wait(lambda: len(driver.find_elements('css selector', '.panel')) == NUMBER)
        frames = np.diff(driver.execute_script('return window.seen'))
        print(
            f'{NUMBER} robots: a frame every {np.median(frames):.0f} ms (median), '
            f'{np.percentile(frames, 95):.0f} ms (95 %); click to drawn {np.median(clicks):.0f} ms '
            f'(median); load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores'
        )
        assert np.median(frames) < 500.0
        assert np.median(clicks) < 5000.0
