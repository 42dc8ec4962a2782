"""The regression task: groups, qualities, noise and truth are as described."""

import numpy as np
import pytest
import torch

from delama_ros.core.settings import PAPER, Settings
from delama_ros.experiments.tasks.regression import Regression, curve
from delama_ros.experiments.tasks.task import fixed, graph_error, score
from delama_ros.training.config import configure


@pytest.fixture(scope='module')
def batch():
    return fixed(Regression(), 400, 'test', 0)


def test_every_function_has_two_agents(batch) -> None:
    for row in batch.group.tolist():
        counts = np.bincount(row)
        assert len(counts) <= 3
        assert counts.min() >= 2
    functions = batch.group.amax(1) + 1
    assert np.bincount(functions.numpy())[1:].min() > 100


def test_samples_lie_on_the_function_up_to_noise(batch) -> None:
    count = batch.weight.sum(-1)[:, 0]  # (B, N)
    assert set(count.unique().tolist()) == {4.0, 10.0, 20.0}
    assert (batch.weight.sum(-1) == count[:, None]).all()
    # The answers are the function on a grid: samples interpolated there differ by the noise.
    grid = batch.asked[0, 0, :, 0].numpy()
    for samples, noise, length in ((4, 0.6, 1.0), (10, 0.3, 1.0), (20, 0.1, 10.0)):
        gaps, spans = [], []
        for b, n in (count == samples).nonzero()[:40].tolist():
            kept = batch.weight[b, :, n] > 0
            x = batch.X[b, :, n, :, 0]
            truth = np.interp(x[kept], grid, batch.answers[b, n, :, 0])
            gaps.append(batch.Y[b, :, n, :, 0][kept].numpy() - truth)
            spans += [(row[k].max() - row[k].min()).item() for row, k in zip(x, kept, strict=True)]
        assert np.concatenate(gaps).std() == pytest.approx(noise, rel=0.15)
        assert 0.5 * length < max(spans) <= length


def test_splits_and_seeds_differ_and_repeat() -> None:
    task = Regression(agents=4, functions=2, steps=3)
    same = [fixed(task, 3, 'test', 0).Y for _ in range(2)]
    assert torch.equal(*same)
    assert not torch.equal(same[0], fixed(task, 3, 'validation', 0).Y)
    assert not torch.equal(same[0], fixed(task, 3, 'test', 1).Y)


def test_oracle_graphs_and_scores(batch) -> None:
    paper, ours = batch.oracle(PAPER), batch.oracle(Settings())
    assert paper.sum((-1, -2)).allclose(torch.tensor(6.0, dtype=torch.float64))
    assert ours.sum(-1).allclose(torch.tensor(1.0, dtype=torch.float64))
    different = batch.group[:, :, None] != batch.group[:, None, :]
    assert not paper[:, 0][different].any()
    assert not graph_error(ours, ours).any()
    assert graph_error(0 * ours, ours).allclose(torch.tensor(1.0, dtype=torch.float64))
    right = batch.answers[:, None].expand(-1, 10, -1, -1, -1)
    assert not score(Regression(), right, batch).any()
    assert score(Regression(), right + 2, batch).allclose(torch.tensor(4.0))


def test_predictions_are_features_times_parameters(batch) -> None:
    part = batch.rows(slice(0, 2))
    x = part.asked / 5
    features = torch.cat((x, x**2), -1)
    theta = torch.randn(2, 10, 6, 2, 1)
    answers = part.predictions(features, theta)
    assert answers.shape == (2, 10, 6, 64, 1)
    assert answers[1, 3, 4].allclose(features[1, 0] @ theta[1, 3, 4], atol=1e-6)


def test_curve() -> None:
    coefficients = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert curve(coefficients, np.array(0.0)) == 8.0
    assert curve(coefficients, np.array(np.pi)) == pytest.approx(np.pi**2 + 2 * np.pi - 2)


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'agents': 4}, ['functions is 3', '1 to 2']),
        ({'agents': 1}, ['agents is 1']),
        ({'steps': 0}, ['steps is 0', 'at least 1']),
        ({'noise': [0.1]}, ['noise', '3 numbers']),
        ({'noise': [0.1, -1, 0.2]}, ['noise', '[0.0']),
        ({'interval': [20, 1, 1]}, ['interval', '10.0']),
        ({'samples': []}, ['samples is ()']),
        ({'graph': 'ring'}, ['ring', 'full, er:']),
    ],
)
def test_impossible_tasks(values, words) -> None:
    with pytest.raises(ValueError, match='expected') as caught:
        configure(Regression, values)
    assert all(word in str(caught.value) for word in words)
