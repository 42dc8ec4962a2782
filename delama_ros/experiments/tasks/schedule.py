"""How a task is trained: the settings of a run that are not the task's."""

from __future__ import annotations

from dataclasses import dataclass

from delama_ros.experiments.tasks.variants import Trained
from delama_ros.training.config import require


@dataclass(frozen=True)
class Training:
    """How a task is trained; config/train_TASK.yaml has the values of the package."""

    methods: tuple[Trained, ...] = ('oracle', 'paper', 'row', 'bayes')
    sequences: int = 400  # of an epoch
    fresh: bool = True  # draw new sequences in every epoch, or use the same again
    batch: int = 4  # sequences per iteration
    looks: int = 4  # steps of them that enter the loss, drawn again in every iteration
    pretrain_iterations: int = 0  # of the backbone as a plain classifier, for images
    pretrain_batch: int = 128  # images per iteration
    pretrain_rate: float = 2e-3
    pretrain_decay: float = 0.0  # of weights, in a unit of the rate
    pretrain_smoothing: float = 0.0  # share of the right label that is given to all labels
    pretrain_mirror: bool = False  # half of the images
    pretrain_shift: int = 0  # pixels by which images are moved at most
    pretrain_bfloat16: bool = False  # multiply in 16 bits
    alone_epochs: int = 30
    epochs: int = 16  # of all rounds unrolled
    rate: float = 3e-3
    unrolled_rate: float = 1e-3
    faster: float = 10.0  # how much faster the coefficients are learned than the backbone
    validation: int = 200  # sequences
    checks: int = 10  # per stage
    patience: int = 4  # checks without progress after which a stage ends
    rounds: int = 5  # M2 of all variants but the paper's
    directions: int = 6  # of feature space that the distance of `bayes` considers
    frozen: bool = False  # learn only coefficients once the start is there
    width: int = 64  # of the ResNet
    stride: int = 1  # of its first layer

    def __post_init__(self) -> None:
        for name in ('sequences', 'batch', 'looks', 'alone_epochs', 'epochs', 'validation',
                     'checks', 'patience', 'rounds', 'directions', 'width', 'stride',
                     'pretrain_batch'):
            require(name, getattr(self, name), getattr(self, name) >= 1, 'at least 1')
        for name in ('rate', 'unrolled_rate', 'faster', 'pretrain_rate'):
            require(name, getattr(self, name), 0 < getattr(self, name) < 1000, 'above 0')
        for name in ('pretrain_iterations', 'pretrain_decay', 'pretrain_shift'):
            require(name, getattr(self, name), getattr(self, name) >= 0, 'at least 0')
        require('pretrain_smoothing', self.pretrain_smoothing, 0 <= self.pretrain_smoothing < 1,
                'a share in [0, 1)')
        require('batch', self.batch, self.batch <= self.sequences, 'at most sequences')
