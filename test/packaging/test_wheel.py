"""The wheel works without ROS and without torch, and brings all files that it reads."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from delama_ros.extras import cure

pytest.importorskip('numba', reason=cure('numba'))

ROOT = Path(__file__).resolve().parents[2]
# The environment of the tests has both; a finder that refuses them stands for one that has not.
WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('ament_index_python', 'rclpy', 'torch'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, Refuse())
_, wheel, tree, *arguments = sys.argv
sys.path = [wheel] + [path for path in sys.path if path not in tree.split(':')]
"""
RUN = 'import delama_ros; from delama_ros.cli.main import main; sys.exit(main(arguments))'


@pytest.fixture(scope='module')
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with what the wheel holds; built from a copy, as setuptools writes into the tree."""
    folder = tmp_path_factory.mktemp('wheel')
    source = folder / 'source'
    source.mkdir()
    parts = ('setup.py', 'setup.cfg', 'pyproject.toml', 'README.md', 'LICENSE', 'delama_ros', 'sim')
    for name in (*parts, 'config', 'msg'):
        subprocess.run(['cp', '-r', str(ROOT / name), str(source)], check=True)
    pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check']
    options = ['--quiet', '--no-deps', '--no-build-isolation']
    built = [*pip, 'wheel', *options, '--wheel-dir', str(folder), str(source)]
    subprocess.run(built, check=True)
    (file,) = folder.glob('*.whl')
    installed = folder / 'installed'
    subprocess.run([*pip, 'install', *options, '--target', str(installed), str(file)], check=True)
    return installed


def delama(wheel: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program of the wheel, away from the source tree."""
    tree: Sequence[str] = (str(ROOT), str(ROOT / 'sim'))
    return subprocess.run(
        [sys.executable, '-c', WITHOUT + RUN, str(wheel), ':'.join(tree), *arguments],
        cwd=wheel.parent,
        capture_output=True,
        text=True,
    )


def test_a_swarm_in_one_process_ends_with_a_map(wheel: Path) -> None:
    result = delama(
        wheel, *['swarm', '--transport', 'local', '--robots', '2', '--steps', '2', '--out', 'run']
    )
    assert result.returncode == 0, result.stderr
    assert (wheel.parent / 'run' / 'maps.png').stat().st_size > 1000


def test_a_plan_is_drawn_and_maps_are_measured(wheel: Path) -> None:
    result = delama(wheel, 'plan', 'generated:4', '--png', 'plan.png')
    assert result.returncode == 0, result.stderr
    assert (wheel.parent / 'plan.png').exists()
    few = '--plans generated:9000-9001 --robots 2 --steps 1 --scans 2 --methods fusion --json f'
    result = delama(wheel, 'eval', 'mapping', *few.split())
    assert result.returncode == 0, result.stderr
    assert 'fusion' in (wheel.parent / 'f').read_text()


def test_files_of_the_wheel_are_those_of_the_tree(wheel: Path) -> None:
    for folder in ('config', 'msg'):
        packed = wheel / 'delama_ros' / 'share' / folder
        names = {file.relative_to(packed) for file in packed.rglob('*') if file.suffix != '.pyc'}
        names = {name for name in names if name.name != '__pycache__'}
        assert names == {file.relative_to(ROOT / folder) for file in (ROOT / folder).rglob('*')}
