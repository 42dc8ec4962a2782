"""What all tests share: real data where it is, and a ROS domain that nobody else is in."""

import os
import re
import subprocess
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from delama_ros.extras import cure
from delama_ros.swarm.processes import Domain

# A machine that has only what rosdep installs lacks some of the modules that tests use.
with suppress(ModuleNotFoundError):
    from hypothesis import HealthCheck, settings

    # The same cases in every run, however slow the machine.
    settings.register_profile(
        'repeatable',
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
    )
    settings.load_profile('repeatable')
with suppress(ModuleNotFoundError):
    import torch

    torch.set_num_threads(1)  # there are other processes

ROOT = Path(__file__).resolve().parent.parent

# Folders that have nothing to offer without a module; what is left out otherwise is skipped below.
collect_ignore: list[str] = []
if find_spec('rclpy') is None:
    collect_ignore += ['ros', 'swarm', 'web/view']
if find_spec('numba') is None:  # rosdep cannot install it on Ubuntu 24.04; test_numba.py says so
    names = {f.name for f in Path(__file__).parent.iterdir()}
    collect_ignore += names - {'packaging', 'test_numba.py'}


def missing(report: pytest.CollectReport | pytest.TestReport) -> str:
    """Say what to install for a test that failed for want of a module; '' for other failures."""
    found = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", report.longreprtext)
    if not report.failed or found is None:
        return ''
    root = found[1].partition('.')[0]  # of an older version, a part may be missing
    here = find_spec(root) is not None and find_spec(found[1]) is not None
    return '' if here else cure(found[1])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file whose imports need what is not installed here, and say what that is."""
    report = yield
    if line := missing(report):
        report.outcome, report.longrepr = 'skipped', (str(collector.path), 1, f'Skipped: {line}')
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that needs what is not installed here, and say what that is."""
    report = yield
    if line := missing(report):
        report.outcome, report.longrepr = 'skipped', (str(item.path), 1, f'Skipped: {line}')
    return report


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
