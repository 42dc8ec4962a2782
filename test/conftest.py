"""What all tests share: real data where it is, and a ROS domain that nobody else is in."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from delama_ros.swarm.processes import Domain

# The same cases in every run, however slow the machine; one thread, as there are other processes.
settings.register_profile(
    'repeatable',
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile('repeatable')
torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope='session')
def data_dir() -> Path:
    """Folder with real floor plans, logs and bags: $DELAMA_DATA, or beside the project."""
    folder = Path(os.environ.get('DELAMA_DATA', ROOT.parent / 'shared' / 'data'))
    if not folder.is_dir():
        pytest.skip(f'real data not found at {folder}; set DELAMA_DATA to its folder')
    return folder


@pytest.fixture
def ros_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Environment of a ROS domain of the test's own, on this machine only."""
    domain = Domain()
    for name, value in domain.environment().items():
        monkeypatch.setenv(name, value)
    yield dict(os.environ)
    domain.close()


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 200 kB, which is soon full."""
    place = tmp_path / 'disk'
    place.mkdir()
    command = ['mount', '-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip('only root can mount a small disk')
    yield place
    subprocess.run(['umount', '--lazy', str(place)], check=True)
