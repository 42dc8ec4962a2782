"""`delama swarm --view`: the page is there during the run and stays until Ctrl-C."""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, '-m', 'delama_ros.cli.main', 'swarm', '--view']


def test_the_page_outlives_the_run(tmp_path: Path, wait: Any) -> None:
    arguments = ['--robots', '2', '--steps', '1', '--out', str(tmp_path / 'run')]
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, text=True,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:  # until the run is over
        lines.append(line)
        if 'Ctrl-C to stop' in line:
            break
    address = re.search(r'watch it at (http://127\.0\.0\.1:\d+/)', ''.join(lines))
    assert address is not None, lines

    def page() -> str:
        return urllib.request.urlopen(address[1], timeout=60).read().decode()

    assert '<title>delama view</title>' in wait(page)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    left = subprocess.run(['pgrep', '-f', str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ''


def test_without_ros_there_is_nothing_to_show(tmp_path: Path) -> None:
    arguments = ['--transport', 'local', '--out', str(tmp_path / 'run')]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        'delama: error: --view shows ROS topics; --transport local has none'
    ]
