"""Parameter blocks with integer keys: models of different extent are aligned by key.

Blocks are sorted by a 64-bit code of their key (x, y), so that the blocks of two agents are matched
by binary search. A model of one block has the key (0, 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Keys: TypeAlias = NDArray[np.int32]


class Shape(NamedTuple):
    """Numbers of a block: K features times C outputs, and P parts whose evidence is sent."""

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
    """Return whether codes are sorted and unique."""
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
        """Return the blocks of unique keys given in any order.

        Args:
            keys: (n, 2), integers.
            values: (n, ...), in the order of the keys.
        """
        return cls.sorted(encode(keys), values)

    @classmethod
    def sorted(cls, codes: Codes, values: Floats) -> Blocks:
        """Return the blocks of unique codes given in any order.

        Args:
            codes: (n,), as `encode` makes them of keys.
            values: (n, ...), in the order of the codes.
        """
        values = np.asarray(values, dtype=np.float64)
        if increasing(codes):  # as every agent sends them
            return cls(codes, values)
        order = np.argsort(codes, kind='stable')
        return cls(codes[order], values[order])

    def on(self, codes: Codes) -> Floats:
        """Return the values lined up with a superset of codes; what is not here is zero."""
        return spread(self.values, self.codes, codes)


@dataclass(frozen=True)
class Model:
    """θ of some blocks and the weight of the data behind it: what agents exchange."""

    codes: Codes  # (n,), sorted and unique
    theta: Floats  # (n, K, C)
    evidence: Floats  # (n, P), not negative
    # Epoch of each robot whose data stand behind it; a robot raises its epoch when it takes
    # something back.
    epochs: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def empty(cls, shape: Shape) -> Model:
        """Return a model of no blocks, each of which would have the given shape."""
        return cls(np.zeros(0, np.int64), np.zeros((0, *shape[:2])), np.zeros((0, shape.parts)))

    @classmethod
    def of(
        cls,
        codes: Codes,
        theta: Floats,
        evidence: Floats,
        epochs: Mapping[str, int] = MappingProxyType({}),
    ) -> Model:
        """Return the model of blocks in any order; that none repeats is not checked.

        Args:
            codes: (n,), of the blocks.
            theta: (n, K, C).
            evidence: (n, P), weight of the data behind each part of a block.
            epochs: of the robots whose data stand behind the model.
        """
        if increasing(codes):  # as every agent sends them
            return cls(codes, theta, evidence, epochs)
        order = np.argsort(codes, kind='stable')
        return cls(codes[order], theta[order], evidence[order], epochs)

    def take(self, chosen: NDArray[np.bool_]) -> Model:
        """Return the model of the blocks that are marked (n,)."""
        return Model(
            self.codes[chosen], self.theta[chosen], self.evidence[chosen], self.epochs
        )

    def on(self, codes: Codes) -> tuple[Floats, Floats]:
        """Return θ and evidence lined up with a superset of codes; what is not here is zero."""
        return spread(self.theta, self.codes, codes), spread(self.evidence, self.codes, codes)


def spread(values: Floats, some: Codes, codes: Codes) -> Floats:
    """Return values (n, ...) of some blocks lined up with a superset of codes, zero elsewhere."""
    if len(codes) == len(some):
        return values
    out = np.zeros((len(codes), *values.shape[1:]))
    out[places(codes, some)] = values
    return out


def union(*sets: Codes) -> Codes:
    """Return all codes of the given sets, sorted; the first set itself if it holds all others."""
    first = sets[0]
    # Usually robots know the same blocks from round to round.
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
