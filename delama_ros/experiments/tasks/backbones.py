"""Feature networks φ_β of the experiments, all with 50 outputs (appendix of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from delama_ros.experiments.tasks.task import Task

FEATURES = 50
CHUNK = 500  # inputs computed at once where memory would not hold all


def mlp(hidden: int = 50) -> nn.Module:
    """Regression: two hidden layers."""
    return nn.Sequential(
        nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
        nn.Linear(hidden, FEATURES),
    )


def convolutions(width: int = 16) -> nn.Module:
    """MNIST: two layers of convolution."""
    return _for_images(
        nn.Conv2d(1, width, 5, padding=2), nn.SiLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 5, padding=2), nn.SiLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2 * width * 7**2, FEATURES),
    )


class Residual(nn.Module):
    """Two convolutions around which the input passes; the second begins with zero.

    Without batch norm that start keeps signals at their size through any number of blocks.
    """

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, padding=1)
        self.second = nn.Conv2d(outer, outer, 3, padding=1)
        nn.init.zeros_(self.second.weight)
        same = inner == outer and stride == 1
        self.skip = nn.Identity() if same else nn.Conv2d(inner, outer, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return relu(skip(x) + second(relu(first(x))))."""
        return torch.relu(self.skip(x) + self.second(torch.relu(self.first(x))))


def resnet18(width: int = 64, stride: int = 1) -> nn.Module:
    """CIFAR-10: ResNet-18 without batch norm; width 64 is the usual one, stride is the first's."""
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, stride, padding=1), nn.ReLU()]
    inner = width
    for outer, step in ((width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)):
        layers += [Residual(inner, outer, step), Residual(outer, outer, 1)]
        inner = outer
    return _for_images(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, FEATURES)
    )


def _for_images(*layers: nn.Module) -> nn.Module:
    """Return the layers with features of one length, so that only directions matter.

    A classifier then draws the images of a class together and classes apart as far as they go;
    an image of a class that was never seen is unlike all that were.
    """
    net = nn.Sequential(*layers, nn.RMSNorm(FEATURES, elementwise_affine=False))
    # A quarter faster on a processor.
    net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return net


class OnTask(nn.Module):
    """A backbone on a task's inputs as batches hold them; each different image is computed once.

    Features of images pass an affine layer that can be learned while the backbone is frozen.
    """

    def __init__(self, task: Task, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self._inputs: Callable[[Tensor], Tensor] = task.inputs
        self._cached: tuple[Tensor, Tensor] | None = None  # sorted numbers, their features
        self.affine: nn.Module = nn.Identity()
        if task.metric == 'accuracy':
            self.affine = nn.Linear(FEATURES, FEATURES)
            with torch.no_grad():
                self.affine.weight.copy_(torch.eye(FEATURES))
                self.affine.bias.zero_()

    def forward(self, X: Tensor) -> Tensor:
        """Return features (n, K) of inputs X (n, ...)."""
        features: Tensor = self.affine(self._features(X))
        return features

    def _features(self, X: Tensor) -> Tensor:
        if X.is_floating_point():
            features: Tensor = self.backbone(self._inputs(X))
            return features
        # Numbers of images: a picture may have been drawn more than once.
        if self._cached is not None:
            numbers, features = self._cached
            return features[torch.searchsorted(numbers, X)]
        different, place = torch.unique(X, return_inverse=True)
        features = self.backbone(self._inputs(different))
        return features[place]

    @property
    def is_cached(self) -> bool:
        """Tell whether features are looked up instead of computed."""
        return self._cached is not None

    @torch.no_grad()
    def cache(self, *inputs: Tensor) -> None:
        """Compute all inputs that will be asked for, once; exact while the backbone stays."""
        if not inputs[0].is_floating_point():
            self._cached = None
            numbers = torch.unique(torch.cat([X.flatten() for X in inputs]))
            parts = [self._features(part) for part in torch.split(numbers, CHUNK)]
            self._cached = numbers, torch.cat(parts)

    @contextmanager
    def cached(self, *inputs: Tensor) -> Iterator[None]:
        """Cache inputs for a while, unless they are cached anyway."""
        if self._cached is not None:
            yield
            return
        self.cache(*inputs)
        try:
            yield
        finally:
            self._cached = None

    @torch.no_grad()
    def centre(self) -> None:
        """Start the affine layer so that cached features have mean 0 and size 1."""
        if self._cached is not None and isinstance(self.affine, nn.Linear):
            centred = self._cached[1] - self._cached[1].mean(0)
            size = centred.square().mean().sqrt()
            self.affine.weight.copy_(torch.eye(FEATURES) / size)
            self.affine.bias.copy_(-self._cached[1].mean(0) / size)

    def share(self, other: OnTask) -> None:
        """Use the backbone of another, as it is and with all it has computed; copy the affine."""
        self.backbone, self._cached = other.backbone, other._cached
        self.affine.load_state_dict(other.affine.state_dict())
