"""The loop: it learns, keeps the best, stops early, goes on to the same end, and draws curves."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from delama_ros.training.curves import plot_curves
from delama_ros.training.loop import Check, Loop, Stage

TARGET = torch.tensor([1.0, -2.0, 0.5])


class Stop(Exception):  # noqa: N818
    pass


def make(tmp_path=None, *, seed=0, rate=0.1, patience=5, identity=None, scores=None):
    torch.manual_seed(0)
    model = nn.Linear(3, 1)

    def loss(rng):
        X = torch.from_numpy(rng.normal(size=(8, 3))).float()
        return (model(X)[:, 0] - X @ TARGET).square().mean()

    def check():
        gap = (model.weight[0] - TARGET).norm().item()
        return Check(-gap if scores is None else next(scores), {'gap': gap, 'w': [1.0, gap]})

    stages = [
        Stage(name, iterations, [([model.weight], rate), ([model.bias], 10 * rate)], loss, check,
              every=4, patience=patience)
        for name, iterations in (('first', 20), ('second', 10))
    ]
    return Loop(
        model, stages, seed=seed, identity=identity or {'rate': rate, 'seed': seed},
        state=tmp_path and tmp_path / 'run.state', log=tmp_path and tmp_path / 'log.jsonl',
        coefficients=lambda: {'bias': model.bias.item()}, report=lambda text: None,
    )


def without_time(curve):
    return [{k: v for k, v in line.items() if k != 'seconds'} for line in curve]


def test_it_learns_and_logs(tmp_path) -> None:
    loop = make(tmp_path)
    loop.run()
    lines = [json.loads(line) for line in (tmp_path / 'log.jsonl').read_text().splitlines()]
    assert lines == loop.progress.curve
    assert [line['stage'] for line in lines] == ['first'] * 5 + ['second'] * 3
    assert lines[-1]['values']['gap'] < 0.5 * lines[0]['values']['gap']
    assert set(lines[0]['coefficients']) == {'bias'}
    assert not (tmp_path / 'run.state').exists()
    plot_curves({'run': lines, 'again': lines}, tmp_path / 'curves.png')
    assert (tmp_path / 'curves.png').stat().st_size > 5_000


@pytest.mark.parametrize('after', [2, 5, 6])
def test_a_stopped_run_goes_on_to_the_same_end(tmp_path, after) -> None:
    checks = iter(range(1, 100))

    def stop(loop) -> None:
        if next(checks) == after:
            raise Stop

    whole = make()
    whole.run()
    with pytest.raises(Stop):
        make(tmp_path).run(stop)
    resumed = make(tmp_path)
    resumed.run()
    assert without_time(resumed.progress.curve) == without_time(whole.progress.curve)
    assert torch.equal(resumed.model.weight, whole.model.weight)
    assert torch.equal(resumed.model.bias, whole.model.bias)


def test_another_configuration_or_a_damaged_state_is_refused(tmp_path) -> None:
    def stop(loop) -> None:
        raise Stop

    with pytest.raises(Stop):
        make(tmp_path).run(stop)
    with pytest.raises(ValueError, match='another configuration'):
        make(tmp_path, seed=1)
    (tmp_path / 'run.state').write_bytes(b'nothing')
    with pytest.raises(ValueError, match='damaged'):
        make(tmp_path)


def test_the_best_model_is_kept_and_patience_ends() -> None:
    seen = []
    loop = make(patience=2, scores=iter([1.0, 5.0, 3.0, 4.0, *[0.0] * 9]))
    loop.run(lambda loop: seen.append(loop.model.weight.detach().clone()))
    marks = [(line['stage'], line['best']) for line in loop.progress.curve]
    # Two checks without progress end the first stage; the second begins with the best of it.
    assert marks == [
        ('first', True), ('first', True), ('first', False), ('first', False),
        ('second', True), ('second', False), ('second', False),
    ]
    assert torch.equal(loop.model.weight, seen[4])


def test_a_loss_that_is_no_number_ends_training() -> None:
    loop = make()
    loop._stages[0] = Stage(
        'first', 3, loop._stages[0].groups, lambda rng: loop.model.weight.sum() * np.nan,
        loop._stages[0].check,
    )
    with pytest.raises(ValueError, match='loss is nan in iteration 0 of first'):
        loop.run()


@pytest.mark.parametrize(('warm_up', 'decay'), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.3)])
def test_rates_rise_and_weights_decay(warm_up, decay) -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    seen = []

    def loss(rng):
        seen.append(model.weight.item())
        return model.weight.sum() * (0.0 if decay else 1.0)

    stage = Stage('only', 20, [([model.weight], 0.1)], loss, lambda: Check(0.0, {}), every=20,
                  warm_up=warm_up, decay=decay)
    Loop(model, [stage], seed=0, identity={}, report=lambda text: None).run()
    # Adam's step for a constant gradient is the rate itself.
    steps = -np.diff(seen)
    if decay:
        assert seen[1] == pytest.approx(1 - 0.1 * decay)
    elif warm_up:
        assert steps[:10] == pytest.approx(0.1 * np.arange(1, 11) / 10, rel=1e-3)
        assert (np.diff(steps[10:]) < 0).all()
    else:
        assert steps[0] == pytest.approx(0.1, rel=1e-3)
        assert (np.diff(steps) < 0).all()
