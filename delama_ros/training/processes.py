"""Training in several processes or machines under torch's own launcher (torchrun, gloo).

Each process takes its share of every batch; losses and gradients are those of the whole batch, so
the result is that of one process up to rounding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn


def join() -> None:
    """Join the other processes if torchrun started this one."""
    if 'RANK' in os.environ and not dist.is_initialized():
        dist.init_process_group('gloo')


def leave() -> None:
    """Leave the other processes."""
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    """Return the number of this process; process 0 writes files and prints."""
    return dist.get_rank() if dist.is_initialized() else 0


def count() -> int:
    """Return how many processes there are."""
    return dist.get_world_size() if dist.is_initialized() else 1


def wait() -> None:
    """Wait until all processes are here."""
    if count() > 1:
        dist.barrier()


def share(batch: int) -> slice:
    """Return which part of a batch is this process's."""
    if batch % count():
        raise ValueError(f'batch is {batch}, expected a multiple of the {count()} processes')
    size = batch // count()
    return slice(rank() * size, (rank() + 1) * size)


def shared_mean(values: Tensor) -> Tensor:
    """Return the mean over processes; the gradient is that of the own part.

    What is computed from it has, after `average_gradients`, the gradient of the whole batch.
    """
    if count() == 1:
        return values
    own = values.detach()
    total = own.clone()
    dist.all_reduce(total)
    return values + (total / count() - own)


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace gradients by their mean over processes."""
    if count() == 1:
        return
    for parameter in parameters:
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= count()


def agreed(number: float) -> float:
    """Return the number that process 0 has, so that all decide alike."""
    if count() == 1:
        return number
    box = torch.tensor([number], dtype=torch.float64)
    dist.broadcast(box, 0)
    return box.item()
