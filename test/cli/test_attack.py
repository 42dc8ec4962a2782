"""`delama attack` in a small run."""

import json

import pytest

from delama_ros.cli.main import main

SMALL = [
    'attack', '--plans', 'generated:9000-9001', '--robots', '3', '--steps', '4', '--begin', '2',
]


def test_a_table_and_lists_over_t(tmp_path, capsys) -> None:
    file = tmp_path / 'attack.json'
    given = ['--lie', 'heavy', '--json', str(file), '--out', str(tmp_path / 'out')]
    assert main([*SMALL, *given]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ['none', 'silent', 'heavy']
    assert lines[-1].startswith('1 runs of 3 robots, 1 lying from step 2 to 4')
    found = json.loads(file.read_text())
    assert len(found['honest_f1']) == len(found['baseline_f1']) == 4
    assert found['honest_f1'] == found['lies']['heavy']['honest_f1']
    assert found['lies']['none']['accused'] == [0, 0, 0, 0]
    assert found['honest_f1'][-1] > 40


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        (['--liars', '3'], '--liars is 3, expected fewer than --robots (3)'),
        (['--until', '1'], '--begin is 2 and --until 1'),
        (['--begin', '5'], '--begin is 5 and --until 4'),
    ],
)
def test_impossible_runs_are_refused(given, words, capsys) -> None:
    assert main([*SMALL, *given]) == 2
    assert words in capsys.readouterr().err
