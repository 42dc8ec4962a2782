"""Files that only other machines run (CI, containers, releases) name what exists.

None of them runs in these tests: that takes GitHub, Docker or the build farm.
"""

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import delama_ros

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = yaml.safe_load((ROOT / '.github/workflows/ci.yml').read_text())
TARGETS = set(re.findall(r'^([a-z]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE))
IN_WORKSPACE = 'src/delama_ros/'


def commands(text: str) -> list[list[str]]:
    """Return the words of every command of a shell script."""
    lines = (line for line in text.replace('\\\n', ' ').splitlines() if line.strip())
    return [shlex.split(part, comments=True) for line in lines for part in line.split('&&')]


def check(command: list[str]) -> None:
    """Fail if a command names a target of make, a script or a folder that is not there."""
    if command[:1] == ['make']:
        named = {word for word in command[1:] if '=' not in word}
        assert named
        assert named <= TARGETS, command
    for word in command:
        file = word.removeprefix(IN_WORKSPACE)
        if file.startswith(('.ci/', 'requirements/', 'test/', '.github/')):
            assert (ROOT / file).exists(), word
            assert not file.startswith('.ci/') or os.access(ROOT / file, os.X_OK), word


def test_workflow_calls_what_exists() -> None:
    assert set(WORKFLOW['jobs']) == {'from-nothing', 'ros', 'noble', 'syntax'}
    called = []
    for job in WORKFLOW['jobs'].values():
        assert job['runs-on']
        assert job['steps']
        for step in job['steps']:
            assert len({'run', 'uses'} & set(step)) == 1
            called += commands(step.get('run', ''))
    for command in called:
        check(command)
    words = [command[0] for command in called if command]
    assert {'.ci/run', 'src/delama_ros/.ci/rosdep', 'colcon', 'make'} <= set(words)
    assert WORKFLOW['jobs']['ros']['strategy']['matrix']['distro'] == ['jazzy', 'rolling']


def test_a_command_that_is_not_there_is_noticed() -> None:
    for wrong in ('make tset', 'src/delama_ros/.ci/nothing', 'pytest test/nowhere'):
        with pytest.raises(AssertionError):
            check(shlex.split(wrong))


def test_containers_copy_and_run_what_exists() -> None:
    stages, copied = [], []
    for line in (ROOT / 'Dockerfile').read_text().replace('\\\n', ' ').splitlines():
        word, _, rest = line.partition(' ')
        if word == 'FROM':
            stages.append(rest)
        elif word == 'COPY':
            copied += rest.split()[:-1]
        elif word == 'RUN':
            for command in commands(rest):
                check(command)
    assert stages == ['ros:${ROS_DISTRO}-ros-base AS dependencies', 'dependencies']
    assert all((ROOT / file).exists() for file in copied)
    developer: dict[str, Any] = json.loads((ROOT / '.devcontainer/devcontainer.json').read_text())
    assert developer['build']['target'] == 'dependencies'
    assert (ROOT / '.devcontainer' / developer['build']['dockerfile']).exists()
    assert developer['workspaceFolder'] == '/ws/src/delama_ros'


def test_hooks_and_templates() -> None:
    hooks = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())
    check(hooks['repos'][0]['hooks'][0]['entry'].split())
    for name in ('bug', 'idea'):
        form = yaml.safe_load((ROOT / f'.github/ISSUE_TEMPLATE/{name}.yml').read_text())
        assert form['name']
        assert form['description']
        assert all(part['attributes']['label'] for part in form['body'])


def test_documentation_settings() -> None:
    attic, settings = yaml.safe_load_all((ROOT / 'rosdoc2.yaml').read_text())
    assert attic == {'type': 'rosdoc2 config', 'version': 1}
    assert (ROOT / settings['settings']['python_source'] / '__init__.py').exists()
    assert '<rosdoc2>rosdoc2.yaml</rosdoc2>' in (ROOT / 'package.xml').read_text()


def test_package_and_changelog_can_be_released(tmp_path: Path) -> None:
    reason = 'catkin_pkg comes with ROS 2, and with `make env`'
    package = pytest.importorskip('catkin_pkg.package', reason=reason)
    changelog = pytest.importorskip('catkin_pkg.changelog', reason=reason)
    version = pytest.importorskip('catkin_pkg.package_version', reason=reason)
    for name in ('package.xml', 'CHANGELOG.rst'):
        shutil.copy(ROOT / name, tmp_path)
    manifest = package.parse_package(str(tmp_path))  # raises for what is not valid
    warnings: list[str] = []
    manifest.validate(warnings)
    assert warnings == []
    assert list(map(str, manifest.licenses)) == ['Apache-2.0']
    assert 'Apache License' in (ROOT / 'LICENSE').read_text()
    assert manifest.version == delama_ros.__version__

    # What catkin_prepare_release does with them.
    file, after = tmp_path / 'CHANGELOG.rst', version.bump_version(manifest.version, 'minor')
    log = changelog.get_changelog_from_path(str(file), manifest.name)
    label = version.get_forthcoming_label(log.rst)
    assert label == 'Forthcoming'
    version.update_versions({str(tmp_path): manifest}, after)
    version.update_changelog_sections({manifest.name: (str(file), log, label)}, after)
    assert package.parse_package(str(tmp_path)).version == after
    released = changelog.get_changelog_from_path(str(file), manifest.name)
    assert 'Learning core after the DeLAMA paper' in str(released.get_content_of_version(after)[0])

    lines = file.read_text().splitlines()
    assert lines[1] == f'Changelog for package {manifest.name}'
    assert set(lines[0]) == set(lines[2]) == {'^'}
