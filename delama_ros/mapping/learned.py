"""The mapping model while it is being learned: F_γ on tiles (Algorithm 4), unrolled in torch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, softplus

from delama_ros.core.backend import factor, solve
from delama_ros.core.memory import local_solve
from delama_ros.core.settings import Settings
from delama_ros.mapping.evidence import Floats
from delama_ros.mapping.tiles import PARTS, TileModel

# By kind of evidence: passed, hit, and three depths behind a hit.
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
    """Few features of the place in one large square, by a network: nearest to what the paper says.

    A linear model on them cannot draw a room; they are here so that anybody can see it.
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
    """Features, evidence weights and targets, bias and coefficients as parameters."""

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

    def statistics(self, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """H, r and evidence of counts (..., KINDS, S, S), as TileModel has them."""
        flat = counts.flatten(-2)
        weights = softplus(self.weights)
        curvature = torch.einsum('e,...es->...s', weights, flat)
        slope = torch.einsum('e,...es->...s', weights * self.targets, flat)
        table = self.features()
        hessian = (table * curvature[..., None, :]) @ table.T
        return hessian, (slope @ table.T)[..., None], self._part_means(curvature)

    def _part_means(self, values: Tensor) -> Tensor:
        """Means over the parts of tiles, (..., S²) → (..., P)."""
        tiles = values.reshape(-1, 1, self._cells, self._cells)
        return avg_pool2d(tiles, self._cells // PARTS).reshape(*values.shape[:-1], PARTS**2)

    def part_matrices(self) -> Tensor:
        """Σ φ φᵀ over the cells of each part, (P, K, K)."""
        table = self.features()
        size, features = self._cells // PARTS, len(table)
        cut = table.reshape(features, PARTS, size, PARTS, size)
        parts: Tensor = cut.permute(1, 3, 0, 2, 4).reshape(PARTS**2, features, size**2)
        return parts @ parts.mT

    def alone(self, counts: Tensor) -> Tensor:
        """θ (n, K, 1) of one memory, a robot's own or that of all together."""
        A, b, _ = self.statistics(counts)
        theta: Tensor = local_solve(A, b, softplus(self.ridge))
        return theta

    def together(self, parts: list[Tensor]) -> list[Tensor]:
        """θ (N, n, K, 1) of all robots after each of some steps, each from what was new in it.

        parts: counts (N, n, KINDS, S, S). All robots hear each other and are in one building, so
        the graph is known: full trust.
        """
        settings, matrices = self.coefficients(), self.part_matrices()
        A, b, evidence = (torch.zeros_like(part) for part in self.statistics(parts[0]))
        steps = []
        for counts in parts:
            H, r, e = self.statistics(counts)
            A, b, evidence = A + H, b + r, evidence + e
            steps.append(fuse(A, b, evidence, matrices, settings))
        return steps

    def probabilities(self, theta: Tensor) -> Tensor:
        """p(occupied) on the cells that maps are scored on, (..., K, 1) → (n, cells)."""
        logits = self.bias + theta[..., 0] @ self.features()
        cells = torch.sigmoid(logits).reshape(-1, 1, self._cells, self._cells)
        return avg_pool2d(cells, POOL).flatten(1)

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
        table = self.features().double().numpy()
        return (
            TileModel(
                table.reshape(-1, self._cells, self._cells),
                softplus(self.weights).double().numpy(),
                self.targets.double().numpy(),
                float(self.bias),
            ),
            settings,
        )


def fuse(A: Tensor, b: Tensor, evidence: Tensor, matrices: Tensor, settings: Settings) -> Tensor:
    """Run `Fusion` for all robots (N, n, ...), who hear and trust each other."""
    local = local_solve(A, b, settings.lambda1_local)
    metric = torch.einsum('inp,pkl->inkl', evidence, matrices)
    said = metric @ local + 2 * settings.lambda1_local * local
    B = A + settings.lambda2 * (metric.sum(0) - metric)
    right = b + settings.lambda2 * (said.sum(0) - said)
    theta: Tensor = solve(factor(B, 2 * settings.lambda1_coupled), right)
    return theta


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
