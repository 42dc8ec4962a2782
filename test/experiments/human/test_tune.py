"""Learning the coefficients of the game's agents."""

import numpy as np
import pytest
import torch
from torch import nn

from delama_ros.core.network import DeLAMA
from delama_ros.experiments.human import tune
from delama_ros.experiments.human.report import simulate
from delama_ros.experiments.human.task import QUALITIES, SEATS, draw, features
from delama_ros.experiments.human.team import SETTINGS


def test_the_network_and_the_agents_make_the_same_errors() -> None:
    quality, seed = 'low', 6
    rng = np.random.default_rng([seed, *quality.encode()])
    tasks = [draw(QUALITIES[quality], rng) for _ in range(20)]
    X, Y = features(np.stack([task.points for task in tasks]))
    targets = np.array([[task.target(seat) for seat in range(SEATS)] for task in tasks])
    net = DeLAMA(nn.Identity(), 'squared', SETTINGS[quality])
    with torch.no_grad():
        errors = tune.errors(net, *map(torch.from_numpy, (X, Y, targets)))
    expected = simulate(quality, 20, seed).mean((0, 2))
    assert errors.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_tuning_lowers_the_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tune, 'TASKS', 60)
    monkeypatch.setattr(tune, 'QUALITIES', {'medium': QUALITIES['medium']})
    monkeypatch.setattr(tune, 'STEPS', 0)
    _, before = tune.tune(QUALITIES['medium'])
    monkeypatch.setattr(tune, 'STEPS', 30)
    _, after = tune.tune(QUALITIES['medium'])
    assert np.log(after).mean() < np.log(before).mean()
    tune.main()
    assert capsys.readouterr().out.startswith("'medium': {'lambda1_local': 0.")
