"""Evaluation: layout of the figures, their order on generated plans, and real plans."""

import numpy as np
import pytest

from delama_ros.experiments.mapping.evaluate import evaluate
from delama_ros.experiments.mapping.methods import DEFAULT
from delama_ros.experiments.mapping.rows import Protocol
from delama_ros.experiments.mapping.two_buildings import evaluate_pairs
from delama_ros.experiments.runner import Runner
from delama_ros.mapping.default import packaged


@pytest.fixture(scope='module')
def figures(tmp_path_factory):
    runner = Runner(tmp_path_factory.mktemp('cells'))
    protocol = Protocol(robots=3, steps=4)
    return evaluate(['generated:9000'], protocol, packaged(), DEFAULT, runner).as_json()


def test_every_method_has_all_figures_at_every_step(figures) -> None:
    for values in figures['methods'].values():
        for name in ('f1', 'f1_se', 'precision', 'recall', 'coverage', 'bytes', 'ms'):
            assert len(values[name]) == 4


def test_working_together_helps_and_nobody_beats_the_ceiling(figures) -> None:
    f1 = {name: values['f1'][-1] for name, values in figures['methods'].items()}
    assert f1['alone'] + 5 < f1['fusion'] < f1['ceiling']
    assert f1['alone'] < f1['ceiling_alone'] < f1['ceiling']
    assert f1['logodds_merged'] < f1['centralised'] < f1['ceiling']
    assert abs(f1['fusion'] - f1['centralised']) < 3


def test_small_messages_cost_little(figures) -> None:
    small, exact = figures['methods']['fusion'], figures['methods']['fusion_exact']
    assert np.max(np.abs(np.array(small['f1']) - exact['f1'])) < 0.5
    assert np.mean(small['bytes']) * 10 < np.mean(exact['bytes'])


def test_the_default_checkpoint_does_well_on_a_real_plan(data_dir, tmp_path) -> None:
    folder = data_dir / 'cubicasa5k' / 'rosmap'
    spec = str(folder / '2113.yaml')
    report = evaluate([spec], Protocol(), packaged(), ['fusion', 'alone'], Runner(tmp_path))
    figures = report.as_json()['methods']
    assert figures['fusion']['f1'][-1] > 85
    assert figures['fusion']['f1'][0] > figures['alone']['f1'][0] + 10


def test_two_buildings_do_not_spoil_each_other(tmp_path) -> None:
    specs = ['generated:6001', 'generated:6051']
    report = evaluate_pairs(specs, Protocol(steps=6), packaged(), Runner(tmp_path))
    f1 = {row.name: row.figures['f1'][-1] for row in report.rows}
    assert f1['fusion'] > f1['fusion_oracle'] - 2


def test_nobody_joins_a_robot_in_another_building(tmp_path) -> None:
    specs = ['generated:6001', 'generated:6052']
    report = evaluate_pairs(
        specs, Protocol(steps=5), packaged(), Runner(tmp_path), preset='turtlebot'
    )
    free, cut = report.rows
    assert (free.name, cut.name) == ('slam_unknown', 'slam_unknown_oracle')
    assert free.figures['wrong_joins'] == cut.figures['wrong_joins'] == [0] * 5
    assert free.figures['f1'][-1] > cut.figures['f1'][-1] - 1.5
    assert free.figures['f1'][-1] > free.figures['f1'][0] + 10
