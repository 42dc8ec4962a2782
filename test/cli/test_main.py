"""The `delama` program as a user meets it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from delama_ros import __version__
from delama_ros.cli.main import COMMANDS, main


def delama(*arguments: str) -> 'subprocess.CompletedProcess[str]':
    return subprocess.run(
        [sys.executable, '-m', 'delama_ros.cli.main', *arguments], capture_output=True, text=True
    )


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(['--help'])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert all(f'    {name} ' in text for name in COMMANDS)
    assert 'delama swarm --robots 3' in text


@pytest.mark.parametrize('command', sorted(COMMANDS))
def test_help_of_each_command_has_examples(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, '--help'])
    assert stop.value.code == 0
    assert f'  delama {command} ' in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(['--version'])
    assert capsys.readouterr().out == f'delama_ros {__version__}\n'


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['swarm', '--robots', '0'], ['robots: 0', 'at least 1']),
        (['swarm', '--steps', '-1'], ['steps: -1', 'expected 0 ..']),
        (['swarm', '--config', 'missing.yaml'], ['missing.yaml', 'No such file']),
        (['swarm', '--period', '0'], ['period: 0.0', 'expected 0.01 ..']),
    ],
)
def test_a_users_mistake_is_one_line(arguments: list[str], words: list[str]) -> None:
    result = delama(*arguments)
    assert result.returncode == 2
    assert result.stdout == ''
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith('delama: error: ')
    assert all(word in result.stderr for word in words)


def test_unknown_command_names_the_known_ones() -> None:
    result = delama('swam')
    assert result.returncode == 2
    assert "invalid choice: 'swam'" in result.stderr
    assert 'swarm' in result.stderr


def test_help_does_not_load_torch_or_ros() -> None:
    code = (
        'import sys\nfrom delama_ros.cli.main import main\n'
        'try: main(["swarm", "--help"])\n'
        'except SystemExit: pass\n'
        'print(sorted({"torch", "rclpy", "matplotlib", "numba"} & set(sys.modules)))'
    )
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == '[]'


def test_bench_writes_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from delama_ros.bench import core

    monkeypatch.setattr(core, 'run', lambda *, seed: {'ratio': 2.0 + seed})
    file = tmp_path / 'figures.json'
    assert main(['bench', 'core', '--seed', '1', '--json', str(file)]) == 0
    assert json.loads(file.read_text()) == {'ratio': 3.0}


def test_unwritable_json_is_a_users_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from delama_ros.bench import core

    monkeypatch.setattr(core, 'run', lambda *, seed: {'ratio': 2.0})
    assert main(['bench', 'core', '--json', '/nowhere/figures.json']) == 2
    assert 'cannot write /nowhere/figures.json' in capsys.readouterr().err


def test_help_of_compare_shows_its_own_defaults_and_examples(capsys) -> None:
    with pytest.raises(SystemExit):
        main(['compare', 'regression', '--help'])
    text = ' '.join(capsys.readouterr().out.split())
    assert '(default runs/compare)' in text
    assert 'default all' in text
    assert 'delama compare regression --quick' in text
    assert 'delama eval' not in text


@pytest.mark.parametrize('command', ['eval', 'train'])
def test_plugins_in_examples_exist(command, capsys) -> None:
    with pytest.raises(SystemExit):
        main([command, '--help'])
    root = Path(__file__).resolve().parents[2]
    named = re.findall(r'--plugin (\S+):(\w+)', capsys.readouterr().out)
    assert named
    for file, name in named:
        assert f'class {name}' in (root / file).read_text()
