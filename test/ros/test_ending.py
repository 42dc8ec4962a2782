"""Node programs end at a signal, whenever it comes: without an error, a traceback or a wait."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from delama_ros.swarm.processes import signals_blocked

PROGRAM = [sys.executable, '-m', 'delama_ros.ros.programs']
ROBOT = [*PROGRAM, 'delama_ros.ros.robot', '--ros-args', '-r', '__ns:=/ann']


# before Python is there, in its imports, in the making of the node, at work
@pytest.mark.parametrize('seconds', [0.0, 0.2, 0.6, 1.2, 2.0, 3.0])
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_time(
    seconds: float, number: signal.Signals, tmp_path: Path, ros_environment: dict[str, str]
) -> None:
    log = tmp_path / 'log'
    with log.open('w') as out, signals_blocked():
        process = subprocess.Popen(ROBOT, env=ros_environment, stdout=out, stderr=out)
    time.sleep(seconds)
    process.send_signal(number)
    began = time.monotonic()
    assert process.wait(60) == 0, log.read_text()
    assert time.monotonic() - began < 10.0  # 0.3 on a machine that is not busy
    assert 'Traceback' not in log.read_text()


STUCK = """
import time
import rclpy
from delama_ros.ros.running import run

class Stuck(rclpy.node.Node):
    def destroy_node(self):
        time.sleep(1000.0)

def close(node):
    print('closed', flush=True)

print('made', flush=True)
run('stuck', lambda: Stuck('stuck'), close)
"""


def test_nothing_that_hangs_at_the_end_keeps_it(ros_environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, '-c', STUCK], env=ros_environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == 'made\n'
    time.sleep(3.0)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == 'closed\n'
