"""The task behind a game."""

import numpy as np
import pytest

from delama_ros.experiments.human.task import (
    APART,
    QUALITIES,
    ROUNDS,
    SEATS,
    SPAN,
    Line,
    draw,
    loss,
)


@pytest.mark.parametrize('name', QUALITIES)
def test_tasks_are_as_described(name: str) -> None:
    quality = QUALITIES[name]
    rng = np.random.default_rng(0)
    residuals = []
    for _ in range(50):
        task = draw(quality, rng)
        assert sorted(task.groups) == [0, 0, 1, 1]
        assert np.hypot(*np.subtract(*task.targets)) >= APART
        assert task.points.shape == (ROUNDS, SEATS, quality.points, 2)
        x, y = np.moveaxis(task.points, -1, 0)
        assert np.abs(x).max() <= SPAN
        assert np.ptp(x, axis=-1).max() <= quality.width
        for seat in range(SEATS):
            residuals.append(y[:, seat] - np.polyval(task.target(seat), x[:, seat]))
    assert np.std(residuals) == pytest.approx(quality.noise, rel=0.1)


def test_the_same_seed_draws_the_same_task() -> None:
    first, second = (draw(QUALITIES['low'], np.random.default_rng(5)) for _ in range(2))
    assert first.targets == second.targets
    assert (first.points == second.points).all()


def test_loss_is_the_mean_squared_error_over_the_plot() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(-SPAN, SPAN, 20_001)
    for line, target in rng.normal(size=(10, 2, 2)):
        numeric = np.mean((np.polyval(line, x) - np.polyval(target, x)) ** 2)
        assert loss(Line(*line), Line(*target)) == pytest.approx(numeric, rel=1e-3)
    assert loss(Line(1.0, 2.0), Line(1.0, 2.0)) == 0
