"""Recordings to train on: truth from held-out scans or from the true map, and that it trains."""

from dataclasses import asdict, replace

import numpy as np

from delama_ros.data.log import Log, Reading
from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.experiments.mapping.log_episodes import ROBOTS, STEPS, log_episodes
from delama_ros.experiments.mapping.trainer import Config, MapTraining, episodes, log_data
from delama_ros.mapping.default import SETTINGS
from delama_ros.training.loop import Loop
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare


def recording() -> Log:
    """Return one robot's long way through a flat."""
    run = mapping_run(prepare(load('generated:5'), 0), 0, robots=1, steps=130, spacing=0.3)
    readings = [
        Reading(0.1 * t, scan_of(run, t, 0), tuple(run.poses[t, 0].tolist())) for t in range(130)
    ]
    return Log('flat', tuple(readings), run.map)


def test_the_true_map_supervises_if_there_is_one() -> None:
    first, *others = log_episodes(recording())
    assert len(others) == 1
    assert first.shape == (STEPS, ROBOTS)
    assert first.known is None
    hits = first.counts(0, STEPS).sum(0)[:, 1] > 0
    assert (hits & first.truth).sum() > 0.3 * hits.sum()  # noise puts some a cell off


def test_otherwise_scans_that_nobody_learns_from_do() -> None:
    log = recording()
    (item,) = log_episodes(replace(log, truth=None))
    with_truth = log_episodes(log)[0]
    assert item.known is not None
    assert 0.2 < item.known.mean() < 0.95
    place = {tuple(k): n for n, k in enumerate(with_truth.keys.tolist())}
    agree = [
        (item.truth[n] == with_truth.truth[place[tuple(key)]])[item.known[n]]
        for n, key in enumerate(item.keys.tolist()) if tuple(key) in place
    ]
    assert np.concatenate(agree).mean() > 0.9


def test_a_model_is_trained_on_a_recording(data_dir) -> None:
    file = str(data_dir / 'ros_bags' / 'pioneer' / 'trace0.bag')
    config = Config(
        plans=(), logs=(file,), validation=('generated:7-8',), features=8, head_iterations=6,
        unrolled_iterations=1, batch=1, check_every=3, jobs=1, turned=0.0,
    )
    training = episodes(config, config.plans, 'training') + log_data(config)
    assert training
    run = MapTraining(config, SETTINGS, training, episodes(config, config.validation, 'validation'))
    before = run.validate(unrolled=False)
    Loop(run.model, run.stages(), seed=0, identity=asdict(config), report=lambda text: None).run()
    assert np.mean(run.validate(unrolled=False)) > np.mean(before)
