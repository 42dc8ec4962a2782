"""Training: it learns, stops and goes on to the same end, and refuses what it cannot use."""

from dataclasses import replace

import numpy as np
import pytest

from delama_ros.mapping.dataset import plan_specs, split
from delama_ros.mapping.default import SETTINGS
from delama_ros.mapping.trainer import Config, Trainer, episodes

CONFIG = Config(
    plans='generated:1-4', validation='generated:7-8', features=8, head_iterations=6,
    unrolled_iterations=2, batch=1, check_every=3, jobs=1,
)


@pytest.fixture(scope='module')
def data():
    return [episodes(CONFIG, plans, noisy=False) for plans in (CONFIG.plans, CONFIG.validation)]


def trainer(data, config: Config = CONFIG) -> Trainer:
    return Trainer(config, SETTINGS, *data, say=lambda text: None)


def test_learning_helps_and_is_exported(data) -> None:
    learner = trainer(data)
    before = np.mean(learner.validate())
    learner.run(lambda t: None)
    checkpoint = learner.checkpoint({'command': 'test'})
    assert checkpoint.model.table.shape == (8, 24, 24)
    assert checkpoint.made['command'] == 'test'
    heads = [c['f1'] for c in checkpoint.made['curve'] if c['stage'] == 'head']
    assert np.mean(heads[-1]) > before


def test_a_stopped_run_can_go_on(data, tmp_path) -> None:
    class Stop(Exception):  # noqa: N818
        pass

    def stop(learner: Trainer) -> None:
        learner.save_state(tmp_path / 'state')
        raise Stop

    with pytest.raises(Stop):
        trainer(data).run(stop)
    resumed = trainer(data)
    resumed.restore(tmp_path / 'state')
    assert resumed.progress.iteration == 3
    resumed.run(lambda t: None)
    whole = trainer(data)
    whole.run(lambda t: None)
    assert resumed.progress.curve == whole.progress.curve
    with pytest.raises(ValueError, match='another configuration'):
        trainer(data, replace(CONFIG, seed=5)).restore(tmp_path / 'state')


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match='fetures'):
        Config.of({'fetures': 3})
    with pytest.raises(ValueError, match="'many'"):
        Config.of({'features': 'many'})
    with pytest.raises(ValueError, match='generated:A-B'):
        plan_specs('generated:9-3')


def test_split_is_fixed_and_about_30_percent() -> None:
    names = [f'plans/{number}.yaml' for number in range(1000)]
    training, test = split(names)
    assert 250 < len(test) < 350
    assert not set(training) & set(test)
    assert split(names[:500])[1] == [name for name in names[:500] if name in set(test)]
