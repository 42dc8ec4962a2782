"""Lock files: every package with its hashes, torch only where it is wanted, nothing forgotten."""

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = {file.stem: file.read_text() for file in (ROOT / 'requirements').glob('*.lock')}


def packages(lock: str) -> set[str]:
    """Return names of packages as pip compares them."""
    return {name.lower() for name in re.findall(r'^([\w.-]+)==', LOCKS[lock], re.MULTILINE)}


def test_all_files_are_there() -> None:
    assert set(LOCKS) == {'robot', 'ros', 'torch', 'torch-cpu', 'torch-cuda', 'test'}


@pytest.mark.parametrize('lock', sorted(LOCKS))
def test_every_package_has_an_exact_version_and_hashes(lock: str) -> None:
    blocks = re.split(r'\n(?=[^\s#])', LOCKS[lock].partition('\n')[2])
    assert len(blocks) > 5 or lock == 'torch-cpu'
    for block in blocks:
        first, *hashes = block.strip().split('\n')
        assert re.match(r'[\w.-]+==[\w.+]+( ; .*)? \\$', first), first
        assert hashes, first
        assert all(re.match(r' +--hash=sha256:[0-9a-f]{64}( \\)?$', line) for line in hashes), first


def test_robots_get_no_torch_and_files_agree() -> None:
    assert not packages('robot') & (packages('torch') | packages('torch-cuda') | packages('test'))
    versions: dict[str, str] = {}
    for text in LOCKS.values():
        for name, version in re.findall(r'^([\w.-]+)==([\w.]+)', text, re.MULTILINE):
            assert versions.setdefault(name, version) == version


def test_the_cpu_build_of_torch_has_the_same_version() -> None:
    version = re.search(r'^torch==([\w.]+)', LOCKS['torch'], re.MULTILINE)
    assert version is not None
    assert LOCKS['torch-cpu'].splitlines()[1] == f'torch=={version[1]}+cpu \\'


def test_all_requirements_of_the_package_are_locked() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / 'setup.cfg')
    extras = {name: text.lower().split() for name, text in config['options.extras_require'].items()}
    assert set(extras) == {'web', 'logs', 'train', 'test'}
    needed = config['options']['install_requires'].lower().split()
    assert {*needed, *extras['web'], *extras['logs']} <= packages('robot')
    assert {*extras['train'], *extras['test']} <= packages('test') | packages('torch')
