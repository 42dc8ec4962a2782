"""The unrolled network, (23) to (26) and Algorithm 4: backbone and learned coefficients, batched.

One pass covers all tasks, agents and time steps. Robots run the same functions, so a trained
network is exported as plain `Settings`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from delama_ros.core import graph, update
from delama_ros.core.bayes import Groupings
from delama_ros.core.distances import Distance, by_name, pairwise
from delama_ros.core.losses import LOSSES, Loss
from delama_ros.core.memory import local_solve, remembered
from delama_ros.core.settings import Settings

POSITIVE = ('lambda1_local', 'lambda1_coupled', 'lambda2', 'lambda3', 'null_edge')
OLD_GROUPINGS = 'evidence.'  # how names of parameters of `Groupings` began in earlier versions


@dataclass(frozen=True)
class Output:
    """What F_γ returns for B tasks, T steps and N agents; blocks (n, K, C) as in the memory."""

    theta: Tensor  # (B, T, N, n, K, C)
    W: Tensor  # (B, T, N, N)
    belief: Tensor  # that two learn the same, (B, T, N, N): its probability where known, else W
    z: Tensor  # (B, T, N), each agent's own copy
    local: Tensor  # θ before collaboration, (B, T, N, n, K, C)
    A: Tensor  # (B, T, N, n, K, K)
    b: Tensor  # (B, T, N, n, K, C)


class DeLAMA(nn.Module):
    """F_γ with γ = (β, λ1 local, λ1 coupled, λ2, λ3, null edge, momentum)."""

    def __init__(
        self,
        backbone: nn.Module,
        loss: Loss,
        settings: Settings,
        *,
        distance: Distance | Groupings | None = None,
        solver: Literal['jacobi', 'cg'] = 'jacobi',
    ) -> None:
        """Start from the coefficients in the settings; those of unused parts are not learned.

        Args:
            backbone: maps samples (S, ...) to features (S, K).
            loss: of the task.
            settings: the variant of DeLAMA and its coefficients.
            distance: between two models; by default the one that the settings name.
            solver: of the model update; 'jacobi' is what agents run.
        """
        super().__init__()
        self.backbone = backbone
        self.loss = loss
        self._settings = settings
        self.groupings = distance if isinstance(distance, Groupings) else None
        self._distance = by_name(settings.distance) if distance is None else distance
        self._solve = update.jacobi if solver == 'jacobi' else update.conjugate_gradients
        # Positive by construction: the parameters are inverse softplus and logit of the values.
        self.raw = nn.ParameterDict()
        for name in POSITIVE:
            value = getattr(settings, name)
            if value is not None and value > 0:
                start = torch.as_tensor(value, dtype=torch.float64)
                self.raw[name] = nn.Parameter(start + torch.log(-torch.expm1(-start)))
        if settings.momentum > 0:
            start = torch.as_tensor(settings.momentum, dtype=torch.float64)
            self.raw['momentum'] = nn.Parameter(torch.logit(start))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        """Load parameters, also under the names that earlier versions saved them with."""
        for name in [name for name in state_dict if name.startswith(f'{prefix}{OLD_GROUPINGS}')]:
            rest = name.removeprefix(f'{prefix}{OLD_GROUPINGS}')
            state_dict[f'{prefix}groupings.{rest}'] = state_dict.pop(name)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def coefficients(self) -> Settings:
        """Return the settings with the learned coefficients as tensors."""
        learned = {
            name: torch.sigmoid(raw) if name == 'momentum' else softplus(raw)
            for name, raw in self.raw.items()
        }
        return replace(self._settings, **learned)  # type: ignore[arg-type]

    def settings(self) -> Settings:
        """Return the settings with the learned coefficients as numbers, for agents."""
        learned = self.coefficients()
        numbers = {name: getattr(learned, name).item() for name in self.raw}
        return replace(self._settings, **numbers)

    def forward(
        self,
        X: Tensor,
        Y: Tensor,
        links: Tensor,
        *,
        weight: Tensor | None = None,
        collaborate: bool = True,
        memory: bool = True,
        oracle: Tensor | None = None,
        at: Tensor | None = None,
    ) -> Output:
        """Learn from the samples of B tasks over T steps.

        Args:
            X: (B, T, N, S, ...), samples of N agents.
            Y: (B, T, N, S, C), their targets.
            links: (B, T, N, N), booleans: who receives whom.
            weight: (B, T, N, S), of the samples, 0 for padding; 1 by default.
            collaborate: False is the paper's WC.
            memory: False is the paper's WM.
            oracle: (B, T, N, N), a graph in place of the inferred one (Oracle).
            at: numbers of the steps after which the result is wanted; all by default.

        Returns:
            Models and graph after each of these steps: T of the output is their number.
        """
        features = self.backbone(X.flatten(0, 3)).unflatten(0, X.shape[:4])  # (B, T, N, S, K)
        if weight is not None:
            weight = weight.double()
        Y = Y.double()
        H, r = LOSSES[self.loss](features.double(), Y, weight)
        weight = torch.ones_like(Y[..., 0]) if weight is None else weight
        moments = torch.stack(((weight[..., None] * Y**2).sum((-1, -2)), weight.sum(-1)), -1)
        return self.learn(
            H, r, links, moments=moments, collaborate=collaborate, memory=memory, oracle=oracle,
            at=at,
        )

    def learn(
        self,
        H: Tensor,
        r: Tensor,
        links: Tensor,
        *,
        moments: Tensor | None = None,
        collaborate: bool = True,
        memory: bool = True,
        oracle: Tensor | None = None,
        at: Tensor | None = None,
    ) -> Output:
        """Learn from the statistics of B tasks over T steps.

        Args:
            H: (B, T, N, n, K, K), Hessians of the loss at α.
            r: (B, T, N, n, K, C), H α − g.
            links: (B, T, N, N), booleans: who receives whom.
            moments: (B, T, N, 2), sums of w y² and w, which `Groupings` estimates noise from.
            collaborate: False is the paper's WC.
            memory: False is the paper's WM.
            oracle: (B, T, N, N), a graph in place of the inferred one (Oracle).
            at: numbers of the steps after which the result is wanted; all by default.

        Returns:
            Models and graph after each of these steps.

        Raises:
            ValueError: if the distance is `Groupings` and there are no moments.
        """
        settings = self.coefficients()
        if memory:
            moments = None if moments is None else remembered(moments, settings, at)
            A, b = (remembered(part, settings, at) for part in (H, r))
        elif at is None:
            A, b = H, r
        else:
            A, b = H[:, at], r[:, at]
            moments = None if moments is None else moments[:, at]
        if at is not None:
            links = links[:, at]
            oracle = None if oracle is None else oracle[:, at]
        found = together = None
        if self.groupings is not None:
            if moments is None:
                raise ValueError('the distance bayes needs the moments of the data')
            found = self.groupings(A, b, moments, links)
            A, b = (part / found.noise[..., None, None, None] for part in (A, b))
        local = local_solve(A, b, settings.lambda1_local)
        if not collaborate:
            W = torch.zeros_like(links, dtype=A.dtype)
            return Output(local, W, W, W[..., 0], local, A, b)
        if oracle is not None:
            W = oracle.to(A.dtype)
            z = torch.zeros_like(W[..., 0])
        elif found is not None:
            W, z = graph.infer(found.apart, links, settings)
            # A budget has to be spent; an edge counts only as far as both ends believe in it.
            together = 1 - torch.maximum(found.apart, found.apart.mT)
            W = W * together
        else:
            W, z = graph.infer(pairwise(self._distance, A, local), links, settings)  # type: ignore[arg-type]
        start = local
        if self.groupings is not None and found is not None:
            start = local + self.groupings.correction(found, None if oracle is None else W > 0)
        if settings.warm_start:
            theta = self._one_by_one(A, b, W, start, settings)
        else:
            theta = self._solve(A, b, W, start, settings)
        return Output(theta, W, W if together is None else together * links, z, local, A, b)

    def _one_by_one(
        self, A: Tensor, b: Tensor, W: Tensor, local: Tensor, settings: Settings
    ) -> Tensor:
        """Solve step by step, each from the local solution plus the last step's correction."""
        correction = torch.zeros_like(local[:, 0])
        steps = []
        for t in range(local.shape[1]):
            start = local[:, t] + correction
            steps.append(self._solve(A[:, t], b[:, t], W[:, t], start, settings))
            correction = steps[-1] - local[:, t]
        return torch.stack(steps, 1)
