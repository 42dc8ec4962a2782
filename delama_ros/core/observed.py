"""What an agent has observed since its last step: statistics of blocks, checked and added up."""

from __future__ import annotations

import numpy as np

from delama_ros.core.blocks import Blocks, Floats, Keys, encode, increasing, places, union


class Observed:
    """H and r = H α − g of new data, by block, until they are taken into the memory."""

    def __init__(self, shape: tuple[int, int]) -> None:
        """Start with nothing; shape is (K, C) of a block."""
        self._shape = shape
        self.H = Blocks.empty(shape[0], shape[0])
        self.r = Blocks.empty(*shape)

    def add(self, keys: Keys, H: Floats, r: Floats) -> None:
        """Add statistics of blocks with unique keys (n, 2); they are copied."""
        size, columns = self._shape
        keys, H, r = np.asarray(keys), np.asarray(H), np.asarray(r)
        n = len(keys)
        if keys.shape != (n, 2) or H.shape != (n, size, size) or r.shape != (n, size, columns):
            raise ValueError(
                f'keys, H, r have shapes {keys.shape}, {H.shape}, {r.shape}, expected '
                f'{(n, 2)}, {(n, size, size)}, {(n, size, columns)}'
            )
        if not (np.isfinite(H).all() and np.isfinite(r).all()):
            raise ValueError('H or r holds NaN or infinity, expected finite numbers')
        codes = encode(keys)
        if not increasing(codes) and len(np.unique(codes)) != n:
            raise ValueError(f'{n} keys hold repeated ones, expected each block once')
        self.H = _sum(self.H, Blocks.sorted(codes, H))
        self.r = _sum(self.r, Blocks.sorted(codes, r))


def _sum(old: Blocks, new: Blocks) -> Blocks:
    codes = union(old.codes, new.codes)
    total = old.on(codes).copy()
    total[places(codes, new.codes)] += new.values
    return Blocks(codes, total)
