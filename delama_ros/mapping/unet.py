"""A small U-Net, written once for numpy (robots) and torch (training)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from delama_ros.core.backend import Array

Singles = npt.NDArray[np.float32]

WIDTHS = (16, 32, 64, 64)  # channels at each level, of which each has half the cells along an edge
MULTIPLE = 2 ** (len(WIDTHS) - 1)  # rows and columns of the input are multiples of this
REACH = 48  # cells beyond which the input has no influence on an output, a multiple of MULTIPLE
BAND = 2**22  # numbers that a convolution gathers at once, so that they fit into the cache


class Operations(Protocol):
    """The operations of the network; images are (batch, channels, rows, columns)."""

    def conv(self, x: Array, weight: Array, bias: Array) -> Array:
        """3 × 3 convolution, zeros around the image; weight is (out, in, 3, 3)."""

    def relu(self, x: Array) -> Array:
        """Return x where it is positive, else 0."""

    def halve(self, x: Array) -> Array:
        """Average over 2 × 2 cells."""

    def double(self, x: Array) -> Array:
        """Repeat each cell 2 × 2 times."""

    def join(self, x: Array, y: Array) -> Array:
        """Stack the channels of two images."""


def shapes(channels: int) -> dict[str, tuple[int, int]]:
    """Return channels (out, in) of each convolution, by name."""
    layers = {'in': (WIDTHS[0], channels)}
    for level in range(1, len(WIDTHS)):
        layers[f'down{level}a'] = (WIDTHS[level], WIDTHS[level - 1])
        layers[f'down{level}b'] = (WIDTHS[level], WIDTHS[level])
    for level in range(len(WIDTHS) - 2, -1, -1):
        layers[f'up{level}'] = (WIDTHS[level], WIDTHS[level + 1] + WIDTHS[level])
    return {**layers, 'out': (1, WIDTHS[0])}


def run(ops: Operations, weights: Mapping[str, Array], x: Array) -> Array:
    """Apply the network: (batch, channels, rows, columns) → (batch, 1, rows, columns)."""

    def conv(name: str, x: Array) -> Array:
        return ops.conv(x, weights[f'{name}_weight'], weights[f'{name}_bias'])

    levels = [ops.relu(conv('in', x))]
    for level in range(1, len(WIDTHS)):
        x = ops.relu(conv(f'down{level}a', ops.halve(levels[-1])))
        levels.append(ops.relu(conv(f'down{level}b', x)))
    x = levels[-1]
    for level in range(len(WIDTHS) - 2, -1, -1):
        x = ops.relu(conv(f'up{level}', ops.join(ops.double(x), levels[level])))
    return conv('out', x)


class Numpy:
    """The operations on numpy arrays."""

    def conv(self, x: Singles, weight: Singles, bias: Singles) -> Singles:
        """Gather 3 × 3 surroundings as columns and multiply, a band of rows at a time."""
        batch, channels, rows, columns = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        out = np.empty((batch, len(weight), rows, columns), np.float32)
        band = max(1, BAND // (batch * channels * 9 * columns))
        for top in range(0, rows, band):
            high = min(band, rows - top)
            around = np.empty((batch, channels, 9, high, columns), np.float32)
            for k in range(9):
                dy, dx = divmod(k, 3)
                around[:, :, k] = padded[:, :, top + dy : top + dy + high, dx : dx + columns]
            flat = weight.reshape(len(weight), -1) @ around.reshape(batch, channels * 9, -1)
            out[:, :, top : top + high] = flat.reshape(batch, len(weight), high, columns)
        out += bias[:, None, None]
        return out

    def relu(self, x: Singles) -> Singles:
        """Return x where it is positive, else 0."""
        return np.maximum(x, np.float32(0))

    def halve(self, x: Singles) -> Singles:
        """Average over 2 × 2 cells."""
        rows, columns = x.shape[2] // 2, x.shape[3] // 2
        out: Singles = x.reshape(*x.shape[:2], rows, 2, columns, 2).mean((3, 5))
        return out

    def double(self, x: Singles) -> Singles:
        """Repeat each cell 2 × 2 times."""
        return x.repeat(2, 2).repeat(2, 3)

    def join(self, x: Singles, y: Singles) -> Singles:
        """Stack the channels of two images."""
        return np.concatenate([x, y], 1)


def check(weights: Mapping[str, npt.NDArray[Any]], channels: int) -> None:
    """Raise ValueError for a weight that is missing or has the wrong shape."""
    for name, (out, into) in shapes(channels).items():
        for key, shape in ((f'{name}_weight', (out, into, 3, 3)), (f'{name}_bias', (out,))):
            found = weights[key].shape if key in weights else None
            if found != shape:
                raise ValueError(f'{key} has shape {found}, expected {shape}')
