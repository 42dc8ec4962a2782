"""Statistics of the data observed since the last step, checked and summed by block."""

from __future__ import annotations

import numpy as np

from delama_ros.core.blocks import (
    Blocks,
    Floats,
    Keys,
    Shape,
    encode,
    increasing,
    places,
    union,
)


class Observed:
    """H and r = H α − g of new data and its evidence, by block, until the next step learns them."""

    def __init__(self, shape: Shape) -> None:
        """Start with nothing."""
        self._shape = shape
        self.H = Blocks.empty(shape.features, shape.features)
        self.r = Blocks.empty(*shape[:2])
        self.evidence = Blocks.empty(shape.parts)

    def add(self, keys: Keys, H: Floats, r: Floats, evidence: Floats | None = None) -> None:
        """Add statistics of blocks with unique keys (n, 2); they are copied."""
        size, columns, parts = self._shape
        keys, H, r = np.asarray(keys), np.asarray(H), np.asarray(r)
        n = len(keys)
        e = np.zeros((n, 0)) if evidence is None else np.asarray(evidence)
        wanted = ((n, 2), (n, size, size), (n, size, columns), (n, parts))
        if (keys.shape, H.shape, r.shape, e.shape) != wanted:
            raise ValueError(
                f'keys, H, r, evidence have shapes {keys.shape}, {H.shape}, {r.shape}, {e.shape}, '
                f'expected {wanted[0]}, {wanted[1]}, {wanted[2]}, {wanted[3]}'
            )
        if not (np.isfinite(H).all() and np.isfinite(r).all() and np.isfinite(e).all()):
            raise ValueError('H, r or evidence holds NaN or infinity, expected finite numbers')
        codes = encode(keys)
        if not increasing(codes) and len(np.unique(codes)) != n:
            raise ValueError(f'{n} keys hold repeated ones, expected each block once')
        self.H = _sum(self.H, Blocks.sorted(codes, H))
        self.r = _sum(self.r, Blocks.sorted(codes, r))
        self.evidence = _sum(self.evidence, Blocks.sorted(codes, e))


def _sum(old: Blocks, new: Blocks) -> Blocks:
    codes = union(old.codes, new.codes)
    total = old.on(codes).copy()
    total[places(codes, new.codes)] += new.values
    return Blocks(codes, total)
