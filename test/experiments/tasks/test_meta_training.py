"""Experiments through the command line: train, go on, two processes, evaluate, bad settings."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from delama_ros.cli.main import main
from delama_ros.core.checkpoint import load
from delama_ros.experiments.tasks.meta_training import MetaTraining
from delama_ros.experiments.tasks.variants import VARIANTS
from delama_ros.training.loop import Loop

TINY = [
    'sequences=8', 'batch=4', 'looks=2', 'alone_epochs=3', 'epochs=2', 'validation=4', 'checks=2',
    'rounds=2', 'directions=4', 'agents=4', 'functions=2', 'steps=3', 'methods=[bayes]',
]


def train(out, *more, task='regression'):
    sets = [part for setting in (*TINY, *more) for part in ('--set', setting)]
    return ['train', task, *sets, '--out', str(out)]


def weights(folder, method='bayes'):
    with np.load(folder / 'seed0' / f'{method}.npz') as stored:
        return {name: stored[name] for name in stored.files if name != 'description'}


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    assert main([*train(folder, 'methods=[bayes,oracle,paper]'), '--seeds', '0', '1']) == 0
    return folder


def test_a_run_holds_all_there_is_to_it(run) -> None:
    for seed in ('seed0', 'seed1'):
        for method in ('alone', 'bayes', 'oracle', 'paper'):
            made = load(run / seed / method)
            assert made.task == 'regression'
            assert made.made['training']['batch'] == 4
            lines = (run / seed / f'{method}.jsonl').read_text().splitlines()
            assert 'lambda2' in json.loads(lines[-1])['coefficients']
        assert (run / seed / 'curves.png').stat().st_size > 5_000
        assert not list((run / seed).glob('*.state'))


def test_evaluation(run, tmp_path, capsys) -> None:
    file = tmp_path / 'figures.json'
    plots = tmp_path / 'plots'
    arguments = ['--run', str(run), '--sequences', '6', '--json', str(file), '--out', str(tmp_path)]
    assert main(['eval', 'regression', *arguments, '--plot', str(plots)]) == 0
    figures = json.loads(file.read_text())
    assert set(figures['methods']) == {'alone', 'last_step', 'oracle', 'bayes', 'paper'}
    assert figures['seeds'] == [0, 1]
    for name, values in figures['methods'].items():
        lists = {key: row for key, row in values.items() if isinstance(row, list)}
        graph = {'gmse', 'gmse_se', 'gmse_all_links', 'gmse_all_links_se'}
        learns_graph = name not in ('alone', 'oracle')
        assert set(lists) == {'mse', 'mse_se'} | (graph if learns_graph else set())
        assert all(len(row) == 3 and np.isfinite(row).all() for row in lists.values())
        assert values['runs_as'] == VARIANTS[name].runs_as
        assert ('agents' in values['runs_as']) == (name in ('alone', 'paper'))
    assert figures['methods']['last_step']['mse'][0] == pytest.approx(
        figures['methods']['bayes']['mse'][0]
    )
    text = capsys.readouterr().out
    assert 'bayes relative to oracle' in text
    names = {path.name for path in plots.iterdir()}
    assert names == {f'regression_{n}.png' for n in ('graphs', 'functions')}
    # Fewer links: agents alone do as before, the others differ.
    assert main(['eval', 'regression', *arguments, '--links', 'er:0.4']) == 0
    sparse = json.loads(file.read_text())['methods']
    assert sparse['bayes']['mse'] != figures['methods']['bayes']['mse']


class Stop(Exception):  # noqa: N818
    pass


def stop_and_go_on(arguments, folder, monkeypatch, after) -> None:
    plain = Loop._save
    saves = iter(range(1, 100))

    def save_and_stop(self, optimiser) -> None:
        plain(self, optimiser)
        if next(saves) == after:
            raise Stop

    monkeypatch.setattr(Loop, '_save', save_and_stop)
    with pytest.raises(Stop):
        main(arguments)
    monkeypatch.undo()
    assert list(folder.glob('seed0/*.state'))
    assert main(arguments) == 0


def test_a_stopped_run_goes_on_to_the_same_end(run, tmp_path, monkeypatch) -> None:
    arguments = train(tmp_path, 'methods=[bayes,oracle,paper]')
    stop_and_go_on(arguments, tmp_path, monkeypatch, after=3)  # in the second method
    for method in ('alone', 'bayes', 'oracle'):
        whole, resumed = weights(run, method), weights(tmp_path, method)
        assert all(np.array_equal(whole[name], resumed[name]) for name in whole)


def in_two_processes(arguments) -> None:
    environment = {**os.environ, 'OMP_NUM_THREADS': '1'}
    launcher = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '2']
    result = subprocess.run(
        [sys.executable, *launcher, '-m', 'delama_ros.cli.main', *arguments],
        capture_output=True, text=True, env=environment, timeout=300,
    )
    assert result.returncode == 0, result.stderr


def test_two_processes_give_the_result_of_one(run, tmp_path) -> None:
    in_two_processes(train(tmp_path, 'methods=[bayes,oracle,paper]'))
    for method in ('alone', 'bayes'):
        one, two = weights(run, method), weights(tmp_path, method)
        for name in one:
            np.testing.assert_allclose(two[name], one[name], rtol=2e-3, atol=2e-4, err_msg=name)


def test_what_is_there_is_not_trained_again_or_overwritten(run, capsys, monkeypatch) -> None:
    monkeypatch.setattr(MetaTraining, '_train', lambda *args: pytest.fail('trained again'))
    assert main(train(run, 'methods=[bayes,oracle,paper]')) == 0
    assert 'is there already' in capsys.readouterr().out
    assert main(train(run, 'methods=[bayes]', 'batch=2')) == 2
    assert 'other settings' in capsys.readouterr().err


def train_digits(out, *more):
    images = [
        'groups=2', 'samples=2', 'questions=5', 'pretrain_iterations=3', 'pretrain_batch=8',
        'pretrain_mirror=true', 'pretrain_shift=1', 'pretrain_smoothing=0.1',
        'pretrain_decay=0.01', 'frozen=true', *more,
    ]
    sets = [s for s in (*TINY, *images) if not s.startswith('functions')]
    arguments = [part for setting in sets for part in ('--set', setting)]
    return ['train', 'mnist', '--data', 'generated', *arguments, '--out', str(out)]


def test_two_processes_train_one_backbone(tmp_path) -> None:
    arguments = ('pretrain_bfloat16=false', 'alone_epochs=1', 'methods=[]')
    assert main(train_digits(tmp_path / 'one', *arguments)) == 0
    in_two_processes(train_digits(tmp_path / 'two', *arguments))
    one, two = (weights(tmp_path / name, 'backbone') for name in ('one', 'two'))
    for name in one:
        np.testing.assert_allclose(two[name], one[name], rtol=5e-3, atol=5e-4, err_msg=name)
    assert weights(tmp_path / 'two', 'alone')  # with the backbone of the first process


def test_a_stopped_backbone_goes_on_to_the_same_end(tmp_path, monkeypatch) -> None:
    changes = ('pretrain_bfloat16=true', 'alone_epochs=1', 'methods=[]')
    assert main(train_digits(tmp_path / 'one', *changes)) == 0
    two = tmp_path / 'two'
    stop_and_go_on(train_digits(two, *changes), two, monkeypatch, after=2)
    for name in ('backbone', 'alone'):
        whole, resumed = weights(tmp_path / 'one', name), weights(two, name)
        assert all(np.array_equal(whole[key], resumed[key]) for key in whole)


def test_a_backbone_serves_other_settings_of_the_task(tmp_path, capsys) -> None:
    assert main(train_digits(tmp_path / 'one', 'alone_epochs=1', 'methods=[]')) == 0
    (tmp_path / 'two' / 'seed0').mkdir(parents=True)
    shutil.copy(tmp_path / 'one/seed0/backbone.npz', tmp_path / 'two/seed0')
    assert main(train_digits(tmp_path / 'two', 'alone_epochs=2', 'methods=[]', 'samples=3')) == 0
    assert 'backbone is there already' in capsys.readouterr().out
    assert main(train_digits(tmp_path / 'two', 'methods=[]', 'pretrain_shift=2')) == 2
    assert 'other settings' in capsys.readouterr().err


def test_generated_digits(tmp_path) -> None:
    assert main(train_digits(tmp_path, 'pretrain_bfloat16=true')) == 0
    lines = (tmp_path / 'seed0' / 'backbone.jsonl').read_text().splitlines()
    assert 0 <= json.loads(lines[-1])['values']['classifier'] <= 100
    kept, learned = weights(tmp_path, 'backbone'), weights(tmp_path)
    name = 'network.backbone.backbone.0.weight'
    assert kept[name].dtype == np.float16
    assert name not in learned  # frozen, so that one serves all
    figures = tmp_path / 'figures.json'
    arguments = ['--run', str(tmp_path), '--sequences', '4', '--json', str(figures)]
    arguments += ['--out', str(tmp_path)]
    assert main(['eval', 'mnist', *arguments, '--plots', str(tmp_path)]) == 0
    accuracy = json.loads(figures.read_text())['methods']['bayes']['accuracy']
    assert all(0 <= value <= 100 for value in accuracy)
    assert (tmp_path / 'mnist_images.png').exists()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['train', 'regression', '--set', 'epoch=2'], ['epoch is not a setting', 'alone_epochs']),
        (['train', 'regression', '--set', 'batch=many'], ['batch', "'many'", 'int']),
        (['train', 'regression', '--set', 'agents=4'], ['functions is 3', '1 to 2']),
        (['train', 'regression', '--set', 'methods=[dalema]'], ['dalema', 'paper']),
        (['train', 'regression', '--set', 'batch'], ["'batch'", 'NAME=VALUE']),
        (['train', 'regression', '--config', 'no.yaml'], ['no.yaml', 'No such file']),
        (['train', 'mnist', '--data', '/nowhere'], ['/nowhere', 'train-images-idx3-ubyte']),
        (['train', 'cifar10', '--data', 'generated'], ['generated', 'folder']),
        (['eval', 'regression', '--run', '/nowhere'], ['/nowhere', 'delama train']),
        (['eval', 'regression', '--sequences', '0'], ['--sequences is 0']),
    ],
)
def test_mistakes_are_one_line(arguments, words, capsys, tmp_path) -> None:
    assert main([*arguments, '--out', str(tmp_path)]) == 2
    text = capsys.readouterr().err
    assert len(text.splitlines()) == 1
    assert all(word in text for word in words)
