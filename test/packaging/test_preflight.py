"""Set-up names all that is missing in one line, before it downloads anything."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HELPERS = ('sh', 'bash', 'make', 'uname', 'realpath', 'mkdir', 'touch')


def run(
    folder: Path, tools: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run make with nothing on the path but the tools (name -> shell script, '' for the real)."""
    for name in (*HELPERS, *tools):
        target = folder / name
        if script := tools.get(name):
            target.write_text(f'#!/bin/sh\n{script}\n')
            target.chmod(0o755)
        else:
            target.symlink_to(shutil.which(name) or name)
    return subprocess.run(
        ['make', '-C', str(ROOT), f'VENV={folder / "venv"}', *arguments],
        env={'PATH': str(folder)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize('goal', ['env', 'swarm', 'test', 'torch'])
def test_all_that_is_missing_is_one_apt_line(tmp_path: Path, goal: str) -> None:
    result = run(tmp_path, {}, goal)
    assert result.returncode != 0
    assert 'sudo apt-get install cmake g++ python3 python3-venv python3-dev\n' in result.stderr
    assert not (tmp_path / 'venv').exists()


def test_headers_and_venv_are_named_for_the_python_that_was_asked_for(tmp_path: Path) -> None:
    # A Python that knows its version and fails at all else, as Debian's does without -venv, -dev.
    bare = 'case "$2" in *version_info*) echo 3.12 ;; *executable*) echo /p ;; *) exit 1 ;; esac'
    result = run(tmp_path, {'python3.12': bare, 'cmake': '', 'g++': ''}, 'env', 'PYTHON=python3.12')
    assert 'sudo apt-get install python3.12-venv python3.12-dev\n' in result.stderr
    assert not (tmp_path / 'venv').exists()


@pytest.mark.parametrize(
    ('python', 'words'),
    [
        ('echo 3.10', 'is Python 3.10, supported are 3.11 and 3.12'),
        ('exit 127', 'was found and does not run'),
    ],
)
def test_a_python_that_will_not_do_is_named(tmp_path: Path, python: str, words: str) -> None:
    tools = {'python3': python, 'cmake': '', 'g++': ''}
    result = run(tmp_path, tools, 'preflight')
    assert result.returncode != 0
    assert f'python3 {words}' in result.stderr


def test_without_wheels_for_the_machine_a_sourced_ros_is_asked_for(tmp_path: Path) -> None:
    tools = {'uname': 'echo aarch64', 'cmake': '', 'g++': ''}
    result = run(tmp_path, tools, 'preflight', f'PYTHON={sys.executable}')
    assert 'wheels for x86_64 only, this is aarch64: install ROS 2 Jazzy' in result.stderr


def test_what_built_this_environment_passes(tmp_path: Path) -> None:
    result = run(tmp_path, {'cmake': '', 'g++': ''}, 'preflight', f'PYTHON={sys.executable}')
    assert result.returncode == 0, result.stderr
