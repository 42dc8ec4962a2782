"""The tasks that the command line knows: their settings, data and backbones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import nn

from delama_ros.tasks.backbones import convolutions, mlp, resnet18
from delama_ros.tasks.digits import generated_digits
from delama_ros.tasks.image_files import default_folder, read_cifar10, read_mnist
from delama_ros.tasks.image_set import ImageSet
from delama_ros.tasks.images import Images, Protocol
from delama_ros.tasks.regression import Regression
from delama_ros.tasks.task import Task

KINDS: dict[str, type] = {'regression': Regression, 'mnist': Protocol, 'cifar10': Protocol}


def make_task(name: str, protocol: Any, data: str | None = None) -> Task:
    """Make a task from its settings; data: a folder, or `generated` for drawn digits."""
    if name == 'regression':
        if data is not None:
            raise ValueError(f'data is {data!r}, expected none: regression draws its own')
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
    return mlp if name == 'regression' else convolutions
