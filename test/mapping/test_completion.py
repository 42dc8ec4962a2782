"""Completed maps: the same network on numpy and torch, guesses that look like guesses, training."""

from dataclasses import asdict

import numpy as np
import pytest
import torch

from delama_ros.experiments.mapping.decoder_trainer import (
    Config,
    DecoderTraining,
    LearnedDecoder,
    Torch,
)
from delama_ros.experiments.mapping.trainer import episodes
from delama_ros.mapping import unet
from delama_ros.mapping.completion import CHANNELS, Decoder, View, load, view
from delama_ros.mapping.default import packaged
from delama_ros.mapping.tiles import PARTS
from delama_ros.training.loop import Loop


def random_weights(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = {}
    for name, (out, into) in unet.shapes(CHANNELS).items():
        spread = np.sqrt(2 / (9 * into))
        weights[f'{name}_weight'] = rng.normal(0, spread, (out, into, 3, 3)).astype(np.float32)
        weights[f'{name}_bias'] = rng.normal(0, 0.1, out).astype(np.float32)
    return weights


def test_numpy_and_torch_give_the_same_numbers() -> None:
    weights = random_weights(0)
    x = np.random.default_rng(1).normal(size=(1, CHANNELS, 24, 40)).astype(np.float32)
    ours = unet.run(unet.Numpy(), weights, x)
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
    theirs = unet.run(Torch(), tensors, torch.from_numpy(x)).numpy()
    assert ours.shape == (1, 1, 24, 40)
    assert np.abs(ours).max() > 0.1
    assert np.allclose(ours, theirs, atol=1e-4)


def test_a_network_that_adds_nothing_leaves_the_map_as_it_is() -> None:
    model = packaged().model
    rng = np.random.default_rng(0)
    keys = np.array([[0, 0], [1, 0], [5, -2]], np.int32)
    theta = rng.normal(size=(3, len(model.table), 1))
    evidence = np.ones((3, PARTS**2))
    evidence[2] = 0.0  # nobody has looked there
    seen = view(model, keys, theta, evidence)
    nothing = {k: v * 0 for k, v in random_weights(0).items()}
    completed = Decoder(nothing).complete(seen, model.resolution)
    assert completed.resolution == pytest.approx(2 * model.resolution)
    drawn = model.occupancy(keys, theta, evidence)
    points = np.stack(np.meshgrid([0.25, 0.75, 1.45], [0.15, 0.95]), -1)
    # four cells of the map in one of the completed one
    around = [points + np.array([dx, dy]) for dx in (-0.025, 0.025) for dy in (-0.025, 0.025)]
    mean = np.mean([drawn.value_at(p) for p in around], 0)
    assert np.abs(completed.value_at(points) - mean).max() <= 2
    # where nobody has looked the prior is drawn, as a guess
    prior = 100 / (1 + np.exp(-model.bias))
    unseen = completed.value_at(np.array([[6.5, -2.0]]))[0]
    assert unseen == pytest.approx(50 + 0.4 * (prior - 50), abs=1)


def test_guesses_look_like_guesses() -> None:
    seen = np.zeros((16, 16), bool)
    seen[:4, :4] = True
    logits = np.full((16, 16), 6.0, np.float32)
    shown = View(np.zeros((CHANNELS, 16, 16), np.float32), logits, seen, (0, 0))
    nothing = {k: v * 0 for k, v in random_weights(0).items()}
    cells = Decoder(nothing).complete(shown, 0.05).cells
    assert (cells[:4, :4] >= 99).all()
    assert (cells[12:, 12:] < 75).all()
    assert (cells[12:, 12:] > 50).all()


def test_files_are_kept_and_broken_ones_named(tmp_path) -> None:
    decoder = Decoder(random_weights(2), {'command': 'test'})
    decoder.save(tmp_path / 'decoder.npz')
    back = load(tmp_path / 'decoder.npz')
    assert back.made == {'command': 'test'}
    for name, value in decoder.weights.items():
        assert np.allclose(back.weights[name], value, rtol=2e-3, atol=1e-4)
    with pytest.raises(ValueError, match='no such checkpoint'):
        load(tmp_path / 'nothing.npz')
    (tmp_path / 'text.npz').write_text('hello')
    with pytest.raises(ValueError, match='damaged or no checkpoint'):
        load(tmp_path / 'text.npz')
    packaged().save(tmp_path / 'tiles.npz')
    with pytest.raises(ValueError, match="made for task 'mapping', not 'decoder'"):
        load(tmp_path / 'tiles.npz')
    del decoder.weights['out_bias']
    decoder.save(tmp_path / 'short.npz')
    with pytest.raises(ValueError, match='out_bias has shape None'):
        load(tmp_path / 'short.npz')


def test_it_starts_from_the_linear_map_and_learns() -> None:
    config = Config(
        plans=('generated:1-3',), validation=('generated:7-8',), maps=2, iterations=12, batch=2,
        window=48, check_every=12, noisy=0.0, turned=0.0, jobs=1,
    )
    data = [episodes(config, plans, 'validation') for plans in (config.plans, config.validation)]
    run = DecoderTraining(config, packaged(), *data)
    assert isinstance(run.model, LearnedDecoder)
    losses = [run.stages()[0].loss(np.random.default_rng(k)).item() for k in range(6)]
    loop = Loop(
        run.model, run.stages(), seed=0, identity=asdict(config), report=lambda text: None
    )
    loop.run()
    after = [run.stages()[0].loss(np.random.default_rng(k)).item() for k in range(6)]
    assert np.mean(after) < np.mean(losses)
    assert run.decoder(loop.best, {}).weights['in_weight'].shape == (16, CHANNELS, 3, 3)
