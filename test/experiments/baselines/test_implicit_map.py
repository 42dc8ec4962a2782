"""Implicit maps by decentralised optimisation: what they are told, and that they learn it."""

import numpy as np
import pytest
import torch

from delama_ros.experiments.baselines.completed_map import CompletedMaps
from delama_ros.experiments.baselines.decentralised import DSGD, DSGT, DiNNO
from delama_ros.experiments.baselines.implicit_map import (
    TUNED,
    Learned,
    Points,
    Tuning,
    draw_maps,
    learn,
)
from delama_ros.experiments.baselines.method import Effort
from delama_ros.experiments.mapping.methods import METHODS as MAPPING
from delama_ros.experiments.mapping.methods import run_methods
from delama_ros.experiments.mapping.rows import Protocol
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.geometry.score import score
from delama_ros.mapping import completion
from delama_ros.mapping.default import packaged
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare


@pytest.fixture(scope='module')
def run():
    return mapping_run(prepare(load('generated:9000'), 0), 0, robots=2, steps=2)


def test_points_say_what_the_scans_say(run) -> None:
    points = Points(2, run.truth, TUNED['dsgd'], replay=True, seed=0)
    points.add(run, run.poses, 0)
    batch = points.draw()
    free, wall = batch.y[..., 0] == 0, batch.y[..., 0] == 1
    certain = batch.weight == 1
    rows, columns = run.map.cell_of(batch.x.numpy())
    solid = run.map.solid[
        rows.clip(0, run.map.shape[0] - 1), columns.clip(0, run.map.shape[1] - 1)
    ]
    assert solid[(free & certain).numpy()].mean() < 0.02
    assert solid[wall.numpy()].mean() > 0.4  # walls are often thinner than the band behind a hit
    assert (batch.weight[free & ~certain] == pytest.approx(TUNED['dsgd'].doubt))


def test_without_replay_only_the_last_scan_counts(run) -> None:
    draws = []
    for first in (0, 1):
        points = Points(2, run.truth, TUNED['dsgd'], replay=False, seed=0)
        for step in range(first, 2):
            points.add(run, run.poses, step)
        draws.append(points.draw().x)
    torch.testing.assert_close(*draws)


METHODS = {
    'dsgd': lambda p, s: DSGD(p, Effort(rounds=60, rate=1.0), s),
    'dsgt': lambda p, s: DSGT(p, Effort(rounds=60, rate=1.0), s),
    'dinno': lambda p, s: DiNNO(p, Effort(rounds=30, local=2, rate=0.01), s, strength=0.1),
}


@pytest.mark.parametrize('name', METHODS)
def test_two_robots_learn_one_map(run, name) -> None:
    tuning = Tuning(METHODS[name], batch=300)
    *_, last = learn(run, run.poses, np.ones((2, 2), bool), tuning, replay=True, seed=0)
    maps = draw_maps(last, truth=run.truth)
    first, second = (score(own, run.truth).f1 for own in maps)
    chance = run.truth.occupied.mean()  # F1 of calling everything a wall is below twice that
    assert min(first, second) > 2 * chance
    claims = [own.cells >= 50 for own in maps]
    assert (claims[0] != claims[1]).mean() < 0.2
    assert last.bytes == 4 * (30 if name == 'dinno' else 60) * 20673 * (2 if name == 'dsgt' else 1)


def test_evaluation_knows_the_methods(run, monkeypatch) -> None:
    tuning = Tuning(lambda p, s: DSGD(p, Effort(rounds=2, rate=0.1), s), batch=20)
    monkeypatch.setitem(TUNED, 'dsgd', tuning)
    learned = [record.score for record in MAPPING.values() if record.by_gradients]
    assert {score.keywords['name'] for score in learned} == set(TUNED)
    names = ['dsgd_completed', 'dsgd_naive', 'dsgd']
    rows = run_methods(run, run.poses, Protocol(robots=2, steps=2), packaged(), names)
    assert list(rows) == names
    f1 = {name: np.array(own.values)[:, 0] for name, own in rows.items()}
    assert {own.shape for own in f1.values()} == {(2,)}
    assert (f1['dsgd'] != f1['dsgd_completed']).any()


def test_completed_maps_keep_walls_and_own_free_space(run) -> None:
    """With a network that knows the truth, completion leaves it nearly as it is."""
    def truth(theta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        grid = OccupancyMap(
            run.truth.occupied.astype(np.int8), run.truth.resolution, run.truth.origin
        )
        walls = torch.from_numpy(grid.value_at(x.numpy()) == 1)
        return (8.0 * walls - 4.0)[..., None]

    drawing = CompletedMaps(run, run.poses, packaged().model, completion.packaged())
    for step in range(2):
        maps = drawing(Learned(step, truth, torch.zeros(2, 1), 0, 0.0))
    scores = [score(own, run.truth) for own in maps]
    assert min(own.f1 for own in scores) > 0.9
