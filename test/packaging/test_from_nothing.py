"""README's first command and torch, as on a machine that only has Python and compilers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WANTED = os.environ.get('DELAMA_TEST_INSTALL', '')
# Of this machine's settings only those without which no index is reached at all.
KEPT = ('PIP_CERT', 'PIP_INDEX_URL', 'SSL_CERT_FILE', 'http_proxy', 'https_proxy', 'no_proxy')
LIMIT = 700e6  # bytes that the environment of a robot may take

pytestmark = pytest.mark.skipif(
    WANTED not in ('robot', 'full'),
    reason='sets up from nothing: DELAMA_TEST_INSTALL=robot (0.3 GB) or full (3 GB, with torch)',
)


@pytest.fixture(scope='module')
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Copy the project without anything that was built in it."""
    folder = tmp_path_factory.mktemp('user') / 'delama_ros'
    folder.mkdir()
    left_out = {'.venv', '.git', 'build', 'install', 'log', 'runs'}
    for path in ROOT.iterdir():
        if path.name not in left_out:
            subprocess.run(['cp', '-r', str(path), str(folder)], check=True)
    yield folder
    subprocess.run(['rm', '-rf', str(folder / '.venv')], check=True)


def make(tree: Path, *arguments: str) -> str:
    """Run make with the settings of a new user, none of pip's."""
    environment = {
        'HOME': str(tree.parent),
        'PATH': '/usr/local/bin:/usr/bin:/bin',
        'PIP_CONFIG_FILE': os.devnull,
        **{name: os.environ[name] for name in KEPT if name in os.environ},
    }
    python = getattr(sys, '_base_executable', sys.executable)
    result = subprocess.run(
        ['make', f'PYTHON={python}', *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def size(folder: Path) -> int:
    """Return bytes on disk."""
    return int(subprocess.check_output(['du', '-sB1', str(folder)], text=True).split()[0])


def test_first_command_of_the_readme(tree: Path) -> None:
    first = next(
        line for line in (ROOT / 'README.md').read_text().splitlines() if '    make ' in line
    )
    assert first.split()[:2] == ['make', 'swarm']
    output = make(tree, 'swarm', 'ARGS=--robots 2 --steps 2 --out runs/here')
    assert 'done in' in output
    assert (tree / 'runs' / 'here' / 'maps.png').exists()
    assert not [*(tree / '.venv').glob('lib/python*/site-packages/torch')]
    assert size(tree / '.venv') < LIMIT


@pytest.mark.skipif(WANTED != 'full', reason='downloads 3 GB: DELAMA_TEST_INSTALL=full')
def test_torch_can_be_imported_with_whatever_index_there_is(tree: Path) -> None:
    output = make(tree, 'torch')
    assert 'imported' in output
    python = tree / '.venv' / 'bin' / 'python'
    script = 'import torch; print(torch.ones(3).sum().item())'
    assert subprocess.check_output([python, '-c', script], text=True) == '3.0\n'
    checked = subprocess.run([python, '-m', 'pip', 'check'], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
