"""Experiments through the command line: train, go on, two processes, evaluate, bad settings."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from delama_ros.cli.main import main
from delama_ros.tasks.experiment import Experiment
from delama_ros.training.loop import Loop

TINY = [
    'sequences=8', 'batch=4', 'looks=2', 'wc_epochs=3', 'epochs=2', 'validation=4', 'checks=2',
    'rounds=2', 'directions=4', 'agents=4', 'functions=2', 'steps=3', 'methods=[delama]',
]


def train(out, *more, task='regression'):
    sets = [part for setting in (*TINY, *more) for part in ('--set', setting)]
    return ['train', task, *sets, '--out', str(out)]


def weights(folder, method='delama'):
    with np.load(folder / 'seed0' / f'{method}.npz') as stored:
        return {name: stored[name] for name in stored.files}


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    assert main([*train(folder, 'methods=[delama,oracle,delama_paper]'), '--seeds', '0', '1']) == 0
    return folder


def test_a_run_holds_all_there_is_to_it(run) -> None:
    for seed in ('seed0', 'seed1'):
        for method in ('wc', 'delama', 'oracle', 'delama_paper'):
            made = json.loads((run / seed / f'{method}.json').read_text())
            assert made['task'] == 'regression'
            assert made['options']['training']['batch'] == 4
            lines = (run / seed / f'{method}.jsonl').read_text().splitlines()
            assert 'lambda2' in json.loads(lines[-1])['coefficients']
        assert (run / seed / 'curves.png').stat().st_size > 5_000
        assert not list((run / seed).glob('*.state'))


def test_evaluation(run, tmp_path, capsys) -> None:
    file = tmp_path / 'figures.json'
    plots = tmp_path / 'plots'
    arguments = ['--run', str(run), '--sequences', '6', '--json', str(file)]
    assert main(['eval', 'regression', *arguments, '--plots', str(plots)]) == 0
    figures = json.loads(file.read_text())
    assert set(figures['methods']) == {'wc', 'wm', 'oracle', 'delama', 'delama_paper'}
    assert figures['seeds'] == [0, 1]
    for name, values in figures['methods'].items():
        keys = {'mse', 'mse_se'} | ({'gmse', 'gmse_se'} if name not in ('wc', 'oracle') else set())
        assert set(values) == keys
        assert all(len(row) == 3 and np.isfinite(row).all() for row in values.values())
    assert figures['methods']['wm']['mse'][0] == pytest.approx(
        figures['methods']['delama']['mse'][0]
    )
    text = capsys.readouterr().out
    assert 'delama relative to oracle' in text
    names = {path.name for path in plots.iterdir()}
    assert names == {f'regression_{n}.png' for n in ('results', 'graphs', 'functions')}
    # Fewer links: agents alone do as before, the others differ.
    assert main(['eval', 'regression', *arguments, '--graph', 'er:0.4']) == 0
    sparse = json.loads(file.read_text())['methods']
    assert sparse['delama']['mse'] != figures['methods']['delama']['mse']


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
    arguments = train(tmp_path, 'methods=[delama,oracle,delama_paper]')
    stop_and_go_on(arguments, tmp_path, monkeypatch, after=3)  # in the second method
    for method in ('wc', 'delama', 'oracle'):
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
    in_two_processes(train(tmp_path, 'methods=[delama,oracle,delama_paper]'))
    for method in ('wc', 'delama'):
        one, two = weights(run, method), weights(tmp_path, method)
        for name in one:
            np.testing.assert_allclose(two[name], one[name], rtol=2e-3, atol=2e-4, err_msg=name)


def test_what_is_there_is_not_trained_again_or_overwritten(run, capsys, monkeypatch) -> None:
    monkeypatch.setattr(Experiment, '_train', lambda *args: pytest.fail('trained again'))
    assert main(train(run, 'methods=[delama,oracle,delama_paper]')) == 0
    assert 'is there already' in capsys.readouterr().out
    assert main(train(run, 'methods=[delama]', 'batch=2')) == 2
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
    arguments = ('pretrain_bfloat16=false', 'wc_epochs=1', 'methods=[]')
    assert main(train_digits(tmp_path / 'one', *arguments)) == 0
    in_two_processes(train_digits(tmp_path / 'two', *arguments))
    one, two = (weights(tmp_path / name, 'backbone') for name in ('one', 'two'))
    for name in one:
        np.testing.assert_allclose(two[name], one[name], rtol=5e-3, atol=5e-4, err_msg=name)
    assert weights(tmp_path / 'two', 'wc')  # with the backbone that the first process has written


def test_a_stopped_backbone_goes_on_to_the_same_end(tmp_path, monkeypatch) -> None:
    changes = ('pretrain_bfloat16=true', 'wc_epochs=1', 'methods=[]')
    assert main(train_digits(tmp_path / 'one', *changes)) == 0
    two = tmp_path / 'two'
    stop_and_go_on(train_digits(two, *changes), two, monkeypatch, after=2)
    for name in ('backbone', 'wc'):
        whole, resumed = weights(tmp_path / 'one', name), weights(two, name)
        assert all(np.array_equal(whole[key], resumed[key]) for key in whole)


def test_a_backbone_serves_other_settings_of_the_task(tmp_path, capsys) -> None:
    assert main(train_digits(tmp_path / 'one', 'wc_epochs=1', 'methods=[]')) == 0
    (tmp_path / 'two' / 'seed0').mkdir(parents=True)
    for suffix in ('.json', '.npz'):
        shutil.copy(tmp_path / 'one/seed0' / f'backbone{suffix}', tmp_path / 'two/seed0')
    assert main(train_digits(tmp_path / 'two', 'wc_epochs=2', 'methods=[]', 'samples=3')) == 0
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
    assert main(['eval', 'mnist', *arguments, '--plots', str(tmp_path)]) == 0
    accuracy = json.loads(figures.read_text())['methods']['delama']['accuracy']
    assert all(0 <= value <= 100 for value in accuracy)
    assert (tmp_path / 'mnist_images.png').exists()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['train', 'regression', '--set', 'epoch=2'], ['epoch is not a setting', 'wc_epochs']),
        (['train', 'regression', '--set', 'batch=many'], ['batch', "'many'", 'int']),
        (['train', 'regression', '--set', 'agents=4'], ['functions is 3', '1 to 2']),
        (['train', 'regression', '--set', 'methods=[dalema]'], ['dalema', 'delama_paper']),
        (['train', 'regression', '--set', 'batch'], ["'batch'", 'NAME=VALUE']),
        (['train', 'regression', '--config', 'no.yaml'], ['no.yaml', 'No such file']),
        (['train', 'mnist', '--data', '/nowhere'], ['/nowhere', 'train-images-idx3-ubyte']),
        (['train', 'cifar10', '--data', 'generated'], ['generated', 'folder']),
        (['eval', 'regression', '--run', '/nowhere'], ['/nowhere', 'delama train']),
        (['eval', 'regression', '--sequences', '0'], ['--sequences is 0']),
    ],
)
def test_mistakes_are_one_line(arguments, words, capsys, tmp_path) -> None:
    if arguments[0] == 'train':
        arguments = [*arguments, '--out', str(tmp_path)]
    assert main(arguments) == 2
    text = capsys.readouterr().err
    assert len(text.splitlines()) == 1
    assert all(word in text for word in words)
