"""`delama compare` as a user meets it."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from delama_ros.cli.main import main
from delama_ros.tasks.backbones import mlp
from delama_ros.tasks.learner import Learner
from delama_ros.tasks.methods import OURS
from delama_ros.tasks.regression import Regression
from delama_ros.tasks.saved import save_learner
from delama_ros.tasks.schedule import Training

SMALL = ['--quick', '--rounds', '1', '--sequences', '2', '--jobs', '1']


@pytest.fixture(scope='module')
def model(tmp_path_factory) -> Path:
    """A run of `delama train` that has hardly begun: untrained networks."""
    folder = tmp_path_factory.mktemp('model')
    torch.manual_seed(0)
    task = Regression()
    made = {'task': asdict(task), 'data': None, 'training': asdict(Training()), 'command': 'none'}
    for name in ('wc', 'oracle', 'delama'):
        save_learner(Learner(task, mlp(), OURS), folder / 'seed0' / name, made)
    return folder


def test_methods_of_every_kind_in_one_table(model, tmp_path, capsys) -> None:
    arguments = [
        'compare', 'regression', *SMALL, '--methods', 'ditto', 'l2g_pds', 'wc', 'delama',
        '--model', str(model), '--out', str(tmp_path / 'out'), '--json', str(tmp_path / 'a.json'),
    ]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    for label in ('Ditto', 'plain', 'strong', 'L2G-PDS', 'DeLAMA-WC', 'DeLAMA (ours)', '16.3'):
        assert label in first
    figures = json.loads((tmp_path / 'a.json').read_text())
    assert figures['rounds'] == 1
    assert figures['validation'] == 4
    assert list(figures['methods']) == ['ditto', 'ditto_strong', 'l2g_pds', 'wc', 'delama']
    assert all(len(own['mse']) == len(own['mse_se']) == 10 for own in figures['methods'].values())
    assert {'regression.md', 'regression.csv', 'regression.png'} <= {
        path.name for path in (tmp_path / 'out').iterdir()
    }
    # all kept: the same command gives the same figures without computing a cell
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / 'out' / 'cells').iterdir()}
    assert main(arguments) == 0
    assert json.loads((tmp_path / 'a.json').read_text()) == figures
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / 'out' / 'cells').iterdir()} == files


def test_a_variant_that_was_not_trained_is_named(model, tmp_path, capsys) -> None:
    arguments = ['compare', 'regression', *SMALL, '--model', str(model), '--out', str(tmp_path)]
    assert main([*arguments, '--methods', 'delama_paper', 'wc']) == 2
    error = capsys.readouterr().err
    assert 'no trained network for delama_paper' in error
    assert len(error.splitlines()) == 1


def test_plain_methods_need_no_trained_network(tmp_path, capsys) -> None:
    assert main([
        'compare', 'regression', *SMALL, '--methods', 'fedavg', '--setups', 'plain',
        '--model', str(tmp_path / 'nothing'), '--out', str(tmp_path),
    ]) == 0
    assert 'FedAvg' in capsys.readouterr().out


def test_mapping_beside_the_paper(tmp_path, capsys) -> None:
    assert main([
        'compare', 'mapping', '--plans', 'generated:9000-9001', '--methods', 'logodds_merged',
        'wc', '--jobs', '1', '--out', str(tmp_path),
    ]) == 0
    text = capsys.readouterr().out
    assert 'DeLAMA-WC' in text
    assert '68.5' in text
    assert 'over 1 plan;' in text


def test_networks_of_another_task_are_refused(tmp_path, capsys) -> None:
    task = Regression(steps=3)
    made = {'task': asdict(task), 'data': None, 'training': asdict(Training()), 'command': 'none'}
    for name in ('wc', 'delama'):
        save_learner(Learner(task, mlp(), OURS), tmp_path / 'seed0' / name, made)
    arguments = ['compare', 'regression', *SMALL, '--methods', 'wc', '--model', str(tmp_path)]
    assert main([*arguments, '--out', str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "'steps': 3" in error
    assert 'config/train_regression.yaml' in error


def test_mapping_has_no_rounds_to_set(tmp_path, capsys) -> None:
    assert main(['compare', 'mapping', '--rounds', '3', '--out', str(tmp_path)]) == 2
    assert '--rounds does not go with mapping' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--methods', 'sgd'], ["'sgd'", 'fedavg']),
        (['--rounds', '0'], ['--rounds is 0', 'at least 1']),
        (['--plans', 'maps'], ['--plans', 'regression']),
        (['--model', 'nowhere'], ['nowhere', 'delama train regression']),
    ],
)
def test_a_users_mistake_is_one_line(arguments, words, tmp_path, capsys) -> None:
    assert main(['compare', 'regression', *arguments, '--out', str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith('delama: error: ')
    assert len(error.splitlines()) == 1
    assert all(word in error for word in words)
