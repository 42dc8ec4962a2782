"""Processes of a run that end badly when they are told to end."""

import os
from pathlib import Path

from delama_ros.swarm.processes import Processes

WRONG = """
from delama_ros.signals import signal_handler
import sys, threading
def main():
    handler, over = signal_handler(), threading.Event()
    handler.on_request(over.set)
    print('running', flush=True)
    over.wait()
    print('wrong: error: the disk is full', flush=True)
    handler.exit_after(1, lambda: None)
"""


def test_a_failure_at_the_end_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / 'wrong.py').write_text(WRONG)
    log = tmp_path / 'log' / 'recorder.log'
    path = f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}'
    with Processes(tmp_path, {'PYTHONPATH': path}) as processes:
        processes.start('recorder', 'wrong', '/', {})
        while 'running' not in log.read_text():
            assert processes.failed() is None
    (failure,) = processes.failures
    assert failure.startswith('recorder ended with code 1')
    assert failure.endswith('wrong: error: the disk is full')
