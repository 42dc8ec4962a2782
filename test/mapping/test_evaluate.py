"""Evaluation: layout of the figures, their order on generated plans, and real plans."""

import numpy as np
import pytest

from delama_ros.mapping.default import packaged
from delama_ros.mapping.evaluate import evaluate
from delama_ros.mapping.methods import DEFAULT
from delama_ros.mapping.rows import Protocol
from delama_ros.mapping.two_buildings import evaluate_pairs


@pytest.fixture(scope='module')
def figures():
    return evaluate(['generated:9000'], Protocol(robots=3, steps=4), packaged(), DEFAULT)


def test_every_method_has_all_figures_at_every_step(figures) -> None:
    for values in figures['methods'].values():
        for name in ('f1', 'f1_se', 'precision', 'recall', 'coverage', 'bytes', 'ms'):
            assert len(values[name]) == 4


def test_working_together_helps_and_nobody_beats_the_ceiling(figures) -> None:
    f1 = {name: values['f1'][-1] for name, values in figures['methods'].items()}
    assert f1['wc'] + 5 < f1['delama'] < f1['ceiling']
    assert f1['wc'] < f1['ceiling_alone'] < f1['ceiling']
    assert f1['logodds_merged'] < f1['oracle'] < f1['ceiling']
    assert abs(f1['delama'] - f1['oracle']) < 3


def test_small_messages_cost_little(figures) -> None:
    small, exact = figures['methods']['delama'], figures['methods']['delama_exact']
    assert np.max(np.abs(np.array(small['f1']) - exact['f1'])) < 0.5
    assert np.mean(small['bytes']) * 10 < np.mean(exact['bytes'])


def test_the_default_checkpoint_does_well_on_a_real_plan(data_dir) -> None:
    folder = data_dir / 'cubicasa5k' / 'rosmap'
    spec = str(folder / '2113.yaml')
    figures = evaluate([spec], Protocol(), packaged(), ['delama', 'wc'])['methods']
    assert figures['delama']['f1'][-1] > 85
    assert figures['delama']['f1'][0] > figures['wc']['f1'][0] + 10


def test_two_buildings_do_not_spoil_each_other() -> None:
    figures = evaluate_pairs(['generated:6001', 'generated:6051'], Protocol(steps=6), packaged())
    f1 = {name: values['f1'][-1] for name, values in figures['methods'].items()}
    assert f1['delama'] > f1['delama_oracle_graph'] - 2
