"""The same thing has the same option in every command; names of earlier versions still work."""

import argparse
from collections.abc import Iterator

import pytest

from delama_ros.cli.main import COMMANDS, make_parser

OLD = {
    '--graph': '--links', '--noise': '--pose-noise', '--plots': '--plot', '--keep': '--retention',
    '--model': '--run or --checkpoint',
}


def parsers(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.Action]]:
    """Return all options of a command and those below it, with the name of their command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, inner in action._name_parser_map.items():
                yield from parsers(inner, f'{name} {below}')
        else:
            yield name, action


@pytest.fixture(scope='module')
def options() -> list[tuple[str, argparse.Action]]:
    found = []
    for command in COMMANDS:
        found += [
            (name, action) for name, action in parsers(make_parser(command), 'delama')
            if name.startswith(f'delama {command}')
        ]
    return found


def test_old_names_are_not_shown(options) -> None:
    shown = [(name, a) for name, a in options if a.help is not argparse.SUPPRESS]
    wrong = [
        f'{name} {old}: call it {OLD[old]}'
        for name, action in shown for old in action.option_strings if old in OLD
    ]
    assert not wrong, wrong


def test_seed_is_one_and_seeds_are_several(options) -> None:
    seeds = [
        (name, a) for name, a in options
        if {'--seed', '--seeds'} & {*a.option_strings} and a.help is not argparse.SUPPRESS
    ]
    assert len(seeds) > 8
    for name, action in seeds:
        assert (action.nargs == '+') == ('--seeds' in action.option_strings), name


@pytest.mark.parametrize(
    ('command', 'old', 'new'),
    [
        (['eval', 'regression'], ['--graph', 'er:0.3'], ['--links', 'er:0.3']),
        (['eval', 'mnist'], ['--plots', 'a'], ['--plot', 'a']),
        (['eval', 'regression'], ['--model', 'a'], ['--run', 'a']),
        (['eval', 'rendezvous'], ['--noise', '0.1'], ['--pose-noise', '0.1']),
        (['eval', 'mapping'], ['--seed', '1', '2'], ['--seeds', '1', '2']),
        (['eval', 'mapping'], ['--model', 'a'], ['--checkpoint', 'a']),
        (['eval', 'change'], ['--keep', '1', '0.5'], ['--retention', '1', '0.5']),
    ],
)
def test_old_names_mean_the_same(command, old, new) -> None:
    parsed = [vars(make_parser('eval').parse_args([*command, *words])) for words in (old, new, [])]
    assert parsed[0] == parsed[1] != parsed[2]
