"""The tasks that the command line knows: their settings, data and backbones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from delama_ros.data.digits import generated_digits
from delama_ros.data.image_files import default_folder, read_cifar10, read_mnist
from delama_ros.data.image_set import ImageSet
from delama_ros.experiments import plugins
from delama_ros.experiments.tasks.backbones import convolutions, mlp, resnet18
from delama_ros.experiments.tasks.images import Images, Protocol
from delama_ros.experiments.tasks.regression import Regression
from delama_ros.experiments.tasks.task import Task
from delama_ros.training.config import configure

PACKAGED: dict[str, type] = {'regression': Regression, 'mnist': Protocol, 'cifar10': Protocol}

# What comparison methods learn from scratch, unless they are given a network as large as the
# trained backbone: half as wide, and of colour images every other pixel's surroundings.
SMALL: dict[str, Callable[[], nn.Module]] = {
    'mnist': lambda: convolutions(width=8),
    'cifar10': lambda: resnet18(width=8, stride=2),
}


def settings_class(name: str) -> type[Any]:
    """Return the dataclass with the settings of a task; of a plugin it is the task itself."""
    return PACKAGED[name] if name in PACKAGED else plugins.tasks()[name]


def make_task(name: str, settings: Mapping[str, Any], data: str | None = None) -> Task:
    """Make a task.

    Args:
        name: A task of the package or of a plugin.
        settings: Values for the task's dataclass.
        data: Folder of images, or `generated` for drawn digits; None: the usual folder.

    Returns:
        The task.

    Raises:
        ValueError: A setting is wrong, or there is no such data.

    """
    protocol = configure(settings_class(name), settings)
    if name not in ('mnist', 'cifar10'):
        if data is not None:
            raise ValueError(f'data is {data!r}, expected none: {name} draws its own')
        task: Task = protocol
        return task
    if data == 'generated':
        if name != 'mnist':
            raise ValueError(f'data is {data!r}, expected a folder: only mnist can be drawn')
        return Images(name, generated_digits(), protocol)
    folder = default_folder(name) if data is None else Path(data)
    if data is None and not folder.is_dir():
        raise ValueError(f'no folder {folder}, expected DELAMA_DATA to name the one with {name}/')
    return Images(name, _read(name, folder), protocol)


@lru_cache(maxsize=2)
def _read(name: str, folder: Path) -> ImageSet:
    """Read images once, however many tasks are made of them."""
    return (read_mnist if name == 'mnist' else read_cifar10)(folder)


def make_backbone(name: str, training: Mapping[str, Any]) -> Callable[[], nn.Module]:
    """Return what makes a new backbone; the ResNet has its sizes in the settings of training."""
    if name == 'cifar10':
        return lambda: resnet18(training['width'], training['stride'])
    if name in PACKAGED:
        return mlp if name == 'regression' else convolutions
    own: Callable[[], nn.Module] = getattr(plugins.tasks()[name], 'backbone', mlp)
    return own


def fresh_backbone(
    name: str, seed: int, training: Mapping[str, Any], *, full: bool = False
) -> nn.Module:
    """Return a backbone with random parameters; full: of the size that `delama train` has."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name in SMALL and not full:
            return SMALL[name]()
        return make_backbone(name, training)()
