"""Sets of parameter blocks known by integer keys: how maps of different extent are lined up.

Blocks are kept sorted by a 64-bit code of their key (x, y), so that two agents' blocks are matched
by binary search. A model that is one block has the key (0, 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Keys: TypeAlias = NDArray[np.int32]


class Shape(NamedTuple):
    """Numbers of a block: K features times C outputs, and P parts whose evidence is told."""

    features: int
    outputs: int
    parts: int = 0


def encode(keys: Keys) -> Codes:
    """Return one code per key (n, 2), in the order of the keys."""
    wide = np.asarray(keys, dtype=np.int64)
    return (wide[:, 0] << 32) + (wide[:, 1] + 2**31)


def decode(codes: Codes) -> Keys:
    """Return the keys (n, 2) of codes (n,)."""
    keys = np.empty((len(codes), 2), np.int32)
    keys[:, 0] = codes >> 32
    keys[:, 1] = (codes & 0xFFFFFFFF) - 2**31
    return keys


def increasing(codes: Codes) -> bool:
    """Tell whether codes are sorted and unique."""
    return bool((codes[1:] > codes[:-1]).all())


@dataclass(frozen=True)
class Blocks:
    """Values (n, ...) of the blocks with these codes (n,), which are sorted and unique."""

    codes: Codes
    values: Floats

    @classmethod
    def empty(cls, *shape: int) -> Blocks:
        """Return no blocks, each of which would have the given shape."""
        return cls(np.zeros(0, np.int64), np.zeros((0, *shape)))

    @classmethod
    def of(cls, keys: Keys, values: Floats) -> Blocks:
        """Return the blocks of unique keys given in any order."""
        return cls.sorted(encode(keys), values)

    @classmethod
    def sorted(cls, codes: Codes, values: Floats) -> Blocks:
        """Return the blocks of unique codes given in any order."""
        values = np.asarray(values, dtype=np.float64)
        if increasing(codes):  # as every agent sends them
            return cls(codes, values)
        order = np.argsort(codes, kind='stable')
        return cls(codes[order], values[order])

    def on(self, codes: Codes) -> Floats:
        """Return the values lined up with a superset of codes; what is not here is zero."""
        if len(codes) == len(self.codes):
            return self.values
        out = np.zeros((len(codes), *self.values.shape[1:]))
        out[places(codes, self.codes)] = self.values
        return out


@dataclass(frozen=True)
class Model:
    """What an agent tells of itself: θ in blocks, and how much data stands behind it."""

    theta: Blocks  # values (n, K, C)
    evidence: Blocks  # of the same blocks, values (n, P)

    @classmethod
    def empty(cls, shape: Shape) -> Model:
        """Return a model that knows nothing."""
        return cls(Blocks.empty(*shape[:2]), Blocks.empty(shape.parts))

    @property
    def codes(self) -> Codes:
        """The blocks it speaks of."""
        return self.theta.codes


def union(*sets: Codes) -> Codes:
    """Return all codes of the given sets, sorted; the first set itself if it holds all others."""
    first = sets[0]
    # As a rule robots know the same blocks from round to round.
    if all(len(first) == len(other) and (first == other).all() for other in sets[1:]):
        return first
    return np.unique(np.concatenate(sets))


def places(codes: Codes, some: Codes) -> Codes | slice:
    """Return where a subset is in codes, for indexing; all of them without making a copy."""
    return slice(None) if len(some) == len(codes) else np.searchsorted(codes, some)


def among(codes: Codes, some: Codes) -> NDArray[np.bool_]:
    """Mark which of the codes are in a subset of them."""
    mark = np.zeros(len(codes), dtype=bool)
    mark[places(codes, some)] = True
    return mark
