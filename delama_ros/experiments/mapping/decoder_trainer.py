"""Training of the decoder: from maps of partly explored flats to the true walls."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing import Pool
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import (
    avg_pool2d,
    binary_cross_entropy_with_logits,
    conv2d,
    interpolate,
)

from delama_ros.core.memory import local_solve
from delama_ros.experiments.mapping.dataset import Episode
from delama_ros.experiments.mapping.learned import soft_f1
from delama_ros.experiments.mapping.trainer import CHECKED, PlanConfig
from delama_ros.mapping import unet
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.completion import CHANNELS, MARGIN, POOL, Decoder, view
from delama_ros.mapping.tiles import assemble
from delama_ros.training.loop import Check, Stage

TIMES = (1, 1, 2, 3, 4, 6, 8, 10, 12)


@dataclass(frozen=True)
class Config(PlanConfig):
    """Settings of the decoder; config/train_decoder.yaml has the values of the package."""

    maps: int = 4  # partial maps per plan
    iterations: int = 4000
    window: int = 112  # cells of 0.1 m along an edge


@dataclass(frozen=True, eq=False)
class Sample:
    """What the network sees, and the truth, 1 or 0."""

    channels: Tensor  # (CHANNELS, rows, columns)
    logits: Tensor  # (rows, columns)
    truth: Tensor  # (rows, columns)


def sample(item: Episode, checkpoint: Checkpoint, steps: int, team: np.ndarray[Any, Any]) -> Sample:
    """Map what some robots have seen after some steps, as if they all were one."""
    counts = item.counts(0, steps)[team].sum(0)
    touched = counts.any((1, 2, 3))
    model = checkpoint.model
    A, b, evidence = model.statistics(counts[touched].astype(np.uint16))
    theta = local_solve(A, b, checkpoint.settings.lambda1_local)
    # all tiles of the episode make the frame, so that the truth beyond what was seen is in it
    everything = np.zeros((len(item.keys), *theta.shape[1:]))
    everything[touched] = theta
    weights = np.zeros((len(item.keys), evidence.shape[1]))
    weights[touched] = evidence
    seen = view(model, item.keys, everything, weights)
    n, size = len(item.keys), item.truth.shape[1] // POOL
    covered = item.truth.reshape(n, size, POOL, size, POOL).mean((2, 4)) >= 0.5
    # Where no robot ever came near there is hardly a wall to be seen: a network that is not shown
    # this learns to draw some around every building.
    walls = assemble(item.keys, covered.astype(np.float32), np.float32(0))
    truth = np.zeros(seen.logits.shape, np.float32)
    truth[MARGIN : MARGIN + walls.shape[0], MARGIN : MARGIN + walls.shape[1]] = walls
    return Sample(*map(torch.from_numpy, (seen.channels, seen.logits, truth)))


def samples(items: list[Episode], checkpoint: Checkpoint, config: Config) -> list[Sample]:
    """Draw partial maps of all episodes: some steps, one robot, two or all."""
    rng = np.random.default_rng([config.seed, 0xDEC])
    tasks = []
    for item in items:
        robots = item.shape[1]
        for _ in range(config.maps):
            team = rng.permutation(robots)[: rng.choice((1, 2, robots, robots))]
            tasks.append((item, checkpoint, int(rng.choice(TIMES)), team))
    with Pool(config.jobs) as pool:
        return pool.starmap(sample, tasks, chunksize=8)


class Torch:
    """The operations of the network on tensors."""

    def conv(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """3 × 3 convolution."""
        return conv2d(x, weight, bias, padding=1)

    def relu(self, x: Tensor) -> Tensor:
        """Return x where it is positive, else 0."""
        return x.relu()

    def halve(self, x: Tensor) -> Tensor:
        """Average over 2 × 2 cells."""
        return avg_pool2d(x, 2)

    def double(self, x: Tensor) -> Tensor:
        """Repeat each cell 2 × 2 times."""
        return interpolate(x, scale_factor=2, mode='nearest')

    def join(self, x: Tensor, y: Tensor) -> Tensor:
        """Stack the channels of two images."""
        return torch.cat([x, y], 1)


class LearnedDecoder(nn.Module):
    """The network's weights as parameters; it begins by adding nothing to the linear map."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterDict()
        for name, (out, into) in unet.shapes(CHANNELS).items():
            weight = torch.randn(out, into, 3, 3) * (2 / (9 * into)) ** 0.5
            self.weights[f'{name}_weight'] = weight * (name != 'out')
            self.weights[f'{name}_bias'] = torch.zeros(out)

    def forward(self, channels: Tensor, logits: Tensor) -> Tensor:
        """Return logits (batch, rows, columns)."""
        added: Tensor = unet.run(Torch(), dict(self.weights.items()), channels)[:, 0]
        return logits + added.float()


class DecoderTraining:
    """A network, its data and the stage it is trained in."""

    def __init__(
        self,
        config: Config,
        checkpoint: Checkpoint,
        training: list[Episode],
        validation: list[Episode],
    ) -> None:
        torch.manual_seed(config.seed)
        self._config = config
        self._training = samples(training, checkpoint, config)
        self._validation = [
            [sample(item, checkpoint, t, np.arange(item.shape[1])) for item in validation]
            for t in CHECKED
        ]
        self._missed = [item.missed / POOL**2 for item in validation]
        self.model = LearnedDecoder()

    def stages(self) -> list[Stage]:
        """Return the one stage."""
        c = self._config
        groups = [(list(self.model.parameters()), c.rate)]
        return [
            Stage(
                'decoder', c.iterations, groups, self._loss, self._check, c.check_every, c.patience
            )
        ]

    def decoder(self, state: dict[str, Tensor], made: dict[str, Any]) -> Decoder:
        """Return a state of the network as robots use it."""
        weights = {k.removeprefix('weights.'): v.float().numpy() for k, v in state.items()}
        return Decoder(weights, made)

    def _loss(self, rng: np.random.Generator) -> Tensor:
        windows = [self._window(rng) for _ in range(self._config.batch)]
        channels, logits, truth = (torch.stack(part) for part in zip(*windows, strict=True))
        # Convolutions in 16 bit: twice as fast, and the weights are stored so anyway.
        with torch.autocast('cpu', torch.bfloat16):
            out = self.model(channels.contiguous(memory_format=torch.channels_last), logits)
        entropy = binary_cross_entropy_with_logits(out, truth)
        f1 = soft_f1(torch.sigmoid(out), truth, self._config.sharpness)
        return 1 - f1 + self._config.cross_entropy * entropy

    def _window(self, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Cut a window with some wall out of a map, turned by quarters and mirrored at random."""
        item = self._training[int(rng.integers(len(self._training)))]
        size = self._config.window
        walls = (item.truth == 1).nonzero().numpy()
        corner = walls[rng.integers(len(walls))] - rng.integers(0, size, 2)
        room = np.maximum(np.array(item.truth.shape) - size, 0)
        y, x = np.clip(corner, 0, room).tolist()
        quarter, mirrored = int(rng.integers(4)), bool(rng.integers(2))

        def cut(image: Tensor, empty: float) -> Tensor:
            out = torch.full((*image.shape[:-2], size, size), empty)
            part = image[..., y : y + size, x : x + size]
            out[..., : part.shape[-2], : part.shape[-1]] = part
            out = torch.rot90(out, quarter, (-2, -1))
            return out.flip(-1) if mirrored else out

        channels = cut(item.channels, 0.0)
        # the first four are the quarters of a cell: they change places with it
        quarters = torch.tensor([[0, 1], [2, 3]])
        order = torch.rot90(quarters, quarter, (0, 1))
        order = order.flip(-1) if mirrored else order
        channels = torch.cat([channels[order.flatten()], channels[POOL**2 :]])
        return channels, cut(item.logits, float(item.logits.min())), cut(item.truth, 0.0)

    def _check(self) -> Check:
        f1 = [self._f1(row) for row in self._validation]
        return Check(sum(f1) / len(f1), {f'F1 t={t}': v for t, v in zip(CHECKED, f1, strict=True)})

    @torch.no_grad()
    def _f1(self, row: list[Sample]) -> float:
        scores = []
        for item, missed in zip(row, self._missed, strict=True):
            claimed = self.model(item.channels[None], item.logits[None])[0] >= 0
            right = (claimed & (item.truth == 1)).sum()
            wanted = (item.truth == 1).sum() + missed
            scores.append(float(2 * right / (claimed.sum() + wanted)))
        return 100 * float(np.mean(scores))
