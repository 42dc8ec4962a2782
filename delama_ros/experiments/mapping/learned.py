"""The mapping model while it is being learned: DeLAMA on tiles (Algorithm 4), unrolled in torch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, softplus

from delama_ros.core.memory import local_solve
from delama_ros.core.settings import Settings
from delama_ros.mapping.fusion import fuse_all
from delama_ros.mapping.scan import Floats
from delama_ros.mapping.tiles import TileModel

# By kind of mark: passed, hit, and three depths behind a hit.
WEIGHTS = (0.2, 0.2, 0.2, 0.2, 0.05)
TARGETS = (-3.0, 3.0, 4.0, 4.0, 2.0)
POOL = 2  # cells of the model along a cell of the truth that maps are scored on


class Table(nn.Module):
    """Features of a tile as a table, each number learned."""

    def __init__(self, table: Floats) -> None:
        """Start from a table (K, S, S)."""
        super().__init__()
        self.cells = table.shape[1]
        self.values = nn.Parameter(torch.tensor(table.reshape(len(table), -1), dtype=torch.float32))

    def forward(self) -> Tensor:
        """Return φ of all cells, (K, S²)."""
        return self.values


class Plane(nn.Module):
    """A few features of the position in one large square, by a network: closest to the paper.

    A linear model of them cannot draw a room; they are here so that anybody can verify this.
    """

    def __init__(self, features: int, cells: int) -> None:
        super().__init__()
        self.cells = cells
        self.network = nn.Sequential(
            nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, features)
        )
        axis = torch.linspace(-4, 4, cells)
        y, x = torch.meshgrid(axis, axis, indexing='ij')
        self.register_buffer('places', torch.stack([x, y], -1).reshape(-1, 2), persistent=False)

    def forward(self) -> Tensor:
        """Return φ of all cells, (K, S²)."""
        values: Tensor = self.network(self.places).T
        return values


class LearnedTiles(nn.Module):
    """Features, weights and targets of marks, bias and coefficients as parameters."""

    def __init__(self, features: Table | Plane, settings: Settings) -> None:
        """Start from features and the settings' coefficients."""
        super().__init__()
        self._cells = features.cells
        self._settings = settings
        self.features = features
        self.weights = nn.Parameter(inverse_softplus(WEIGHTS))
        self.targets = nn.Parameter(torch.tensor(TARGETS))
        self.bias = nn.Parameter(torch.tensor(-1.0))
        self.ridge = nn.Parameter(inverse_softplus(settings.lambda1_local))
        self.ridge_coupled = nn.Parameter(inverse_softplus(settings.lambda1_coupled))
        self.coupling = nn.Parameter(inverse_softplus(settings.lambda2))

    def tiles(self) -> TileModel:
        """Return the model with tensors for what is learned."""
        table = self.features().reshape(-1, self._cells, self._cells)
        return TileModel(table, softplus(self.weights), self.targets, self.bias)

    def alone(self, counts: Tensor) -> Tensor:
        """θ (n, K, 1) of one memory, a robot's own or that of all together."""
        A, b, _ = self.tiles().statistics(counts)
        theta: Tensor = local_solve(A, b, softplus(self.ridge))
        return theta

    def together(self, parts: list[Tensor]) -> list[Tensor]:
        """θ (N, n, K, 1) of all robots after each of some steps, from the new counts of each.

        parts: counts (N, n, KINDS, S, S). All robots receive each other and are in one building, so
        the graph is known: full trust.
        """
        settings, tiles = self.coefficients(), self.tiles()
        A = b = evidence = torch.zeros(())
        steps = []
        for counts in parts:
            H, r, new = tiles.statistics(counts)
            A, b, evidence = A + H, b + r, evidence + new
            steps.append(fuse_all(A, b, evidence, tiles.part_matrices, settings))
        return steps

    def probabilities(self, theta: Tensor) -> Tensor:
        """p(occupied) of the cells that maps are scored on, (..., K, 1) → (n, cells)."""
        logits = self.bias + self.tiles().deviations(theta)
        return avg_pool2d(torch.sigmoid(logits).flatten(0, -3)[:, None], POOL).flatten(1)

    def coefficients(self) -> Settings:
        """Return the settings with tensors for what is learned."""
        return replace(
            self._settings,
            lambda1_local=softplus(self.ridge),
            lambda1_coupled=softplus(self.ridge_coupled),
            lambda2=softplus(self.coupling),
        )

    @torch.no_grad()
    def export(self) -> tuple[TileModel, Settings]:
        """Return what a robot needs, as numbers."""
        learned = self.coefficients()
        coupling = float(learned.lambda2)
        # λ2 and λ3 act on the graph by their ratio only: λ3 follows, so that the graph keeps its
        # contrast whatever coupling was learned.
        settings = replace(
            self._settings,
            lambda1_local=float(learned.lambda1_local),
            lambda1_coupled=float(learned.lambda1_coupled),
            lambda2=coupling,
            lambda3=coupling,
        )
        model = self.tiles()
        table, weights, targets = (
            part.double().numpy() for part in (model.table, model.weights, model.targets)
        )
        return TileModel(table, weights, targets, float(model.bias)), settings


def principal_tiles(truth: Floats, features: int) -> Floats:
    """Return the first principal components of true tiles (n, S, S): where learning starts."""
    flat = truth.reshape(len(truth), -1)
    flat = flat[flat.any(1)]
    centred = flat - flat.mean(0)
    vectors = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    scale = np.sqrt(flat.shape[1] / features)
    table: Floats = (vectors[:, :features].T * scale).reshape(features, *truth.shape[1:])
    return table


def inverse_softplus(value: float | tuple[float, ...]) -> Tensor:
    """Return x with softplus(x) = value."""
    return torch.log(torch.expm1(torch.tensor(value, dtype=torch.float32)))


def soft_f1(probabilities: Tensor, truth: Tensor, sharpness: float) -> Tensor:
    """F1 with a smooth step at ½ in place of the threshold."""
    claimed = torch.sigmoid(sharpness * (probabilities - 0.5))
    return 2 * (claimed * truth).sum() / (claimed.sum() + truth.sum())
