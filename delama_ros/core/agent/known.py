"""Whose models enter each robot's, and who relays what to a robot that lacks some of them."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from delama_ros.core.agent.messages import Dual
from delama_ros.core.blocks import Floats

# What a robot says of another one beside its weight: the model that it received in this step is
# used; an older one is, because none was received; or it received one that it does not use.
USED, DEPARTED, UNUSED = 0, 1, 2
KINDS = 4  # y of a row of weights is KINDS * epoch + kind
# Robots that relay the same to a robot: one more than needed, in case one of them says nothing.
RELAYS = 2


class Known(NamedTuple):
    """Whose models enter that of one robot directly, by name with their epochs."""

    used: Mapping[str, int]  # received in this step, the robot's own included
    departed: Mapping[str, int] = MappingProxyType({})  # received before
    unused: frozenset[str] = frozenset()  # received, and not wanted

    def lacks(self, other: Known) -> frozenset[str]:
        """Return whose models another robot could relay: it has more of them, or later ones."""
        if other.used == self.used and other.departed == self.departed:
            return frozenset()  # as nearly always, where all robots receive each other
        late = {r for r, epoch in other.used.items() if self.used.get(r, -1) < epoch}
        held = {**self.departed, **self.used}
        gone = {r for r, epoch in other.departed.items() if held.get(r, -1) < epoch}
        return frozenset(late | gone) - self.unused


def relays(known_by: Mapping[str, Known], robot: str, step: int) -> dict[str, frozenset[str]]:
    """Return who relays whose models to a robot: some of those that can, in each step others.

    Args:
        known_by: what every robot knows, as far as it is known.
        robot: one of them.
        step: time step; nobody can choose a name that comes first in all of them.
    """

    def turn(name: str) -> int:
        return zlib.crc32(f'{step} {name}'.encode())

    wanted = known_by[robot]
    count: Counter[str] = Counter()
    found = {}
    for other in sorted(wanted.used.keys() & known_by.keys() - {robot}, key=turn):
        if robot in known_by[other].used:
            names = {r for r in wanted.lacks(known_by[other]) if count[r] < RELAYS}
            count.update(names)
            if names:
                found[other] = frozenset(names)
    return found


def row_of(known: Known, weights: Mapping[str, float]) -> tuple[tuple[str, ...], Floats]:
    """Return names and numbers of a row of weights that also says what its sender knows."""
    rows = [(name, w, KINDS * known.used[name] + USED) for name, w in weights.items()]
    rows += [(name, 0.0, KINDS * epoch + DEPARTED) for name, epoch in known.departed.items()]
    rows += [(name, 0.0, UNUSED) for name in sorted(known.unused)]
    return tuple(r[0] for r in rows), np.array([r[1:] for r in rows], np.float64).reshape(-1, 2)


def known_of(row: Dual, epoch: int) -> Known:
    """Return what the sender of a row of weights, whose own model has this epoch, knows."""
    kinds: tuple[dict[str, int], ...] = ({}, {}, {}, {})
    for name, y in zip(row.names, row.y.tolist(), strict=True):
        kinds[int(y) % KINDS][name] = int(y) // KINDS
    used, departed, unused, _ = kinds
    return Known(used | {row.robot: epoch}, departed, frozenset(unused))
