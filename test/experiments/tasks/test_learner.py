"""Learners: modes, loss, seen classes, and features that are computed once."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from delama_ros.data.digits import generated_digits
from delama_ros.experiments.tasks.backbones import convolutions, mlp
from delama_ros.experiments.tasks.images import Images, Protocol, mirrored, shifted
from delama_ros.experiments.tasks.learner import Learner, Mode, objective, seen_classes
from delama_ros.experiments.tasks.measure import measure
from delama_ros.experiments.tasks.regression import Regression
from delama_ros.experiments.tasks.saved import load_learner, save_learner
from delama_ros.experiments.tasks.task import fixed
from delama_ros.experiments.tasks.variants import VARIANTS, Trained, settings_of

SMALL = Regression(agents=4, functions=2, steps=3, samples=(6, 3), noise=(0.1, 0.3),
                   interval=(10.0, 1.0))


@pytest.fixture(scope='module')
def digits():
    return Images('mnist', generated_digits(), Protocol(agents=4, steps=3, samples=2, questions=5))


def learner(task, method):
    torch.manual_seed(0)
    backbone = mlp() if task.metric == 'mse' else convolutions()
    return Learner(task, backbone, settings_of(method, 2), directions=4,
                   seen_offset=VARIANTS[method].offset)


@pytest.mark.parametrize('method', get_args(Trained))
def test_every_method_answers_and_learns(method, digits) -> None:
    for task in (SMALL, digits):
        model = learner(task, method)
        batch = fixed(task, 2, 'train', 0)
        model.look_at(batch)
        answers = model(batch, VARIANTS[method].mode)
        assert answers.predictions.shape == (2, 3, 4, batch.asked.shape[2], task.outputs)
        objective(task, model.losses(answers, batch)).backward()
        gradients = [p.grad for p in model.backbone.parameters()]
        assert all(torch.isfinite(g).all() for g in gradients)
        assert any(g.any() for g in gradients)


def test_modes_differ_where_they_should() -> None:
    model = learner(SMALL, 'bayes')
    batch = fixed(SMALL, 6, 'test', 0)
    model.look_at(batch)
    answers = {mode: model(batch, mode).predictions for mode in get_args(Mode)}
    # In the first step there is nothing to remember yet.
    torch.testing.assert_close(answers['last_step'][:, 0], answers['collaborate'][:, 0])
    assert not torch.allclose(answers['last_step'][:, 2], answers['collaborate'][:, 2])
    assert not torch.allclose(answers['alone'][:, 0], answers['collaborate'][:, 0])
    assert not torch.allclose(answers['oracle'][:, 0], answers['collaborate'][:, 0])


def test_belief_is_a_probability_where_one_is_known() -> None:
    batch = fixed(SMALL, 6, 'test', 0)
    links = batch.links.clone()
    links[..., 0, 1] = links[..., 1, 0] = False
    output = learner(SMALL, 'bayes')(replace(batch, links=links)).output
    off = ~torch.eye(4, dtype=torch.bool)
    assert torch.equal(output.belief, output.belief.mT)
    assert (output.belief[..., 0, 1] == 0).all()
    assert ((output.belief >= 0) & (output.belief <= 1)).all()
    # A weight is a share of a budget of 1, reduced by disbelief.
    assert output.belief[..., off].mean() > output.W[..., off].mean() > 0
    for method in ('row', 'oracle'):
        output = learner(SMALL, method)(batch, VARIANTS[method].mode).output
        assert torch.equal(output.belief, output.W)


def test_loss_gives_every_step_a_say(digits) -> None:
    losses = torch.tensor([4.0, 0.01], requires_grad=True)
    objective(SMALL, losses).backward()
    # d/dL of L/T + ½ log(L)/T
    assert losses.grad.tolist() == pytest.approx([0.5 + 0.25 / 4, 0.5 + 0.25 / 0.01])
    assert objective(digits, losses).item() == pytest.approx(2.005)


def test_seen_classes_spread_to_trusted_peers() -> None:
    Y = torch.zeros(1, 2, 3, 4, 5)
    Y[0, 0, 0, :, 1] = Y[0, 1, 0, :, 2] = 1  # agent 0 sees class 1, then class 2
    trust = torch.zeros(1, 2, 3, 3)
    trust[:, :, 0, 1] = trust[:, :, 1, 0] = 0.75
    seen = seen_classes(Y, trust, memory=True)
    assert seen[0, 1, 0].tolist() == [0, 1, 1, 0, 0]
    assert seen[0, 1, 1].tolist() == [0, 0.75, 0.75, 0, 0]
    assert not seen[0, :, 2].any()
    assert seen_classes(Y, trust, memory=False)[0, 1, 0].tolist() == [0, 0, 1, 0, 0]


def test_computed_once_is_the_same(digits) -> None:
    model = learner(digits, 'bayes')
    batch = fixed(digits, 3, 'validation', 0)
    model.look_at(batch)
    with torch.no_grad():
        plain = model(batch).predictions
        with model.backbone.cached(batch.X, batch.asked):
            cached = model(batch).predictions
    torch.testing.assert_close(cached, plain, atol=1e-4, rtol=1e-4)
    measured = measure(model, batch, 'collaborate')
    assert measured.scores.shape == measured.gmse.shape == (3, 3)


def test_checkpoints_keep_all(tmp_path) -> None:
    model = learner(SMALL, 'bayes')
    batch = fixed(SMALL, 3, 'test', 0)
    model.look_at(batch)
    save_learner(model, tmp_path / 'bayes', {'seed': 0, 'training': {'wc_epochs': 3}})
    again, made = load_learner(tmp_path / 'bayes', SMALL, mlp)
    assert made == {'seed': 0, 'training': {'alone_epochs': 3}}  # under its present name
    assert torch.equal(model(batch).predictions, again(batch).predictions)
    more = load_learner(tmp_path / 'bayes', SMALL, mlp, rounds=7)[0]
    assert more.network.settings().update_rounds == 7


def test_mirrored_and_shifted() -> None:
    images = torch.arange(2 * 3 * 8 * 8).reshape(2, 3, 8, 8).float()
    moved = {
        tuple((image[0, 4, 4] - images[k, 0, 4, 4]).item() for k, image in enumerate(
            shifted(images, np.random.default_rng(s), most=1)
        )) for s in range(20)
    }
    steps = {8 * rows + columns for rows in (-1, 0, 1) for columns in (-1, 0, 1)}
    assert len(moved) > 10  # each image by a step of its own
    assert {step for pair in moved for step in pair} <= steps
    changes = [mirrored(images, np.random.default_rng(s)) for s in range(8)]
    kinds = {torch.equal(c[0], images[0]) for c in changes}
    assert kinds == {True, False}
    assert all(torch.equal(c[0], images[0]) or torch.equal(c[0], images[0].flip(-1))
               for c in changes)
