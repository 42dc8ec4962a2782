"""The package builds as ROS users build it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_programs_are_listed_in_one_place() -> None:
    text = (ROOT / 'setup.cfg').read_text()
    programs = re.findall(r'^ +([a-z_]+) = (delama_ros[a-z_.]*):([a-z_]+)$', text, re.MULTILINE)
    assert {'delama', 'delama_robot', 'delama_simulator'} <= {name for name, _, _ in programs}
    for _, module, _function in programs:
        assert (ROOT / (module.replace('.', '/') + '.py')).is_file()


def test_files_that_pages_need_are_package_data() -> None:
    text = (ROOT / 'setup.py').read_text()
    patterns = re.findall(r"'(web/[^']+)'", text)
    package = ROOT / 'delama_ros'
    files = {file for file in package.glob('web/**/static/**/*') if file.is_file()}
    assert {file.name for file in files} >= {'base.css', 'index.html', 'texts.js'}
    assert files == {file for pattern in patterns for file in package.glob(pattern)}


@pytest.mark.skipif(
    'COLCON' in os.environ, reason='this run is itself a colcon test of a colcon build'
)
def test_colcon_build_gives_a_working_package(tmp_path: Path) -> None:
    include = ROOT / 'tools' / 'cmake' / 'ros_wheels.cmake'
    wheels = ['-DCMAKE_PROJECT_INCLUDE=' + str(include)] if 'ROS_DISTRO' not in os.environ else []
    environment = {
        **os.environ,
        'AMENT_PREFIX_PATH': os.environ.get('AMENT_PREFIX_PATH', sys.prefix),
        'CMAKE_PREFIX_PATH': os.environ.get('CMAKE_PREFIX_PATH', sys.prefix),
        'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
    }
    build = subprocess.run(
        [
            *('colcon', '--log-base', str(tmp_path / 'log'), 'build', '--symlink-install'),
            *('--base-paths', str(ROOT), '--build-base', str(tmp_path / 'build')),
            *('--install-base', str(tmp_path / 'install')),
            *('--cmake-args', '-DBUILD_TESTING=OFF', *wheels),
        ],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    use = """
source install/setup.bash
python3 - <<'END'
import delama_ros, delama_ros.msg, delama_sim
from delama_ros.resources import resource
print(delama_ros.__path__[0], delama_sim.__file__, delama_ros.msg.DualVar.__name__)
END
ls install/delama_ros/lib/delama_ros install/delama_ros/share/delama_ros
delama --version
command -v delama
"""
    used = subprocess.run(
        ['bash', '-ec', use], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert used.returncode == 0, used.stderr
    first, *others = used.stdout.split('\n')
    assert first.startswith(str(tmp_path / 'install'))
    assert first.endswith('DualVar')
    assert {'delama', 'delama_robot', 'delama_simulator', 'launch', 'config'} <= set(others)
    assert any(line.startswith('delama_ros ') for line in others)
    assert str(tmp_path / 'install/delama_ros/bin/delama') in others
