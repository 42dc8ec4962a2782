"""`delama eval` and its alias `delama compare` as a user meets them."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from delama_ros.cli.main import main
from delama_ros.experiments.tasks.backbones import mlp
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.regression import Regression
from delama_ros.experiments.tasks.saved import save_learner
from delama_ros.experiments.tasks.schedule import Training
from delama_ros.experiments.tasks.variants import BAYES

SMALL = ['--quick', '--rounds', '1', '--sequences', '2', '--jobs', '1']


def untrained(folder: Path, names: tuple[str, ...], task: Regression) -> None:
    """Write a run of `delama train` that has hardly begun."""
    torch.manual_seed(0)
    made = {'task': asdict(task), 'data': None, 'training': asdict(Training()), 'command': 'none'}
    for name in names:
        save_learner(Learner(task, mlp(), BAYES), folder / 'seed0' / name, made)


@pytest.fixture(scope='module')
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('model')
    untrained(folder, ('alone', 'oracle', 'bayes'), Regression())
    return folder


def test_methods_of_every_kind_in_one_table(model, tmp_path, capsys) -> None:
    arguments = [
        'compare', 'regression', *SMALL, '--methods', 'ditto', 'l2g_pds', 'alone', 'bayes',
        '--model', str(model), '--out', str(tmp_path / 'out'), '--json', str(tmp_path / 'a.json'),
    ]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    for label in ('ditto', 'plain', 'strong', 'l2g_pds', 'alone', 'agents', '16.3'):
        assert label in first
    figures = json.loads((tmp_path / 'a.json').read_text())
    assert figures['rounds'] == 1
    assert figures['validation'] == 4
    assert list(figures['methods']) == ['ditto', 'ditto_strong', 'l2g_pds', 'alone', 'bayes']
    assert all(len(own['mse']) == len(own['mse_se']) == 10 for own in figures['methods'].values())
    assert {'regression.md', 'regression.csv', 'regression.png'} <= {
        path.name for path in (tmp_path / 'out').iterdir()
    }
    # all stored: the same command gives the same figures without computing a cell
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / 'out' / 'cells').iterdir()}
    assert main(arguments) == 0
    assert json.loads((tmp_path / 'a.json').read_text()) == figures
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / 'out' / 'cells').iterdir()} == files


def test_runs_of_older_versions_are_found_under_their_names(model, tmp_path) -> None:
    old = tmp_path / 'old'
    untrained(old, ('wc', 'delama_mina', 'delama'), Regression())
    file = tmp_path / 'a.json'
    common = ['--sequences', '2', '--out', str(tmp_path), '--json', str(file)]
    assert main(['eval', 'regression', '--run', str(old), *common]) == 0
    methods = json.loads(file.read_text())['methods']
    assert list(methods) == ['alone', 'row', 'bayes', 'last_step']


def test_errors_over_seeds_or_over_all_sequences(model, tmp_path) -> None:
    errors = []
    for over in ('seeds', 'sequences'):
        file = tmp_path / 'a.json'
        assert main([
            'eval', 'regression', '--run', str(model), '--methods', 'alone', '--seeds', '0', '1',
            '2', '--sequences', '3', '--error-over', over, '--out', str(tmp_path), '--json',
            str(file),
        ]) == 0
        errors.append(json.loads(file.read_text())['methods']['alone'])
    assert errors[0]['mse'] == errors[1]['mse']
    assert errors[0]['mse_se'] != errors[1]['mse_se']


def test_a_variant_that_was_not_trained_is_named(model, tmp_path, capsys) -> None:
    arguments = ['compare', 'regression', *SMALL, '--model', str(model), '--out', str(tmp_path)]
    assert main([*arguments, '--methods', 'paper', 'alone']) == 2
    error = capsys.readouterr().err
    assert 'no trained learner for paper' in error
    assert len(error.splitlines()) == 1


def test_plain_methods_need_no_trained_learners(tmp_path, capsys) -> None:
    assert main([
        'compare', 'regression', *SMALL, '--methods', 'fedavg', '--setups', 'plain',
        '--model', str(tmp_path / 'nothing'), '--out', str(tmp_path),
    ]) == 0
    assert 'fedavg' in capsys.readouterr().out


def test_learners_are_tested_on_the_task_they_were_trained_on(tmp_path) -> None:
    untrained(tmp_path, ('alone', 'bayes'), Regression(steps=3))
    file = tmp_path / 'a.json'
    assert main([
        'compare', 'regression', *SMALL, '--methods', 'alone', 'fedavg', '--model', str(tmp_path),
        '--out', str(tmp_path), '--json', str(file),
    ]) == 0
    methods = json.loads(file.read_text())['methods'].values()
    assert all(len(own['mse']) == 3 for own in methods)


def test_mapping_beside_the_paper(tmp_path, capsys) -> None:
    file = tmp_path / 'a.json'
    arguments = [
        'compare', 'mapping', '--plans', 'generated:9000-9001', '--methods', 'logodds_merged',
        'alone', '--steps', '2', '--seeds', '0', '1', '--jobs', '1', '--out', str(tmp_path),
        '--json', str(file),
    ]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert 'over 2 runs on 1 plan' in text
    assert '68.5' in text
    figures = json.loads(file.read_text())
    assert figures['methods']['alone']['runs_as'] == 'agents'
    assert len(figures['methods']['alone']['f1']) == 2


def test_mapping_has_no_sequences_to_set(tmp_path, capsys) -> None:
    assert main(['compare', 'mapping', '--sequences', '3', '--out', str(tmp_path)]) == 2
    assert '--sequences' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--methods', 'sgd'], ["'sgd'", 'fedavg']),
        (['--rounds', '0'], ['--rounds is 0', 'at least 1']),
        (['--jobs', '0'], ['--jobs is 0', 'at least 1']),
        (['--model', 'nowhere'], ['nowhere', 'delama train regression']),
        (['--plugin', 'nowhere'], ["'nowhere'", 'module:Class']),
        (['--plugin', 'nowhere.py:Own'], ['no file nowhere.py']),
        (['--plugin', 'json:JSONDecoder'], ['json:JSONDecoder', 'step']),
    ],
)
def test_a_users_mistake_is_one_line(arguments, words, tmp_path, capsys) -> None:
    assert main(['compare', 'regression', *arguments, '--out', str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith('delama: error: ')
    assert len(error.splitlines()) == 1
    assert all(word in error for word in words)


def test_crossover_says_what_each_method_runs_as(tmp_path, capsys) -> None:
    file = tmp_path / 'crossover.json'
    arguments = ['--plans', 'generated:9000-9001', '--robots', '2', '--steps', '1', '--scans', '1']
    out = ['--jobs', '1', '--out', str(tmp_path), '--json', str(file)]
    assert main(['eval', 'crossover', *arguments, *out]) == 0
    text = capsys.readouterr().out
    assert 'runs as' in text
    assert 'agents / central' in text
    kinds = {name: row['runs_as'] for name, row in json.loads(file.read_text())['methods'].items()}
    assert kinds == {'fusion_1_scans': 'agents', 'centralised_1_scans': 'central'}
