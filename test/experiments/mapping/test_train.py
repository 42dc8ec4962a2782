"""Training: it learns, stops and goes on to the same end, and refuses what it cannot use."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from delama_ros.cli.main import main
from delama_ros.experiments.mapping.dataset import plan_specs, split
from delama_ros.experiments.mapping.trainer import Config, MapTraining, episodes
from delama_ros.mapping.default import SETTINGS
from delama_ros.training.config import configure
from delama_ros.training.loop import Loop

CONFIG = Config(
    plans=('generated:1-4',), validation=('generated:7-8',), features=8, head_iterations=6,
    unrolled_iterations=2, batch=1, check_every=3, jobs=1,
)


@pytest.fixture(scope='module')
def data():
    return [episodes(CONFIG, plans, 'validation') for plans in (CONFIG.plans, CONFIG.validation)]


def train(data, state=None, keep=None, config: Config = CONFIG) -> tuple[MapTraining, Loop]:
    run = MapTraining(config, SETTINGS, *data)
    loop = Loop(
        run.model, run.stages(), seed=0, identity=asdict(config), state=state,
        report=lambda text: None,
    )
    loop.run(keep)
    return run, loop


def test_learning_helps_and_is_exported(data) -> None:
    before = np.mean(MapTraining(CONFIG, SETTINGS, *data).validate(unrolled=False))
    run, loop = train(data)
    checkpoint = run.checkpoint(loop.best, {'command': 'test'})
    assert checkpoint.model.table.shape == (8, 24, 24)
    assert checkpoint.made['command'] == 'test'
    heads = [line['values'] for line in loop.progress.curve if line['stage'] == 'head']
    assert np.mean(list(heads[-1].values())) > before


def test_a_stopped_run_can_go_on(data, tmp_path) -> None:
    class Stop(Exception):  # noqa: N818
        pass

    def stop(loop: Loop) -> None:
        raise Stop

    with pytest.raises(Stop):
        train(data, tmp_path / 'state', stop)
    with pytest.raises(ValueError, match='another configuration'):
        train(data, tmp_path / 'state', config=replace(CONFIG, seed=5))
    resumed, whole = (train(data, state)[1] for state in (tmp_path / 'state', None))
    for key, value in whole.best.items():
        assert (resumed.best[key] == value).all()


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match='fetures'):
        configure(Config, {'fetures': 3})
    with pytest.raises(ValueError, match="'many'"):
        configure(Config, {'features': 'many'})
    with pytest.raises(ValueError, match='generated:A-B'):
        plan_specs('generated:9-3')


def test_split_is_fixed_and_sets_plans_aside() -> None:
    names = [f'plans/{number}.yaml' for number in range(1000)]
    training, validation, test = split(names)
    assert 250 < len(test) < 350
    assert 60 < len(validation) < 140
    assert sorted([*training, *validation, *test]) == sorted(names)
    assert split(names[:500]).test == [name for name in names[:500] if name in set(test)]


def test_features_of_the_plane_train_like_any_other(monkeypatch) -> None:
    # a smaller square is quicker
    monkeypatch.setattr('delama_ros.experiments.mapping.trainer.PLANE', 96)
    config = replace(
        CONFIG, kind='plane', features=4, plans=('generated:1-2',), validation=('generated:7-8',),
        head_iterations=2, unrolled_iterations=1, check_every=1,
    )
    data = [episodes(config, plans, 'validation') for plans in (config.plans, config.validation)]
    run, loop = train(data, config=config)
    model = run.checkpoint(loop.best, {}).model
    assert model.table.shape == (4, 96, 96)


def test_a_run_that_is_in_the_way_is_named_before_plans_are_scanned(tmp_path, capsys) -> None:
    torch.save({'identity': {'seed': 1}}, tmp_path / 'decoder.state')
    arguments = ['train', 'decoder', '--plans', 'generated:0-100000', '--out']
    assert main([*arguments, str(tmp_path / 'decoder.npz')]) == 2
    error = capsys.readouterr().err
    assert 'decoder.state was saved with another configuration' in error
