import json

import numpy as np
import pytest
from PIL import Image

from delama_ros.cli.main import main
from delama_ros.geometry.map_file import read_map
from delama_sim.plans.generator import generate


def test_it_describes_and_draws(capsys):
    assert main(['plan', 'generated:7']) == 0
    text = capsys.readouterr().out
    assert 'generated:7' in text
    assert 'doors' in text
    assert '█' in text
    assert max(map(len, text.splitlines())) <= 100


def test_it_converts_and_edits(tmp_path, capsys):
    target = tmp_path / 'out' / 'm.yaml'
    arguments = ['--thicken', '0.05', '--drop', '0.01', '--blocks', '2', '--quiet']
    assert main(['plan', 'generated:7', '--map', str(target), *arguments]) == 0
    assert capsys.readouterr().out == ''
    edited = read_map(target)
    plain = generate(7).map
    assert edited.solid.sum() > plain.solid.sum() * 1.2
    assert main(['plan', str(target), '--png', str(tmp_path / 'm.png'), '--quiet']) == 0
    assert np.asarray(Image.open(tmp_path / 'm.png')).shape == plain.shape


def test_a_folder_gives_a_table_and_a_sheet(tmp_path, capsys):
    for seed in (1, 2, 3):
        main(['plan', f'generated:{seed}', '--map', str(tmp_path / f'{seed}.yaml'), '--quiet'])
    figures = tmp_path / 'figures.json'
    sheet = tmp_path / 'out' / 'sheet.png'
    assert main(['plan', str(tmp_path), '--png', str(sheet), '--json', str(figures)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    found = json.loads(figures.read_text())
    assert len(found) == 3
    assert all(0.9 < row['connected'] <= 1 for row in found.values())
    assert sheet.is_file()


def test_real_drawings(data_dir, capsys):
    assert main(['plan', str(data_dir / 'cubicasa5k' / 'svg')]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[-2] for line in lines] == ['11', '4', '4', '8']


@pytest.mark.parametrize(
    ('arguments', 'part'),
    [
        (['nowhere.svg'], 'nowhere.svg'),
        (['generated:x'], 'generated:SEED'),
        (['generated:1', '--thicken', '-1'], '--thicken is -1'),
        (['generated:1', '--resolution', '0'], '--resolution is 0'),
        (['generated:1', '--png', '/proc/nowhere/a.png'], '/proc/nowhere'),
    ],
)
def test_mistakes_are_one_line(capsys, arguments, part):
    assert main(['plan', *arguments]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert len(error.splitlines()) == 1
