"""Tiles: statistics against a plain sum over cells, and the same numbers in numpy and torch."""

import numpy as np
import torch

from delama_ros.mapping.default import packaged
from delama_ros.mapping.fusion import fuse_all
from delama_ros.mapping.tiles import TileModel


def test_statistics_are_the_weighted_sums_over_cells() -> None:
    rng = np.random.default_rng(0)
    model = TileModel(
        rng.normal(size=(5, 6, 6)), rng.uniform(0.1, 1, 5), rng.normal(size=5), -1.0
    )
    counts = rng.integers(0, 4, (3, 5, 6, 6)).astype(np.uint16)
    H, r, evidence = model.statistics(counts)
    for n in range(3):
        wanted_h, wanted_r = np.zeros((5, 5)), np.zeros(5)
        for kind, y, x in np.ndindex(5, 6, 6):
            phi = model.table[:, y, x]
            weight = model.weights[kind] * counts[n, kind, y, x]
            wanted_h += weight * np.outer(phi, phi)
            wanted_r += weight * model.targets[kind] * phi
        assert np.allclose(H[n], wanted_h, rtol=1e-4, atol=1e-4)
        assert np.allclose(r[n, :, 0], wanted_r, rtol=1e-4, atol=1e-4)
    assert np.array_equal(H, H.swapaxes(1, 2))
    # parts as small as cells tell all: the metric is H itself
    metric = np.einsum('np,pkl->nkl', evidence, model.part_matrices)
    assert np.allclose(metric, H, rtol=1e-4, atol=1e-4)


def test_numpy_and_torch_give_the_same_numbers() -> None:
    model, settings = packaged().model, packaged().settings
    tensors = TileModel(*(torch.tensor(a) for a in (model.table, model.weights, model.targets)), -1)
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.3, (2, 7, 5, 24, 24)).astype(np.uint16)  # two robots, seven tiles
    ours = model.statistics(counts)
    theirs = tensors.statistics(torch.tensor(counts.astype(np.float64)))
    for mine, other in zip(ours, theirs, strict=True):
        assert np.allclose(mine, other.numpy(), rtol=1e-4, atol=1e-4)
    matrices = model.part_matrices
    assert np.allclose(matrices, tensors.part_matrices.numpy(), rtol=1e-12)
    theta = fuse_all(*ours, matrices, settings)
    again = fuse_all(*map(torch.from_numpy, ours), tensors.part_matrices, settings)
    assert np.allclose(theta, again.numpy(), atol=1e-9)
    assert np.allclose(model.deviations(theta), tensors.deviations(again).numpy(), atol=1e-9)
