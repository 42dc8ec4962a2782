"""`delama eval rendezvous` as a user meets it."""

import json

import pytest

from delama_ros.cli.main import main

ONE_PLAN = ['eval', 'rendezvous', '--plans', 'generated:4-5', '--steps', '4', '--pairs', '3']


def test_rates_errors_and_times_of_one_plan(tmp_path, capsys) -> None:
    file = tmp_path / 'figures.json'
    assert main([*ONE_PLAN, '--different', '0', '--json', str(file)]) == 0
    text = capsys.readouterr().out
    figures = json.loads(file.read_text())
    assert figures['attempts'] == 3
    rows = figures['found']['smaller']['all'][2:]  # the first two sum up the others
    assert sum(row['pairs'] for row in rows) == 3
    assert sum(row['found'] for row in rows) == figures['accepted'] - figures['false']
    assert 0 < figures['seconds']['median'] < 30
    false = figures['false']
    assert f'false transforms: {false} of 3 pairs in the same plan, 0 of 0 pairs in diff' in text
    assert 'CPU time per attempt' in text


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (['--different', '5'], '1 plans, expected at least 2'),
        (['--pairs', '0'], '--pairs is 0'),
        (['--different', '-1'], '--different is -1'),
        (['--seeds', '-3'], '--seeds is -3'),
        (['--steps', '5', '--different', '0'], 'steps are (5,)'),
    ],
)
def test_wrong_values_are_named(arguments, said, capsys) -> None:
    assert main([*ONE_PLAN, *arguments]) != 0
    assert said in capsys.readouterr().err
