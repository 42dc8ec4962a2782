"""Gradient methods on a task: what they learn from, and that learning helps."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from delama_ros.core.settings import PAPER
from delama_ros.data.digits import generated_digits
from delama_ros.experiments.baselines.graph_learners import GRIDS
from delama_ros.experiments.baselines.method import Effort
from delama_ros.experiments.baselines.registry import PACKAGED
from delama_ros.experiments.baselines.run import (
    Setting,
    _samples,
    features_of,
    given,
    goodness,
    plain_problem,
    run_graph,
    run_method,
    strong_problem,
)
from delama_ros.experiments.tasks.backbones import convolutions, mlp
from delama_ros.experiments.tasks.catalogue import fresh_backbone
from delama_ros.experiments.tasks.images import Images, Protocol
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.regression import Regression
from delama_ros.experiments.tasks.task import fixed
from delama_ros.experiments.tasks.variants import BAYES, VARIANTS, numbers_sent, run_variant

TASK = Regression(agents=4, functions=2, steps=2)
EFFORT = Effort(rounds=2, local=2)


@pytest.fixture(scope='module')
def batch():
    return fixed(TASK, 3, 'validation', 0)


@pytest.fixture(scope='module')
def learner():
    torch.manual_seed(0)
    return Learner(TASK, mlp(), BAYES)


@pytest.fixture(scope='module')
def images():
    return Images('mnist', generated_digits(), Protocol(agents=2, groups=1, steps=2, samples=3))


@pytest.fixture(scope='module')
def images_learner(images):
    torch.manual_seed(0)
    return Learner(images, convolutions(), BAYES)


@pytest.mark.parametrize('name', PACKAGED)
def test_every_method_runs_on_images_plain_and_strong(images, images_learner, name) -> None:
    """The lifelong ones are for classes only, so all of them are tried on images."""
    task, learner = images, images_learner
    batch = fixed(task, 1, 'validation', 0)
    setting = Setting(0.01, PACKAGED[name].strengths[0])
    effort = Effort(rounds=1, local=2)
    size = []
    for strong in (False, True):
        problem = strong_problem(task) if strong else plain_problem(task, convolutions())
        inputs = features_of(task, learner) if strong else task.inputs
        result = run_method(
            task, batch, given(batch, inputs), problem, name, setting, effort, replay=strong
        )
        assert result.scores.shape == (1, 2)
        assert ((result.scores >= 0) & (result.scores <= 100)).all()
        size.append(result.bytes)
    if PACKAGED[name].family == 'lifelong':
        assert size == [0, 0]
        assert result.rounds == 0
    elif name != 'fedrep':  # whose head stays at home
        assert size[0] > 100 * size[1] > 0


def test_learning_helps_and_tuning_sees_it(batch) -> None:
    results = [
        run_method(
            TASK, batch, given(batch, TASK.inputs),
            plain_problem(TASK, fresh_backbone('regression', 0, {})),
            'fedavg_ft', Setting(rate, 30), Effort(rounds=5, local=5), replay=False,
        )
        for rate in (1e-9, 0.03)
    ]
    assert goodness(TASK, results[1].scores) > goodness(TASK, results[0].scores)


def test_a_run_that_diverged_is_never_chosen(batch) -> None:
    problem = plain_problem(TASK, fresh_backbone('regression', 0, {}))
    result = run_method(
        TASK, batch, given(batch, TASK.inputs), problem, 'fedavg', Setting(1e30, 0.0), EFFORT,
        replay=False,
    )
    assert goodness(TASK, result.scores) == -np.inf


def test_answers_that_are_no_numbers_do_not_count_as_the_first_class(images) -> None:
    data = fixed(images, 1, 'validation', 0)
    problem = plain_problem(images, convolutions())
    problem.networks.first.fill_(torch.nan)
    result = run_method(
        images, data, given(data, images.inputs), problem, 'agem', Setting(0.01, 0.0),
        Effort(rounds=1, local=1), replay=False,
    )
    assert result.scores.isnan().all()
    assert goodness(images, result.scores) == -np.inf


def test_the_true_graph_of_sparse_links_is_the_papers(batch, learner) -> None:
    """Links that nobody can use are missed in the learned graph, as in the paper's table 3."""
    alone = replace(batch, links=torch.zeros_like(batch.links))
    measured, _ = run_variant(alone, learner, 'collaborate')
    np.testing.assert_allclose(measured.gmse_all_links, 1.0)
    assert measured.gmse.isnan().all()  # no link, no true graph


def test_replay_gives_all_own_steps_to_every_gradient(batch) -> None:
    data = _samples(batch, batch.X, 0, 1)()
    assert data.weight.sum() == batch.weight.sum()
    own = torch.cat([batch.X[0, t, 1] for t in range(2)])
    torch.testing.assert_close(data.x[0, 1], own)
    step = _samples(batch, batch.X, 1, 1)()
    torch.testing.assert_close(step.x, batch.X[:, 1])


def test_features_are_decorrelated(learner) -> None:
    inputs = features_of(TASK, learner)
    with torch.no_grad():
        x = inputs(fixed(TASK, 20, 'validation', 0).asked.flatten(0, 2))
        raw = learner.backbone(fixed(TASK, 20, 'validation', 0).asked.flatten(0, 2))

    def spread(values: torch.Tensor) -> float:
        variance = torch.linalg.eigvalsh(values.mT.double() @ values.double())
        return float(variance[-1] / variance[-2])

    assert spread(x) < 0.5 * spread(raw)


@pytest.mark.parametrize('name', VARIANTS)
def test_variants(batch, learner, name) -> None:
    mode = VARIANTS[name].mode
    measured, sent = run_variant(batch, learner, mode)
    assert measured.scores.isfinite().all()
    assert (sent == 0) == (mode == 'alone')


@pytest.mark.parametrize('name', GRIDS)
def test_graph_learners_take_the_place_of_the_graph_step(batch, learner, name) -> None:
    measured, sent = run_graph(batch, next(iter(GRIDS[name].values())), learner)
    assert measured.scores.isfinite().all()
    assert sent > 0
    assert not torch.equal(measured.scores, run_variant(batch, learner, 'alone')[0].scores)


def test_the_true_graph_given_by_hand_is_the_oracle(batch, learner) -> None:
    with torch.no_grad():
        given = learner(batch, graph=batch.oracle(learner.network.settings()))
        oracle = learner(batch, 'oracle')
    torch.testing.assert_close(given.predictions, oracle.predictions)


def test_numbers_sent_by_the_paper(batch) -> None:
    """10 rounds of 50 numbers, n, Σd and min d, and two sums in each of 5 dual rounds."""
    assert numbers_sent(Learner(TASK, mlp(), PAPER), batch) == 10 * 50 + 3 + 2 * 5


@pytest.mark.parametrize(('name', 'image'), [('mnist', (1, 28, 28)), ('cifar10', (3, 32, 32))])
def test_networks_from_scratch_are_smaller_unless_full_ones_are_asked_for(name, image) -> None:
    small, full = (
        fresh_backbone(name, 0, {'width': 16, 'stride': 1}, full=full) for full in (False, True)
    )
    assert small(torch.zeros(2, *image)).shape == full(torch.zeros(2, *image)).shape
    sizes = [sum(p.numel() for p in net.parameters()) for net in (small, full)]
    assert sizes[0] < 0.6 * sizes[1]


def test_settings_chosen_on_the_first_steps_see_no_more(batch) -> None:
    first = batch.until(1)
    assert first.X.shape[1] == first.Y.shape[1] == first.weight.shape[1] == 1
    problem = plain_problem(TASK, fresh_backbone('regression', 0, {}))
    whole, short = (
        run_method(
            TASK, part, given(part, TASK.inputs), problem, 'fedavg', Setting(0.03, 0.0), EFFORT,
            replay=False,
        )
        for part in (batch, first)
    )
    assert torch.equal(whole.scores[:, :1], short.scores)
