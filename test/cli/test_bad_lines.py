"""Every option of every command with values that make no sense: one line, no traceback, not 0."""

import argparse
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from delama_ros.cli.main import COMMANDS, main, make_parser

INTEGERS = ['many', '1.5', 'nan', '99999999999999999999']
FLOATS = ['much', 'nan', '-inf', '1e999']
NEGATIVE = ('--delay', '--turn')  # may be negative
FILES = ['missing.file', 'folder', 'binary.file', 'words.txt']
WRITTEN = {'json', 'png', 'plot', 'picture', 'gif', 'map', 'out', 'plots', 'db'}
LIMIT = 60.0  # s after which a command must have begun to work
GOOD = {
    'log': 'room.log', 'logs': 'room.log', 'files': 'room.log', 'file': 'room.log',
    'plan': 'generated:7', 'out': 'converted', 'part': 'core', 'recording': 'missing.bag',
    'action': 'play',
}


def leaves() -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    """Yield every command with its parser, as far as there are subcommands."""
    for command in COMMANDS:
        yield from _leaves([command], _inner(make_parser(command), command))


def _inner(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    return next(a for a in parser._actions if a.nargs == argparse.PARSER)._name_parser_map[name]  # type: ignore[attr-defined]


def _leaves(
    line: list[str], parser: argparse.ArgumentParser
) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    inner = [a for a in parser._actions if a.nargs == argparse.PARSER]
    if not inner:
        yield line, parser
    for action in inner:
        for name, child in action._name_parser_map.items():  # type: ignore[attr-defined]
            yield from _leaves([*line, name], child)


def lines() -> Iterator[list[str]]:
    """Yield bad command lines."""
    for line, parser in leaves():
        positional = [a for a in parser._actions if not a.option_strings]
        good = [*line, *(GOOD[a.dest] for a in positional if a.nargs != '?')]
        yield [*good, '--no-such-option']
        yield [*good, '--no-such-option=7']
        yield [*good, *['surplus'] * 3] if not any(a.nargs == '+' for a in positional) else [*line]
        for k, action in enumerate(positional):
            for bad in ('', *(FILES if action.choices is None else ['nothing', '7'])):
                if action.dest != 'out' or bad in ('', 'words.txt', 'binary.file'):
                    others = [GOOD[a.dest] for a in positional]
                    others[k] = bad
                    yield [*line, *others]
        for action in parser._actions:
            shown = action.help is not argparse.SUPPRESS  # others are old names
            if shown and action.option_strings and action.dest != 'help':
                yield from ([*good, *bad] for bad in bad_values(action))


def bad_values(action: argparse.Action) -> Iterator[list[str]]:
    """Yield an option with each of its bad values."""
    option = action.option_strings[0]
    if action.nargs == 0:
        yield [f'{option}=7']
        return
    yield [f'{option}=']
    yield [option]
    if action.choices is not None:
        yield [option, 'nothing']
    elif action.type is int:
        yield from ([f'{option}={value}'] for value in INTEGERS)
        if option not in ('--steps', '--validation'):
            yield [f'{option}=-1']
    elif action.type is float:
        yield from ([f'{option}={value}'] for value in FLOATS)
        if option not in NEGATIVE:
            yield [f'{option}=-1']
    elif action.dest in WRITTEN:
        yield [option, 'words.txt/below']
        if action.dest != 'out' and action.dest != 'plots':
            yield [option, 'folder']
        else:
            yield [option, 'words.txt']
    elif (action.dest, option) != ('robots', '--robots'):  # names, and all of these could be some
        yield from ([option, value] for value in FILES)


BY_HAND = [
    [], ['swam'], [''], ['--nothing'], ['-7'], ['swarm', 'view'], ['eval'], ['train'], ['compare'],
    ['eval', 'nothing'], ['train', ''], ['bench'], ['bench', 'everything'], ['human', 'win'],
    ['swarm', '--robots', '0'], ['swarm', '--robots', '1001'], ['swarm', '--steps', '-1'],
    ['swarm', '--steps', '0'], ['swarm', '--period', '0'], ['swarm', '--period', '1e12'],
    ['swarm', '--transport', 'local', '--bag'], ['swarm', '--transport', 'local', '--view'],
    ['swarm', '--gif', 'a.gif'], ['swarm', '--starts', 'rough', '--localization', 'tf'],
    ['swarm', '--plan', 'generated:7,generated:8'], ['swarm', '--plan', 'generated:-7'],
    ['swarm', '--plan', 'generated:'], ['swarm', '--plan', 'generated:house:7'],
    ['swarm', '--plan', 'rooms:0'], ['swarm', '--plan', 'rooms:x'], ['swarm', '--plan', 'rooms:'],
    ['swarm', '--plan', 'rooms:4:marked=9'], ['swarm', '--plan', 'rooms:4:purple=1'],
    ['swarm', '--plan', 'rooms:99999999999'], ['swarm', '--plan', 'generated:' + '9' * 5000],
    ['swarm', '--config', 'folder'], ['swarm', '--config', 'binary.file'],
    ['swarm', '--config', 'words.txt'], ['swarm', '--config', 'bad.yaml'],
    ['plan', 'generated:7', '--resolution', '0'], ['plan', 'generated:7', '--resolution', '1e-9'],
    ['plan', 'generated:7', '--resolution', '1e9'], ['plan', 'generated:7', '--thicken', '1e9'],
    ['plan', 'generated:7', '--blocks', '999999'], ['plan', 'folder', '--map', 'a.yaml'],
    ['plan', 'generated:7#Floor-1'],
    ['plan', 'room.svg#None'], ['convert', 'room.log', 'folder'], ['convert', 'room.log'],
    ['convert', 'room.log', 'words.txt'], ['convert', 'room.log', 'a', '--topic', '/scan'],
    ['convert', 'room.log', 'words.txt/a'], ['convert', 'folder', 'a'],
    ['replay', 'room.log', '--robots', '0'], ['replay', 'room.log', '--robots', 'a', 'a'],
    ['replay', 'room.log', '--robots', 'a b'], ['replay', 'room.log', '--topics', '/a', '/b'],
    ['replay', 'room.log', '--speed', '0'], ['replay', 'room.log', '--reach', '0'],
    ['replay', 'room.log', 'room.log', '--robots', '3'], ['replay', 'missing.log'],
    ['eval', 'mapping', '--plans', 'generated:9-3'], ['eval', 'mapping', '--plans', 'generated:x'],
    ['eval', 'mapping', '--plans', 'generated:1-99999999999'], ['eval', 'mapping', '--robots', '1'],
    ['eval', 'mapping', '--limit', '0'], ['eval', 'mapping', '--steps', '0'],
    ['eval', 'mapping', '--jobs', '0'], ['eval', 'mapping', '--scans', '0'],
    ['eval', 'mapping', '--drift', 'turtlebot', '--links', 'line'],
    ['eval', 'mapping', '--two-buildings', '--limit', '1'],
    ['eval', 'mapping', '--two-buildings', '--drift', 'good'],
    ['eval', 'mapping', '--methods', 'fusion', 'magic'], ['eval', 'mapping', '--pose-noise', '-1'],
    ['attack', '--liars', '5'], ['attack', '--liars', '0'], ['attack', '--begin', '13'],
    ['attack', '--begin', '8', '--until', '7'], ['attack', '--until', '99'],
    ['attack', '--begin', '0'], ['attack', '--lie', 'white'],
    ['eval', 'regression', '--links', 'er:2'], ['eval', 'regression', '--links', 'er:x'],
    ['eval', 'regression', '--links', 'ba:-1'], ['eval', 'regression', '--rounds', '0'],
    ['eval', 'regression', '--run', 'folder'], ['eval', 'regression', '--plugin', 'a.py:B'],
    ['eval', 'regression', '--plugin', 'words.txt'], ['eval', 'regression', '--plugin', ':'],
    ['eval', 'regression', '--methods', 'bayes_er_2'], ['eval', 'mnist', '--data', 'folder'],
    ['eval', 'cifar10', '--data', 'words.txt'], ['train', 'mnist', '--data', 'missing'],
    ['train', 'regression', '--set', 'epochs'], ['train', 'regression', '--set', 'epochs=x'],
    ['train', 'regression', '--set', 'wings=2'], ['train', 'regression', '--set', 'epochs=-1'],
    ['train', 'regression', '--config', 'words.txt'], ['train', 'regression', '--set', '=3'],
    ['train', 'mapping', '--set', 'features=0'], ['train', 'mapping', '--out', 'model.pt'],
    ['train', 'mapping', '--plans', 'missing'], ['train', 'mapping', '--logs', 'missing.log'],
    ['train', 'decoder', '--checkpoint', 'binary.file'], ['train', 'decoder', '--set', 'x=1'],
    ['human', 'report', '--db', 'missing.sqlite'], ['human', 'report', '--db', 'binary.file'],
    ['human', 'export', '--db', 'folder'], ['human', 'report', '--tasks', '3'],
    ['human', '--learn-time', '0'], ['human', '--seed', '-1'], ['human', '--port', '70000'],
    ['human', '--host', 'no such host'], ['view', 'missing.bag'], ['view', 'folder'],
    ['view', 'binary.file'], ['view', 'room.log'], ['view', '--port', '70000'],
    ['view', 'missing', '--host', 'no such host'], ['bench', 'core', '--json', 'folder'],
    ['bench', 'core', '--json', 'words.txt/a'], ['compare', 'magic'],
    ['compare', 'mapping', '--methods', 'magic'], ['compare', 'regression', '--seeds', '-1'],
    ['eval', 'log', 'room.log', '--robots', '0'], ['eval', 'log', 'room.log', '--period', '0'],
    ['eval', 'log', 'room.log', '--attack', 'magic'], ['eval', 'log', 'room.log', '--reach', '0'],
    ['eval', 'log', 'room.log', '--relations', 'missing.file'], ['eval', 'log', 'folder'],
    ['eval', 'lost', 'missing.log'], ['eval', 'lost', 'room.log', '--scans', '0'],
    ['eval', 'tracking', '--conditions', 'magic'], ['eval', 'change', '--retention', '2'],
    ['eval', 'change', '--retention', '-1'], ['eval', 'crossover', '--scans', '0'],
    ['eval', 'rendezvous', '--pairs', '0'], ['eval', 'rendezvous', '--steps', '0'],
    ['eval', 'rendezvous', '--different', '-1'],
]
LINES = [*BY_HAND, *lines()]


@pytest.fixture(scope='module')
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of all kinds."""
    place = tmp_path_factory.mktemp('lines')
    (place / 'folder').mkdir()
    (place / 'binary.file').write_bytes(bytes(range(256)) * 8)
    (place / 'words.txt').write_text('just words\n')
    (place / 'bad.yaml').write_text('robots: many\n')
    (place / 'room.svg').write_text('<svg/>')
    ranges = ' '.join(['1.5'] * 180)
    scans = [f'FLASER 180 {ranges} {k}.5 0 0 0 0 0 {k}.0 host {k}.0\n' for k in range(1, 9)]
    (place / 'room.log').write_text(''.join(scans))
    return place


def test_there_are_many_of_them() -> None:
    assert len(LINES) >= 483


def too_long(*_: Any) -> None:
    raise RuntimeError('the command began to work')


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('line', LINES, ids=' '.join)
def test_a_bad_command_line(
    line: list[str], place: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        code = main(line)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    said = capfd.readouterr().err
    assert code == 2
    assert said.startswith('delama: error: ')
    assert len(said.splitlines()) == 1
    assert len(said) < 2000
    # It names a value or an option of the line; without one, the command that lacks it.
    words = [w[:60] for part in line[1:] or line for w in re.split('[=#]', part.strip('-')) if w]
    named = ["''", 'arguments are required']
    assert any(word in said for word in [*words, *named])
