"""What cannot be shown is named before anything is served."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from delama_ros.data.log import Log, LogError, Reading
from delama_ros.data.write import write_bag
from delama_ros.mapping.scan import Scan
from delama_ros.web.view.recording import find_bag


def test_what_is_not_a_recorded_swarm_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match='no such file'):
        find_bag(tmp_path / 'nothing')
    (tmp_path / 'swarm.yaml').write_text('robots: 3\n')
    with pytest.raises(LogError, match='delama swarm --bag'):
        find_bag(tmp_path)
    scan = Scan(np.ones(4), 0.0, 1.0, 0.1, 5.0)
    readings = tuple(Reading(float(t), scan, (0.0, 0.0, 0.0)) for t in range(3))
    write_bag(Log('laser', readings), tmp_path / 'laser')
    with pytest.raises(LogError, match='contains no robot'):
        find_bag(tmp_path / 'laser')


def test_the_command_ends_with_one_line(tmp_path: Path) -> None:
    (tmp_path / 'broken.db3').write_text('this is no database')
    done = subprocess.run(
        [sys.executable, '-m', 'delama_ros.cli.main', 'view', str(tmp_path / 'broken.db3')],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert 'broken.db3' in done.stderr
